"""Bytes per token of every preset, true bits per value of every format, tensor parallelism."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.presets import list_presets, model
from simcore.quantization.formats import find_format, kv_formats
from simcore.quantization.kv_bytes import (
    heads_per_gpu,
    kv_bytes_per_token,
    kv_bytes_per_token_per_gpu,
    kv_footprint,
    kv_footprint_per_gpu,
)
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec

# 2 * layers * kv_heads * head_dim * 2 bytes, MLA layers * (512 + 64) * 2; each from the config.json named in the preset
BF16_BYTES = {
    "minimax-m2.5": 253_952, "kimi-k2.5": 70_272, "glm-5": 89_856, "qwen3.5-397b-a17b": 30_720,
    "opt-6.7b": 524_288, "opt-13b": 819_200, "opt-30b": 1_376_256, "opt-66b": 2_359_296, "opt-175b": 4_718_592,
    "llama-65b": 2_621_440, "llama-2-7b": 524_288, "llama-2-13b": 819_200, "llama-2-70b": 327_680,
    "llama-3-8b": 131_072, "llama-3-70b": 327_680, "llama-3.1-8b": 131_072, "llama-3.1-70b": 327_680,
    "llama-3.1-405b": 516_096, "llama-3.3-70b": 327_680, "mistral-7b": 131_072, "mixtral-8x7b": 131_072,
    "mixtral-8x22b": 229_376, "qwen-72b": 2_621_440, "qwen2.5-7b": 57_344, "qwen2.5-14b": 196_608,
    "qwen2.5-32b": 262_144, "qwen2.5-72b": 327_680, "qwen3-0.6b": 114_688, "qwen3-1.7b": 114_688, "qwen3-4b": 147_456,
    "qwen3-8b": 147_456, "qwen3-14b": 163_840, "qwen3-32b": 262_144, "qwen3-30b-a3b": 98_304,
    "qwen3-235b-a22b": 192_512, "deepseek-v2": 69_120, "deepseek-v3": 70_272, "deepseek-r1": 70_272,
    "llama-7b": 524_288,
    "phi-3-mini": 393_216, "phi-3-medium": 204_800, "yi-34b": 245_760, "falcon-40b": 122_880, "smollm2-135m": 23_040,
    "qwen3-next-80b-a3b": 24_576, "qwen3.6-27b": 65_536, "nemotron-3-nano-30b-a3b": 6_144,
    "gpt-oss-120b": 73_728, "gpt-oss-20b": 49_152,
}  # fmt: skip
BITS_AT_128 = {
    "f16": 16, "bf16": 16, "fp8_e4m3": 8, "fp8_e5m2": 8, "int8": 8.25, "int4": 4.25, "q8_0": 8.5, "q5_1": 6.0,
    "q4_0": 4.5, "nvfp4": 4.5, "int2": 2.25, "kivi2": 3.0, "kivi4": 5.0, "kivi8": 9.0, "kvquant2": 2.33, "kvquant3": 3.33,
    "kvquant4": 4.33,
}  # fmt: skip


def fmt(raw: object) -> KvFormatSpec:
    return validate(KvFormatSpec, raw)


@pytest.mark.parametrize("name", list_presets("models"))
def test_every_preset_is_exact(name: str) -> None:
    assert kv_bytes_per_token(model(name), fmt("bf16")) == BF16_BYTES[name]


@pytest.mark.parametrize(("name", "bits"), BITS_AT_128.items())
def test_true_bits_per_value(name: str, bits: float) -> None:
    assert find_format(name).bits_per_value(128) == bits
    assert kv_bytes_per_token(model("llama-3.1-8b"), fmt(name)) == pytest.approx(131_072 * bits / 16, rel=1e-14)


def test_every_format_is_sized_somewhere() -> None:
    assert set(kv_formats()) == set(BITS_AT_128) | {"fp8_ds_mla"}


def test_k_and_v_apart() -> None:
    spec = model("llama-3.1-8b")
    mixed = kv_bytes_per_token(spec, fmt({"default": {"k": "q8_0", "v": "q4_0"}}))
    assert mixed == 32 * 8 * 128 * (8.5 + 4.5) / 8
    assert mixed == kv_bytes_per_token(spec, fmt({"k": "q8_0", "v": "q4_0"}))


def test_savings_of_kvquant() -> None:
    """arXiv:2401.18079: 3.7, 4.8 and 6.9 times smaller; 64 GB at 128K tokens of LLaMA-7B become 13.3 and 9.3 GB."""
    wide = kv_bytes_per_token(model("llama-7b"), fmt("f16"))
    for bits, times in ((4, 3.7), (3, 4.8), (2, 6.9)):
        assert wide / kv_bytes_per_token(model("llama-7b"), fmt(f"kvquant{bits}")) == pytest.approx(times, rel=0.01)
    gib = [kv_bytes_per_token(model("llama-7b"), fmt(f"kvquant{bits}")) * 131_072 / 2**30 for bits in (3, 2)]
    assert gib == pytest.approx([13.3, 9.3], rel=0.005)


def test_the_last_tokens_of_kivi_stay_wide() -> None:
    """arXiv:2401.18079 quotes KIVI-2 at 3.05 bits: 128 of 32K tokens at 16 bits are 0.05 more than 3."""
    footprint = kv_footprint(model("llama-2-7b"), fmt("kivi2"))
    values = 524_288 / 2
    assert footprint.bytes_per_token == values * 3 / 8
    assert footprint.fixed_bytes_per_sequence == 128 * values * (16 - 3) / 8
    assert footprint.bytes_of(32_768) / 32_768 / values * 8 == pytest.approx(3.05, abs=0.002)
    mixed = kv_footprint(model("llama-2-7b"), fmt({"k": "kivi2", "v": "bf16"}))
    assert mixed.fixed_bytes_per_sequence == footprint.fixed_bytes_per_sequence / 2


def test_a_latent_takes_the_format_of_k_and_ignores_v() -> None:
    spec = model("deepseek-v3")
    assert kv_bytes_per_token(spec, fmt({"k": "fp8_e4m3", "v": "bf16"})) == 61 * 576
    assert kv_bytes_per_token(spec, fmt("int8")) == 61 * (576 + 4)
    # DeepSeek V3.2's layout: 512 + 4 * 4 + 64 * 2 = 656 bytes a layer
    assert kv_bytes_per_token(spec, fmt("fp8_ds_mla")) == 61 * 656 == 40_016


def test_groups_of_layers() -> None:
    spec = model("llama-3.1-8b")
    token = 131_072 / 32
    grouped = fmt({"default": "fp8_e4m3", "groups": {"early": {"layers": "0-3", "k": "bf16", "v": "bf16"}}})
    assert kv_bytes_per_token(spec, grouped) == 4 * token + 28 * token / 2
    assert kv_bytes_per_token(spec, fmt({"default": "bf16", "groups": 4})) == 131_072


@pytest.mark.parametrize("tp", [1, 2, 4, 8, 16, 32])
def test_heads_are_split_then_repeated(tp: int) -> None:
    spec = model("llama-3.1-8b")
    assert kv_bytes_per_token_per_gpu(spec, fmt("bf16"), tp) == 131_072 / min(tp, 8)
    assert kv_bytes_per_token_per_gpu(model("deepseek-v3"), fmt("bf16"), tp) == 70_272


@pytest.mark.parametrize(("name", "tp"), [("llama-3.1-8b", 3), ("phi-3-medium", 4), ("qwen2.5-7b", 8)])
def test_a_degree_the_heads_do_not_allow(name: str, tp: int) -> None:
    with pytest.raises(InputError, match=r"gpu\.count: must divide"):
        heads_per_gpu(model(name), tp)


def test_a_block_must_divide_the_head() -> None:
    odd = model("llama-3.1-8b", head_dim=80)
    assert find_format("nvfp4").bits_per_value(80) == 4.5
    with pytest.raises(InputError, match="q8_0: its group of 32 values must divide a vector of 80"):
        kv_bytes_per_token(odd, fmt("q8_0"))


def test_unknown_formats_name_the_nearest() -> None:
    with pytest.raises(InputError, match=r"kv_format\.default\.k: unknown KV format; got q8_1.*q"):
        kv_bytes_per_token(model("llama-3.1-8b"), fmt("q8_1"))
    with pytest.raises(InputError, match="latent caches"):
        kv_bytes_per_token(model("llama-3.1-8b"), fmt("fp8_ds_mla"))


@given(st.integers(1, 200_000), st.sampled_from(["bf16", "q4_0", "int4"]), st.sampled_from([1, 2, 8]))
def test_a_ring_costs_no_more_than_full_length(tokens: int, name: str, tp: int) -> None:
    spec = model("gpt-oss-20b")
    full = kv_footprint_per_gpu(spec, fmt(name), tp)
    ring = kv_footprint_per_gpu(spec, fmt(name), tp, "ring")
    assert full.fixed_bytes_per_sequence == 0
    assert ring.bytes_per_token == full.bytes_per_token / 2
    assert ring.bytes_of(max(tokens, 128)) <= full.bytes_of(max(tokens, 128))


def test_models_without_windows_have_no_fixed_part() -> None:
    assert kv_footprint(model("qwen3-8b"), fmt("bf16"), "ring") == kv_footprint(model("qwen3-8b"), fmt("bf16"))
