"""What must fit in HBM, against memory that engines print at start-up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.presets import gpu, list_presets, model
from simcore.quantization.weights import weight_bytes
from simcore.roofline.memory import (
    activation_bytes,
    hbm_bytes_per_gpu,
    hbm_excess_bytes,
    hbm_use,
    pool,
    runtime_reserve_bytes,
    tier_blocks,
    usable_bytes,
)
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB

BF16 = validate(KvFormatSpec, "bf16")


@pytest.mark.parametrize(
    ("name", "changes", "tokens", "tp", "logged_gib"),
    [
        ("llama-3-8b", {}, 8192, 1, 1.26),  # github.com/vllm-project/vllm/pull/10511, H100
        ("llama-3-8b", {}, 8192, 2, 1.26),  # the same, two GPUs
        ("llama-3.1-8b", {}, 2048, 1, 1.19),  # vLLM 0.6 log of Llama-3.1-8B on an H100
        ("qwen3-8b", {}, 2048, 1, 1.40),  # vLLM 0.8 log: weights 15.27 GiB, activations 1.40 GiB
        ("llama-3.1-8b", {}, 20_000, 1, 2.07),  # github.com/vllm-project/vllm/issues/10517, RTX 3090
        ("llama-3.1-8b", {}, 29_000, 1, 2.99),  # the same
        ("qwen2.5-7b", {"layers": 28, "hidden_size": 1536, "intermediate_size": 8960, "vocab_size": 151936},
         32768, 1, 2.02),  # vLLM 0.8 log of Qwen2.5-1.5B on a T4, budget of 32,768 tokens
    ],
)  # fmt: skip
def test_activation_peak(name: str, changes: dict[str, int], tokens: int, tp: int, logged_gib: float) -> None:
    engine = EngineSpec(max_num_batched_tokens=tokens, max_num_seqs=256)
    found = activation_bytes(model(name, **changes), engine, tp)
    assert found / GIB == pytest.approx(logged_gib, rel=0.1)


@pytest.mark.parametrize(("share", "tokens", "left_gib"), [(0.9, 8192, -2.14), (0.95, 1024, 1.71)])
def test_logits_of_a_thousand_sequences(share: float, tokens: int, left_gib: float) -> None:
    """gpt-oss-120b on an H100 (79.19 GiB to CUDA), 1,024 sequences, weights logged as 65.97 GiB: github.com/vllm-project/vllm
    issues/23278 has -2.14 GiB left for the cache, issues/27508 1.71 GiB."""
    taken_gib = share * 79.19 - 65.97 - left_gib
    engine = EngineSpec(max_num_seqs=1024, max_num_batched_tokens=tokens)
    ours = activation_bytes(model("gpt-oss-120b"), engine) + runtime_reserve_bytes()
    assert ours / GIB == pytest.approx(taken_gib, rel=0.1)


def test_weights_as_logged() -> None:
    """github.com/vllm-project/vllm/pull/10511: 14.96 GiB on one GPU, 7.48 on each of two."""
    for count, logged in ((1, 14.96), (2, 7.48)):
        use = hbm_use(model("llama-3-8b"), gpu("h100-sxm", count=count), EngineSpec(), 0)
        assert use.weights / GIB == pytest.approx(logged, rel=0.002)


def test_the_pool_of_a_known_start_up() -> None:
    """The same log: 71.29 GiB usable of 79.22; 53.29 GiB left for the pool (1.79 GiB outside PyTorch), here within 3 %."""
    card, engine = gpu("h100-sxm", memory_bytes=int(79.22 * GIB)), EngineSpec(max_num_batched_tokens=8192)
    assert usable_bytes(card, engine) / GIB == pytest.approx(71.29, rel=0.001)
    room = -hbm_excess_bytes(model("llama-3-8b"), card, engine, 0)
    assert room / GIB == pytest.approx(53.29, rel=0.03)


def test_terms_add_up_and_excess_is_what_is_missing() -> None:
    spec, card, engine = model("llama-3.1-70b"), gpu("h100-sxm", count=4), EngineSpec()
    use = hbm_use(spec, card, engine, 10 * GIB)
    assert use.total == sum(use) == hbm_bytes_per_gpu(spec, card, engine, 10 * GIB)
    assert use.weights == -(-weight_bytes(spec) // 4)
    assert use.runtime == runtime_reserve_bytes(4) > runtime_reserve_bytes(1)
    room = usable_bytes(card, engine) - hbm_bytes_per_gpu(spec, card, engine, 0)
    assert hbm_excess_bytes(spec, card, engine, room) == 0
    assert hbm_excess_bytes(spec, card, engine, room + 1) == 1


@pytest.mark.parametrize("knob", ["max_num_seqs", "max_num_batched_tokens"])
def test_engine_knobs_move_the_reserve(knob: str) -> None:
    spec = model("llama-3.1-8b")
    assert activation_bytes(spec, EngineSpec(**{knob: 65_536})) > activation_bytes(spec, EngineSpec())


@given(
    st.sampled_from([n for n in list_presets("models") if not n.startswith("deepseek") and model(n).recurrent is None]),
    st.sampled_from([1, 8, 16, 64, 256]),
    st.integers(0, 200 * GIB),
    st.sampled_from(["bf16", "fp8_e4m3"]),
)
def test_pools_are_whole_blocks_that_fit(name: str, block: int, size: int, kind: str) -> None:
    engine, form = EngineSpec(block_size=block), validate(KvFormatSpec, kind)
    found = pool(model(name), form, engine, size)
    assert found.tokens == found.blocks * block
    assert found.blocks * found.block_bytes <= size < (found.blocks + 1) * found.block_bytes
    assert tier_blocks(model(name), form, engine, size) == found.blocks
    assert pool(model(name), form, engine, size + GIB).tokens >= found.tokens
