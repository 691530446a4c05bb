"""Step time: the formula term by term, its limits, and that every constant and spec field moves it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.presets import gpu, list_presets, model
from simcore.roofline.constants import Constants, load_constants
from simcore.roofline.step_time import StepCosts, step_costs
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec

BF16 = validate(KvFormatSpec, "bf16")
TYPICAL = load_constants("default")
IDEAL = load_constants("default").with_changes(
    weight_bandwidth_share=1.0,
    kv_bandwidth_share=1.0,
    mfu=1.0,
    mfu_fp8=1.0,
    mfu_fp4=1.0,
    step_s=0.0,
    layer_s=0.0,
    sequence_s=0.0,
)


def costs(name: str, card: str = "h100-sxm", tp: int = 1, constants: Constants | None = None, **kw: object) -> StepCosts:
    raw = {"kv_format": BF16, "weight_format": None, "budget": 512, **kw}
    return step_costs(model(name), gpu(card, count=tp), constants=constants, **raw)  # type: ignore[arg-type]


def test_one_token_reads_the_weights_many_compute() -> None:
    found = costs("llama-3.1-8b", constants=IDEAL, budget=8192)
    read = 2 * (8_030_261_248 - 128_256 * 4096) / 3.35e12
    compute = 2 * (8_030_261_248 - 128_256 * 4096) * 8192 / 989.5e12
    assert found.lin_s[1] == pytest.approx(read, rel=1e-6)
    assert found.lin_s[8192] == pytest.approx((read**4 + compute**4) ** 0.25)
    assert found.kv_s_per_token == pytest.approx(131_072 / 3.35e12)
    assert found.pair_s == pytest.approx(4 * 32 * 32 * 128 / 989.5e12)
    assert found.seq_s == 0 and found.lin_s.shape == (8193,)


def test_a_mixture_reads_the_experts_its_tokens_choose() -> None:
    found = costs("qwen3-30b-a3b", constants=IDEAL)
    spec = model("qwen3-30b-a3b")
    dense = 2 * (spec.params - spec.expert_params - spec.embedding_params)
    for tokens in (0, 1, 64):
        touched = dense + 2 * spec.expert_params * (1 - (1 - 8 / 128) ** tokens)
        compute = 2 * (spec.active_params - spec.embedding_params) * tokens / 989.5e12
        assert found.lin_s[tokens] == pytest.approx(((touched / 3.35e12) ** 4 + compute**4) ** 0.25)


def test_tensor_parallelism_divides_work_and_adds_communication() -> None:
    one, four = costs("llama-3.1-70b", constants=IDEAL), costs("llama-3.1-70b", tp=4, constants=IDEAL)
    c = IDEAL
    tokens = 256
    ring = tokens * 8192 * 2 * 2 * 3 / 4 / (c.gpu_link_share * 900e9)
    assert four.lin_s[tokens] - one.lin_s[tokens] / 4 == pytest.approx(160 * (c.allreduce_s * 2 / 3 + ring))
    assert four.kv_s_per_token == pytest.approx(one.kv_s_per_token / 4)
    assert four.pair_s == pytest.approx(one.pair_s / 4)
    assert costs("llama-3.1-70b", tp=16, constants=IDEAL).kv_s_per_token == pytest.approx(one.kv_s_per_token / 8)


def test_windows_leave_the_context_terms() -> None:
    full = costs("gpt-oss-20b", constants=IDEAL)
    spec = model("gpt-oss-20b")
    rate = 989.5e12
    assert full.kv_s_per_token == pytest.approx(12 * 2048 / 3.35e12)
    assert full.seq_s == pytest.approx(12 * 2048 * 128 / 3.35e12)
    assert full.pair_s == pytest.approx(12 * 4 * 64 * 64 / rate)
    no_window = step_costs(spec.with_changes(sliding=None), gpu("h100-sxm"), BF16, None, 512, IDEAL)
    assert no_window.kv_s_per_token == pytest.approx(2 * full.kv_s_per_token)
    assert no_window.lin_s[512] < full.lin_s[512]


def test_latent_attention() -> None:
    found = costs("deepseek-v3", "h200", 8, IDEAL)
    read = 70_272 / 4.8e12  # whole on every GPU
    attend = 61 * 2 * 128 * (512 + 64 + 512) / (8 * 989.5e12)  # each of its heads attends to the latent itself
    assert found.kv_s_per_token == pytest.approx((read**4 + attend**4) ** 0.25)
    assert found.pair_s == pytest.approx(61 * 2 * 128 * (128 + 64 + 128) / (8 * 989.5e12))


def test_low_precision_is_faster_only_where_the_hardware_has_it() -> None:
    h100, a100 = (
        costs("llama-3.1-8b", card, weight_format="fp8", budget=8192, constants=TYPICAL) for card in ("h100-sxm", "a100-80")
    )
    for card, fp8 in (("h100-sxm", h100), ("a100-80", a100)):
        bf16 = costs("llama-3.1-8b", card, weight_format="bf16", budget=8192, constants=TYPICAL)
        gain = bf16.lin_s[8192] / fp8.lin_s[8192]
        assert fp8.lin_s[1] < bf16.lin_s[1]
        assert gain == pytest.approx(1.7, abs=0.15) if card == "h100-sxm" else gain == pytest.approx(0.9, abs=0.02)  # converted
    b200 = costs("gpt-oss-20b", "b200", budget=8192).lin_s[8192]
    assert b200 < costs("gpt-oss-20b", "b200", weight_format="bf16", budget=8192).lin_s[8192]


def test_smaller_kv_is_read_faster() -> None:
    fp8 = validate(KvFormatSpec, "fp8_e4m3")
    assert costs("llama-3.1-8b", kv_format=fp8).kv_s_per_token == pytest.approx(
        costs("llama-3.1-8b").kv_s_per_token / 2, rel=1e-2
    )


FIELDS = [
    "weight_bandwidth_share", "kv_bandwidth_share", "mfu", "mfu_fp8", "step_s", "layer_s", "allreduce_s",
    "gpu_link_share", "sequence_s", "request_s",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_constant_moves_a_cost(field: str) -> None:
    base = load_constants("default")
    moved = base.with_changes(**{field: getattr(base, field) * 0.9})
    before, after = (costs("llama-3.1-70b", tp=2, weight_format="fp8", constants=c) for c in (base, moved))
    terms = [(c.lin_s.sum(), c.kv_s_per_token, c.seq_s, c.pair_s, c.request_s) for c in (before, after)]
    assert terms[0] != terms[1]


@given(st.sampled_from(list_presets("models")), st.sampled_from(list_presets("gpus")))
def test_costs_are_finite_positive_and_grow_with_tokens(name: str, card: str) -> None:
    found = costs(name, card, budget=64)
    assert np.all(np.isfinite(found.lin_s)) and np.all(np.diff(found.lin_s) >= 0) and found.lin_s[0] > 0
    assert all(x > 0 and math.isfinite(x) for x in (found.kv_s_per_token, found.seq_s, found.pair_s, found.request_s))
    assert not found.lin_s.flags.writeable


def test_published_step_times() -> None:
    """Llama-3.1-8B on one H100 decodes a single stream at 100 to 170 tokens/s in bf16, and prefills 20 to 40 k tokens/s."""
    found = costs("llama-3.1-8b", budget=2048)
    assert 100 < 1 / (found.lin_s[1] + found.seq_s + 1000 * found.kv_s_per_token) < 170
    assert 20_000 < 2048 / (found.lin_s[2048] + 2048**2 / 2 * found.pair_s) < 40_000
