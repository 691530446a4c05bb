"""KV capacity against what engines print and users measured: each case names its public thread."""

from __future__ import annotations

import pytest

from simcore.presets import gpu, model
from simcore.quantization.kv_bytes import kv_bytes_per_token, kv_footprint
from simcore.roofline.memory import pool
from simcore.specs.base import validate
from simcore.specs.engine import EngineSpec
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB

HALF_PERCENT = 0.005
BF16 = validate(KvFormatSpec, "bf16")


def fmt(raw: object) -> KvFormatSpec:
    return validate(KvFormatSpec, raw)


def test_qwen3_1_7b_pool_tokens() -> None:
    """vllm-project/vllm#33263: 18.78 GiB available, log says 175,856 tokens; one request of 1,024 needs 0.11 GiB."""
    spec = model("qwen3-1.7b")
    assert kv_bytes_per_token(spec, BF16) == 28 * 8 * 128 * 2 * 2 == 114_688
    found = pool(spec, BF16, EngineSpec(), int(18.78 * GIB))
    assert found.tokens == pytest.approx(175_856, rel=HALF_PERCENT)
    assert round(kv_footprint(spec, BF16).bytes_of(1024) / GIB, 2) == 0.11


def test_qwen2_5_7b_bytes_of_a_request() -> None:
    """vllm-project/vllm#22291: GQA counts 4 KV heads, not the hidden size; GPU use rises 0.164 GiB per 3,072-token request."""
    spec = model("qwen2.5-7b")
    assert kv_bytes_per_token(spec, BF16) == 57_344
    request = kv_footprint(spec, BF16).bytes_of(3072)
    assert request / GIB == pytest.approx(0.164, rel=HALF_PERCENT)
    slope_gb = (18.1 - 10.6) / (50 - 5)
    assert request / 1e9 == pytest.approx(slope_gb, rel=0.06)  # the measured GB have three digits


def test_unified_pages_match_the_engine_log() -> None:
    """alvarobartt/hf-mem#60: gpt-oss-120b, 5.38 GiB, vLLM logs 78,384 tokens: sliding layers take full-length pages."""
    spec = model("gpt-oss-120b")
    found = pool(spec, BF16, EngineSpec(), int(5.38 * GIB))
    assert kv_bytes_per_token(spec, BF16) == 73_728
    assert found.tokens == pytest.approx(78_384, rel=HALF_PERCENT)


@pytest.mark.parametrize(("mode", "published_gib"), [("unified", 12.00), ("ring", 6.09)])
def test_both_bounds_of_sliding_window_layers(mode: str, published_gib: float) -> None:
    """alvarobartt/hf-mem#70: gpt-oss-20b, 32 sequences of 8,192 tokens."""
    footprint = kv_footprint(model("gpt-oss-20b"), BF16, mode)  # type: ignore[arg-type]
    assert 32 * footprint.bytes_of(8192) / GIB == pytest.approx(published_gib, rel=HALF_PERCENT)


def test_a_ring_pool_sets_its_windows_aside() -> None:
    spec = model("gpt-oss-20b")
    engine = EngineSpec(sliding_window_cache="ring", max_num_seqs=32)
    window = kv_footprint(spec, BF16, "ring").fixed_bytes_per_sequence
    found = pool(spec, BF16, engine, 6 * GIB)
    assert found.reserved_bytes == 32 * window == 32 * 12 * 128 * 2048
    assert found.tokens == (6 * GIB - found.reserved_bytes) // (24_576 * 16) * 16
    assert pool(spec, BF16, engine, int(found.reserved_bytes)).tokens == 0


def test_qwen3_14b_whole_blocks() -> None:
    """LMCache/LMCache#1739: 6.51 GiB hold 42,656 tokens; a prompt of 32,600 takes 76 % of them."""
    found = pool(model("qwen3-14b"), BF16, EngineSpec(), int(6.51 * GIB))
    assert found.tokens == 42_656
    assert 32_600 / found.tokens == pytest.approx(0.76, abs=0.005)
    assert found.tokens / 32_768 == pytest.approx(1.30, abs=0.005)


@pytest.mark.parametrize(("name", "published_gib"), [("qwen-72b", 20.0), ("llama-2-70b", 2.5)])
def test_heads_decide(name: str, published_gib: float) -> None:
    """ggml-org/llama.cpp#6032: 64 against 8 KV heads at 8,192 tokens in f16."""
    footprint = kv_footprint(model(name), fmt("f16"))
    assert footprint.bytes_of(8192) / GIB == pytest.approx(published_gib, rel=HALF_PERCENT)


@pytest.mark.parametrize(("name", "published_gib"), [("f16", 4.0), ("q8_0", 2.125), ("q4_0", 1.125)])
def test_formats_decide(name: str, published_gib: float) -> None:
    """ollama/ollama#6276: Llama-3.1-8B at 32K, scales counted."""
    footprint = kv_footprint(model("llama-3.1-8b"), fmt(name))
    assert footprint.bytes_of(32_768) / GIB == pytest.approx(published_gib, rel=HALF_PERCENT)


def test_lmcache_bytes_per_token() -> None:
    """LMCache/LMCache#1740: 10,010 tokens are logged as 1.3747 GiB."""
    assert kv_footprint(model("qwen3-8b"), BF16).bytes_of(10_010) / GIB == pytest.approx(1.3747, rel=1e-4)


def test_tensor_parallel_pools() -> None:
    """Two GPUs halve a block's bytes on each; sixteen repeat the eight heads, so sixteen hold no more than eight."""
    spec = model("llama-3.1-8b")
    per_gpu = [pool(spec, BF16, EngineSpec(), GIB, tp).tokens for tp in (1, 2, 8, 16)]
    assert per_gpu == [8192, 16384, 65536, 65536]
    latent = model("deepseek-v3")
    assert pool(latent, BF16, EngineSpec(), GIB, 8).tokens == pool(latent, BF16, EngineSpec(), GIB).tokens
    assert gpu("h100-sxm", count=16).count == 16
