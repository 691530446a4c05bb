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
    loaded_latencies,
    seconds_per_block,
    tier_latencies,
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
    assert read == pytest.approx(2 * MIB / 6.9e9)
    assert write == pytest.approx(2 * MIB / 4.1e9)


def test_a_lower_tier_must_say_its_bandwidth() -> None:
    with pytest.raises(InputError, match="read_bandwidth: is required below HBM"):
        tier_seconds_per_block(TierSpec(capacity_bytes=GIB), 2 * MIB, 1)


def test_small_operations_are_limited_by_their_number() -> None:
    """Operations a second times 4 KiB is what data sheets mean by random reads; a large copy is limited by its bytes."""
    nvme = tier("nvme-gen4", capacity_bytes=GIB)
    read, write = tier_seconds_per_block(nvme, 512 * 4 * KIB, 512)
    assert (read, write) == pytest.approx((512 / 1e6, 512 / 200e3))
    split = tier_seconds_per_block(nvme.with_changes(io_size_bytes=4 * KIB), 2 * MIB, 1)
    assert split == pytest.approx((read, write))


def test_few_operations_in_flight_starve_a_drive() -> None:
    """Little's law: one operation of 128 KiB at a time, 80 us each, is 1.6 GB/s; 8 at a time no longer limit it."""
    nvme = tier("nvme-gen4", capacity_bytes=GIB)
    rates = [2 * MIB / tier_seconds_per_block(nvme.with_changes(queue_depth=n), 2 * MIB, 1)[0] / 1e9 for n in (1, 2, 8)]
    assert rates == pytest.approx([128 * KIB / 80e3, 2 * 128 * KIB / 80e3, 6.9])


def test_a_measured_curve_is_met_at_its_points() -> None:
    """What pages of Llama-3.1-8B reach over PCIe 5 x16: 22 % of 64 GB/s in copies of 64 KiB (Strata), 50 GB/s in copies of 2
    MiB (vLLM blog)."""
    points = ((64 * KIB, 0.22 * 64e9), (2 * MIB, 50e9))
    measured = TierSpec(
        capacity_bytes=GIB, read_bandwidth_bytes_per_s=64e9, write_bandwidth_bytes_per_s=32e9, bandwidth_curve=points
    )
    for size, rate in points:
        assert tier_seconds_per_block(measured, size, 1) == pytest.approx((size / rate, 2 * size / rate))
    between = 512 * KIB
    modelled = seconds_per_block(between, 1, host_link_bandwidth(H100, C), C.host_copy_s)
    assert tier_seconds_per_block(measured, between, 1)[0] == pytest.approx(modelled, rel=0.03)
    assert tier_seconds_per_block(measured, 16 * KIB, 1)[0] == pytest.approx(64 * KIB / (0.22 * 64e9))
    assert tier_seconds_per_block(measured, 64 * MIB, 1)[0] == pytest.approx(64 * MIB / 50e9)


@pytest.mark.parametrize(
    "points", [((4096, 1e9), (1024, 1e9)), ((1024, 1e9), (1024, 2e9)), ((1024, 1e6), (4096, 1e9)), ((0, 1e9),)]
)
def test_a_curve_on_which_larger_copies_are_done_sooner_is_refused(points: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match="bandwidth_curve: must be points of growing copy sizes"):
        TierSpec(capacity_bytes=GIB, bandwidth_curve=points)


def test_a_curve_leaves_nothing_to_an_overhead() -> None:
    with pytest.raises(ValueError, match="copy_overhead: must be 0 where bandwidth_curve is given"):
        TierSpec(capacity_bytes=GIB, bandwidth_curve=((1024, 1e9),), copy_overhead_s=1e-6)


