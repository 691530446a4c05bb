"""Step time under pipeline, data and expert parallelism, in emulated formats, with recurrent layers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simcore.presets import gpu, model
from simcore.quantization.formats import find_format
from simcore.roofline.constants import Constants, load_constants
from simcore.roofline.step_time import StepCosts, binding_stage, conversion_cost, step_costs
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec
from simcore.specs.parallel import ParallelSpec

BF16 = validate(KvFormatSpec, "bf16")
IDEAL = load_constants("default").with_changes(
    weight_bandwidth_share=1.0, kv_bandwidth_share=1.0, mfu=1.0, mfu_fp8=1.0, mfu_fp4=1.0, converted_rate_share=1.0,
    step_s=0.0, layer_s=0.0, allreduce_s=0.0, gpu_link_share=1.0, sequence_s=0.0,
)  # fmt: skip


def costs(
    name: str, card: str = "h100-sxm", *, constants: Constants = IDEAL, form: str | None = None, budget: int = 64, **on: object
) -> StepCosts:
    parallel = ParallelSpec(**on)  # type: ignore[arg-type]
    return step_costs(model(name), gpu(card, count=parallel.gpus), BF16, form, budget, constants, parallel)


def test_a_pipeline_reads_the_weights_once_a_microbatch() -> None:
    one, two = costs("llama-3.1-70b"), costs("llama-3.1-70b", pp=2)
    hidden = 2 * 8192 / 900e9
    assert two.lin_s[1] == pytest.approx(one.lin_s[1] + hidden, rel=1e-6)  # one sequence passes both stages in turn
    assert two.kv_s_per_token == pytest.approx(one.kv_s_per_token / 2)
    assert two.pair_s == pytest.approx(one.pair_s / 2)
    weights, vocabulary = 2 * 70_553_706_496, 2 * 128_256 * 8192
    half = (weights - 2 * vocabulary) / 2
    assert two.lin_s[64] == pytest.approx(2 * (half + vocabulary) / 3.35e12, rel=1e-3)  # the stage with the head paces both


def test_the_slowest_stage_is_named() -> None:
    spec = model("llama-3.1-70b")
    even = binding_stage(spec, gpu("h100-sxm", count=4), None, 64, IDEAL, ParallelSpec(pp=4))
    assert (even.number, even.layers) == (3, 20)  # it also has the output head
    given = ParallelSpec(pp=4, stage_layers=(23, 19, 19, 19))
    uneven = binding_stage(spec, gpu("h100-sxm", count=4), None, 64, IDEAL, given)
    assert (uneven.number, uneven.layers) == (0, 23) and uneven.step_s > even.step_s
    before, after = costs("llama-3.1-70b", pp=4), costs("llama-3.1-70b", pp=4, stage_layers=(23, 19, 19, 19))
    assert after.lin_s[64] > before.lin_s[64] and after.kv_s_per_token == pytest.approx(before.kv_s_per_token * 23 / 20)


def test_data_parallel_copies_repeat_the_dense_layers_and_share_the_experts() -> None:
    spec = model("qwen3-30b-a3b")
    one, four = costs("qwen3-30b-a3b"), costs("qwen3-30b-a3b", dp=4, ep=True)
    dense = 2 * (spec.params - spec.expert_params - spec.embedding_params)
    experts = 2 * spec.expert_params * (1 - (1 - 8 / 128) ** 64)
    assert one.lin_s[64] == pytest.approx((dense + experts) / 3.35e12, rel=0.01)
    busiest = min(1 + math.sqrt(2 * math.log(4) / (64 * 8 / 4)), 4)
    read = min((1 - (1 - 8 / 128) ** 64) * busiest, 1) * 2 * spec.expert_params / 4
    gathered = 2 * 48 * 64 * 2 * 2048 * 3 / 4 / 900e9
    assert four.lin_s[64] == pytest.approx((dense + read) / 3.35e12 + gathered, rel=0.01)
    assert four.kv_s_per_token == pytest.approx(one.kv_s_per_token / 4)
    assert four.pair_s == pytest.approx(one.pair_s / 4)


def test_whole_experts_wait_for_the_busiest_gpu() -> None:
    cut, whole = costs("mixtral-8x7b", tp=8), costs("mixtral-8x7b", tp=8, ep=True)
    assert np.all(whole.lin_s[1:] >= cut.lin_s[1:]) and whole.lin_s[8] > cut.lin_s[8]


def test_formats_without_hardware_are_converted_or_emulated() -> None:
    spec, vocabulary = model("llama-3.1-8b"), 128_256 * 4096
    body = spec.params - 2 * vocabulary
    native = costs("llama-3.1-8b", "h100-sxm", form="fp8", budget=8192)
    converted = costs("llama-3.1-8b", "a100-80", form="fp8", budget=8192)
    emulated = costs("llama-3.1-8b", "v100-32", form="fp8", budget=8192)
    assert native.lin_s[1] == pytest.approx((body + 2 * vocabulary) / 3.35e12, rel=1e-3)
    assert converted.lin_s[1] == pytest.approx((body + 2 * vocabulary) / 2.039e12, rel=1e-3)
    assert emulated.lin_s[1] == pytest.approx((5 * body + 2 * vocabulary) / 900e9, rel=1e-3)  # read 1, write 2, read 2 bytes
    slower = costs("llama-3.1-8b", "a100-80", form="fp8", budget=8192, constants=IDEAL.with_changes(converted_rate_share=0.5))
    assert slower.lin_s[8192] > 1.9 * converted.lin_s[8192] * 0.95 and slower.lin_s[1] == pytest.approx(converted.lin_s[1])


def test_only_experts_are_in_the_format_that_covers_experts() -> None:
    """gpt-oss: attention stays in 16-bit arithmetic whatever the experts are in."""
    fast = costs("gpt-oss-120b", "b200", form="mxfp4", budget=8192).lin_s[8192]
    spec = model("gpt-oss-120b")
    chosen = spec.expert_params * 4 / 128
    plain = 2 * 8192 * (spec.active_params - spec.embedding_params - chosen) / 2250e12
    assert fast > plain + 2 * 8192 * chosen / 9000e12 * 0.9


def test_a_cache_that_must_be_unpacked_is_read_more_slowly() -> None:
    cost = find_format("int8").read_cost
    assert cost > 1 and conversion_cost(model("llama-2-13b"), validate(KvFormatSpec, "int8")) == pytest.approx(cost)
    mixed = conversion_cost(model("llama-2-13b"), validate(KvFormatSpec, {"k": "bf16", "v": "int8"}))
    assert mixed == pytest.approx((16 + 8 * cost) / 24)
    kv = step_costs(model("llama-2-13b"), gpu("a800-80"), validate(KvFormatSpec, "int8"), None, 8, IDEAL).kv_s_per_token
    plain = step_costs(model("llama-2-13b"), gpu("a800-80"), BF16, None, 8, IDEAL).kv_s_per_token
    assert kv / plain == pytest.approx(cost * 8.25 / 16, rel=1e-3)


def test_recurrent_layers_read_and_write_their_state_and_attend_to_nothing() -> None:
    spec = model("qwen3.5-397b-a17b")
    found = costs("qwen3.5-397b-a17b", "h200", tp=2)
    state = 45 * (4 * 64 * 128 * 128 + 2 * 3 * 12_288) / 2
    assert found.seq_s == pytest.approx(2 * state / 4.8e12)
    assert found.kv_s_per_token == pytest.approx(15 * 2 * 256 * 2 / 4.8e12, rel=1e-2)
    assert found.pair_s == pytest.approx(15 * 4 * 32 * 256 / (2 * 989.5e12), rel=1e-2)
    without = step_costs(spec.with_changes(recurrent=None), gpu("h200", count=2), BF16, None, 64, IDEAL)
    assert without.kv_s_per_token == pytest.approx(4 * found.kv_s_per_token, rel=1e-2)
