"""Kernel times: limits of the forms. The measured times are rows of `simcore.validation.vllm_kernels`."""

from __future__ import annotations

import pytest

from simcore.presets import gpu
from simcore.roofline.break_even import break_even_bandwidth, prefill_operations
from simcore.roofline.kernels import HOPPER, all_reduce_s, decode_attention_s, gemm_s, prefill_attention_s

H100 = gpu("h100-sxm")


def test_a_matrix_product_reads_its_weights_or_computes() -> None:
    read = 2 * 8192 * 8192 / (HOPPER.gemm_read_share * H100.bandwidth_bytes_per_s)
    assert gemm_s(H100, 1, 8192, 8192) - HOPPER.gemm_launch_s == pytest.approx(read, rel=1e-3)
    compute = 2 * 16384 * 8192 * 8192 / (HOPPER.gemm_mfu * H100.flops)
    assert gemm_s(H100, 16384, 8192, 8192) - HOPPER.gemm_launch_s == pytest.approx(compute, rel=1e-3)


def test_long_prompts_reach_the_rate_and_short_ones_half_of_it() -> None:
    def rate(tokens: int) -> float:
        operations = 4 * 32 * 128 * tokens * (tokens + 1) / 2
        return operations / (prefill_attention_s(H100, tokens, 32, 128) - HOPPER.prefill_launch_s) / H100.flops

    assert rate(1_000_000) == pytest.approx(HOPPER.prefill_mfu, rel=1e-3)
    assert rate(int(HOPPER.prefill_ramp_tokens)) == pytest.approx(HOPPER.prefill_mfu / 2, rel=1e-3)


def test_decode_reads_from_the_l2_cache_what_fits_it() -> None:
    tokens = HOPPER.l2_bytes // (2 * 8 * 128 * 2)
    inside = decode_attention_s(H100, 1, tokens, 8, 128) - HOPPER.decode_launch_s
    outside = decode_attention_s(H100, 1, tokens + 1, 8, 128) - HOPPER.decode_launch_s
    assert outside / inside == pytest.approx(HOPPER.l2_bytes_per_s / (0.9 * H100.bandwidth_bytes_per_s), rel=1e-3)
    one = decode_attention_s(H100, 64, 1024, 8, 128)
    assert one == decode_attention_s(H100, 1, 65536, 8, 128)


def test_an_all_reduce_moves_little_less_than_its_bytes_twice() -> None:
    small, large = (all_reduce_s(gpu("h100-sxm", count=n), 1 << 25) - HOPPER.reduce_launch_s for n in (2, 8))
    assert large / small == pytest.approx((7 / 8) / (1 / 2))


def test_break_even() -> None:
    """At that bandwidth the load takes as long as the computation."""
    operations = prefill_operations(80, 8192, 4096, a=4, b=22)
    bandwidth = break_even_bandwidth(1e9, operations, 1e15)
    assert 1e9 / bandwidth == pytest.approx(operations / 1e15)
    assert prefill_operations(1, 2, 3, a=5, b=7) == 5 * 9 * 2 + 7 * 3 * 4
