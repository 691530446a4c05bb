"""Copy time as a function of copy size, against two published measurements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.presets import gpu, model, tier
from simcore.roofline.constants import load_constants
from simcore.roofline.transfer import (
    copies_per_block,
    effective_bandwidth,
    host_link_bandwidth,
    host_link_seconds_per_block,
    seconds_per_block,
    tier_seconds_per_block,
)
from simcore.specs.tier import TierSpec
from simcore.units import GIB, KIB, MIB

C = load_constants("default")
H100 = gpu("h100-sxm")


def test_two_mebibyte_copies() -> None:
    """vLLM blog, KV offloading connector, 2026-01-08: about 50 GB/s one way with copies of 2 MB on an H100, within 2 %."""
    reached = effective_bandwidth(2 * MIB, host_link_bandwidth(H100, C), C.host_copy_s)
    assert reached / 1e9 == pytest.approx(50, rel=0.02)


def test_small_pages_reach_a_fifth_of_the_link() -> None:
    """Strata (arXiv:2508.18572): pages of 32 tokens reach 22 % of PCIe 5 x16, within 2 points. One layer's K of 32 tokens of
    Llama-3.1-8B is a copy of 64 KiB."""
    copy = 32 * 8 * 128 * 2
    assert copy == 64 * KIB
    assert effective_bandwidth(copy, host_link_bandwidth(H100, C), C.host_copy_s) / 64e9 == pytest.approx(0.22, abs=0.02)


def test_layout_decides_the_number_of_copies() -> None:
    """The same blog: 32 KB fragments became 2 MB blocks, up to 4x on time to first token and 5x on throughput."""
    llama, latent = model("llama-3.1-8b"), model("deepseek-v3")
    assert copies_per_block(llama, "contiguous") == 1
    assert copies_per_block(llama, "per_layer") == 64
    assert copies_per_block(latent, "per_layer") == 61
    block = 16 * 131_072
    one, many = (host_link_seconds_per_block(H100, C, block, n) for n in (1, 64))
    assert 4 < many / one < 8


def test_the_link_follows_the_gpu() -> None:
    """26 GB/s measured over PCIe 4 x16 by CachedAttention (arXiv:2403.19708), within 5 %."""
    assert host_link_bandwidth(gpu("a100-80"), C) / 1e9 == pytest.approx(26, rel=0.05)


def test_read_and_write_are_apart() -> None:
    nvme = tier("nvme-gen4", capacity_bytes=GIB)
    read, write = tier_seconds_per_block(nvme, 2 * MIB, 1)
    assert read == pytest.approx(2 * MIB / 6.9e9 + 1e-6)
    assert write == pytest.approx(2 * MIB / 4.1e9 + 1e-6)


def test_a_lower_tier_must_say_its_bandwidth() -> None:
    with pytest.raises(InputError, match="read_bandwidth: is required below HBM"):
        tier_seconds_per_block(TierSpec(capacity_bytes=GIB), 2 * MIB, 1)


@given(st.floats(1, 1e9), st.floats(1, 1e9), st.floats(1e6, 1e12), st.floats(0, 1e-3), st.integers(1, 200))
def test_larger_copies_take_longer_and_run_faster(a: float, b: float, bandwidth: float, overhead: float, n: int) -> None:
    small, large = sorted((a, b))
    assert seconds_per_block(small, n, bandwidth, overhead) <= seconds_per_block(large, n, bandwidth, overhead)
    rates = [effective_bandwidth(size, bandwidth, overhead) for size in (small, large)]
    assert rates[0] <= rates[1] * (1 + 1e-12) and rates[1] <= bandwidth * (1 + 1e-12)
    assert seconds_per_block(a, n, bandwidth, overhead) >= seconds_per_block(a, 1, bandwidth, overhead)