def test_interleaved_devices_add_up_to_what_the_host_lets_through() -> None:
    """Mooncake's transfer engine (FAST'25): 87 GB/s over 4 x 200 Gbit/s, 190 GB/s over 8 x 400."""
    for name, rate in (("remote-rdma-4x200g", 87e9), ("remote-rdma-8x400g", 190e9), ("nvme-gen4-x4", 26e9)):
        spec = tier(name, capacity_bytes=GIB)
        assert tier_seconds_per_block(spec, GIB, 1)[0] == pytest.approx(GIB / rate, rel=0.001)
    cxl = tier("cxl2-x8", capacity_bytes=GIB, devices=6)
    assert tier_seconds_per_block(cxl, GIB, 1)[0] == pytest.approx(GIB / 180e9)
    assert tier_seconds_per_block(cxl.with_changes(max_bandwidth_bytes_per_s=100e9), GIB, 1)[0] == pytest.approx(GIB / 100e9)
    assert cxl.cost_usd() == 6 + 6 * 300
    assert tier("cxl2-x8", capacity_bytes=6 * 1024 * GIB, devices=6)
    with pytest.raises(ValueError, match="capacity: must not exceed the devices' .devices: 6. 6 TiB"):
        tier("cxl2-x8", capacity_bytes=7 * 1024 * GIB, devices=6)


def test_a_socket_away() -> None:
    here, there = tier("ddr5-host", capacity_bytes=GIB), tier("ddr5-host", capacity_bytes=GIB, numa_hops=2)
    assert tier_seconds_per_block(there, GIB, 1)[0] == pytest.approx(tier_seconds_per_block(here, GIB, 1)[0] / 0.49)
    assert tier_latencies(there)[0] == pytest.approx(100e-9 + 2 * 64e-9)


def test_a_bounce_buffer_adds_its_own_copy() -> None:
    """LMCache#4474: direct reads of four NVMe drives beat POSIX reads through host memory 1.24 times with an eighth of the
    DRAM; a copy at 110 GB/s between them would be that much."""
    direct = tier("nvme-gen4-x4", capacity_bytes=GIB)
    bounced = direct.with_changes(bounce_bandwidth_bytes_per_s=110e9)
    ratio = tier_seconds_per_block(bounced, GIB, 1)[0] / tier_seconds_per_block(direct, GIB, 1)[0]
    assert ratio == pytest.approx(1.24, abs=0.01)


@given(st.floats(1, 1e9), st.floats(1, 1e9), st.floats(1e6, 1e12), st.floats(0, 1e-3), st.integers(1, 200))
def test_larger_copies_take_longer_and_run_faster(a: float, b: float, bandwidth: float, overhead: float, n: int) -> None:
    small, large = sorted((a, b))
    assert seconds_per_block(small, n, bandwidth, overhead) <= seconds_per_block(large, n, bandwidth, overhead)
    rates = [effective_bandwidth(size, bandwidth, overhead) for size in (small, large)]
    assert rates[0] <= rates[1] * (1 + 1e-12) and rates[1] <= bandwidth * (1 + 1e-12)
    assert seconds_per_block(a, n, bandwidth, overhead) >= seconds_per_block(a, 1, bandwidth, overhead)


def test_the_loaded_latency_of_a_cxl_expander() -> None:
    """All reads of Micron's model of a CXL expander, 26.8 GB/s at most: 107 ns unloaded, 5 ns more at 68 % of that, 12 at 92 %,
    29 at 99.6 %, 504 saturated (Mess, arXiv:2405.10170; its published curve cxl/bwlat_100, cycles of 2.1 GHz)."""
    more_ns = {18280: 235.414, 24605: 250.673, 26654: 285.466, 26759: 1285.0047}
    points = tuple((mb / 26759, 200e-9 + (cycles - 225.584) / 2.1e9) for mb, cycles in more_ns.items())
    cxl = tier("cxl2-x8", capacity_bytes=GIB, loaded_latency_s=points, numa_hops=1)
    shares, latencies = zip(*loaded_latencies(cxl), strict=True)
    assert shares == pytest.approx((0.683, 0.919, 0.996, 1.0), abs=1e-3)
    assert [1e9 * latency - 264 for latency in latencies] == pytest.approx([4.7, 11.9, 28.5, 504.5], abs=0.1)
    with pytest.raises(ValueError, match="loaded_latency: must be points of growing utilisation"):
        tier("cxl2-x8", capacity_bytes=GIB, loaded_latency_s=((0.5, 100e-9),))
