"""What each GPU of a pipeline, tensor, data and expert parallel replica holds."""

from __future__ import annotations

import pytest

from simcore.errors import InputError
from simcore.presets import gpu, model
from simcore.quantization.weights import weight_bytes
from simcore.roofline.memory import hbm_use, pool_room_bytes, stages, usable_bytes
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.parallel import ParallelSpec
from simcore.units import GIB

BF16 = validate(KvFormatSpec, "bf16")
ENGINE = EngineSpec()


@pytest.mark.parametrize(
    ("layers", "pp", "split"),
    # vLLM, vllm/distributed/utils.py get_pp_indices: what is left over goes to the stages before the last
    [(32, 4, (8, 8, 8, 8)), (61, 4, (15, 15, 16, 15)), (62, 4, (15, 16, 16, 15)), (36, 5, (7, 7, 7, 8, 7)), (7, 1, (7,))],
)
def test_uneven_stages(layers: int, pp: int, split: tuple[int, ...]) -> None:
    assert ParallelSpec(pp=pp).layers_by_stage(layers) == split


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pp": 40}, "pp: must not exceed the 32 layers"),
        ({"pp": 2, "stage_layers": (20, 10)}, "stage_layers: must add up to 32"),
    ],
)
def test_splits_that_cannot_be(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ParallelSpec(**fields).layers_by_stage(32)  # type: ignore[arg-type]


def test_a_number_for_each_stage() -> None:
    with pytest.raises(InputError, match="stage_layers: must have one number for each of the 2 stages"):
        validate(ParallelSpec, {"pp": 2, "stage_layers": [32]})


def test_stages_share_the_weights_and_the_ends_have_the_vocabulary() -> None:
    spec = model("llama-3.1-8b")
    found = stages(spec, BF16, ENGINE, ParallelSpec(pp=4))
    assert sum(s.fixed.weights for s in found) == pytest.approx(weight_bytes(spec), abs=4)
    ends, middle = found[0].fixed.weights, found[1].fixed.weights
    assert ends - middle == pytest.approx(2 * spec.embedding_params, abs=2)
    assert [s.layers.start for s in found] == [0, 8, 16, 24]
    assert {s.paging.block_bytes for s in found} == {131_072 / 4 * 16}
    assert found[-1].fixed.activations >= found[0].fixed.activations


def test_tied_embeddings_are_at_both_ends() -> None:
    spec = model("qwen3-1.7b")
    found = stages(spec, BF16, ENGINE, ParallelSpec(pp=2))
    assert sum(s.fixed.weights for s in found) == pytest.approx(weight_bytes(spec) + 2 * spec.embedding_params, abs=2)


def test_a_stage_with_more_layers_has_larger_blocks() -> None:
    found = stages(model("deepseek-v3"), BF16, ENGINE, ParallelSpec(tp=8, pp=4))
    assert [round(s.paging.block_bytes / (576 * 2 * 16)) for s in found] == [15, 15, 16, 15]


def test_experts_over_data_parallel_ranks() -> None:
    """Every rank repeats attention; 256 experts are 32 on each of 8 GPUs, 86 on each of 3 with whole experts."""
    spec = model("deepseek-v3")
    spread = stages(spec, BF16, ENGINE, ParallelSpec(dp=8, ep=True))[0].fixed.weights
    dense = weight_bytes(spec) - spec.expert_params
    assert spread == pytest.approx(dense + spec.expert_params / 8, rel=1e-6)
    whole = stages(spec, BF16, ENGINE, ParallelSpec(dp=3, ep=True))[0].fixed.weights
    split = stages(spec, BF16, ENGINE, ParallelSpec(dp=3))[0].fixed.weights
    assert whole - split == pytest.approx(spec.expert_params * (86 / 256 - 1 / 3), rel=1e-6)


def test_repeated_heads_repeat_their_projections() -> None:
    """16 GPUs hold one of 8 heads each: half a head of K and V weights more than an even share, in each layer."""
    spec = model("llama-3.1-8b")
    use = hbm_use(spec, gpu("h100-sxm", count=16), ENGINE, 0)
    extra = 32 * 4096 * 2 * 128 * 0.5 * 2
    assert use.weights == pytest.approx(weight_bytes(spec) / 16 + extra, abs=2)


def test_rules_of_the_families() -> None:
    """The same share of an 80 GB card: SGLang's leaves activations outside, TensorRT-LLM's is of what is free."""
    spec, card = model("llama-3.1-8b"), gpu("h100-sxm", memory_bytes=80 * GIB)
    rooms = {}
    for family in ("vllm", "sglang", "trtllm"):
        engine = EngineSpec(family=family, gpu_memory_utilization=0.8)
        use = hbm_use(spec, card, engine, 0)
        rooms[family] = pool_room_bytes(card, engine, use)
        assert usable_bytes(card, engine, use) == use.total + rooms[family]
    held = use.weights + use.runtime
    assert rooms["vllm"] == pytest.approx(64 * GIB - held - use.activations, abs=2)
    assert rooms["sglang"] == pytest.approx(64 * GIB - held, abs=2)
    assert rooms["trtllm"] == pytest.approx(0.8 * (80 * GIB - held - use.activations), abs=2)
    full = EngineSpec(family="sglang", gpu_memory_utilization=1.0)
    assert pool_room_bytes(card, full, use) == 80 * GIB - use.total
