"""Time of single GPU kernels: what a step is made of, against kernels measured alone.

    GEMM       launch + (read^4 + compute^4)^(1/4)          the corner of `simcore.roofline.step_time`
    prefill    launch + operations / (share * rate) * (1 + ramp / length)
    decode     launch + KV bytes / (share * bandwidth);     KV that fits the L2 cache is read from there
    all-reduce launch + 2 (n-1)/n bytes / (share * link)

Operations of causal prefill: of the attended pairs, 4 heads * head_dim * s (s + 1) / 2. `ramp` is the length at which a half
of the rate is reached: short prompts leave multiprocessors idle at the end of the kernel. The link is one way of NVLink.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.roofline.step_time import CORNER
from simcore.specs.gpu import GpuSpec

SIXTEEN_BIT = 2


@dataclass(frozen=True)
class KernelRates:
    """What kernels reach of a GPU's data sheet.

    Attributes:
        gemm_launch_s, gemm_read_share, gemm_mfu: of matrix products.
        prefill_launch_s, prefill_mfu, prefill_ramp_tokens: of prefill attention.
        decode_launch_s, decode_read_share: of decode attention.
        l2_bytes, l2_bytes_per_s: size of the L2 cache and the rate at which decode attention reads it.
        reduce_launch_s, reduce_link_share: of an all-reduce.
    """

    gemm_launch_s: float
    gemm_read_share: float
    gemm_mfu: float
    prefill_launch_s: float
    prefill_mfu: float
    prefill_ramp_tokens: float
    decode_launch_s: float
    decode_read_share: float
    l2_bytes: int
    l2_bytes_per_s: float
    reduce_launch_s: float
    reduce_link_share: float


HOPPER = KernelRates(
    gemm_launch_s=1.5e-6,
    gemm_read_share=0.80,
    gemm_mfu=0.78,
    prefill_launch_s=15e-6,
    prefill_mfu=0.67,
    prefill_ramp_tokens=700,
    decode_launch_s=14e-6,
    decode_read_share=0.90,
    l2_bytes=50 << 20,
    l2_bytes_per_s=5.5e12,
    reduce_launch_s=7.5e-6,
    reduce_link_share=0.39,
)
"""vLLM 0.24.0 with FlashAttention-3 in 16 bit: fitted to the H100 rows of the kernel tables of NVIDIA's aiconfigurator
(systems/data, Apache-2.0, 2026-10); L2 cache of the H100 and H200 by their data sheets."""


def gemm_s(gpu: GpuSpec, m: int, n: int, k: int, rates: KernelRates = HOPPER) -> float:
    """Seconds of (m, k) times (k, n) in 16 bit on one GPU."""
    read = SIXTEEN_BIT * (n * k + m * n + m * k) / (rates.gemm_read_share * gpu.bandwidth_bytes_per_s)
    compute = 2.0 * m * n * k / (rates.gemm_mfu * gpu.flops)
    return float(rates.gemm_launch_s + (read**CORNER + compute**CORNER) ** (1 / CORNER))


def prefill_attention_s(gpu: GpuSpec, tokens: int, query_heads: int, head_dim: int, rates: KernelRates = HOPPER) -> float:
    """Seconds of one layer's causal attention over a whole prompt on one GPU."""
    operations = 4.0 * query_heads * head_dim * tokens * (tokens + 1) / 2
    return rates.prefill_launch_s + operations / (rates.prefill_mfu * gpu.flops) * (1 + rates.prefill_ramp_tokens / tokens)


def decode_attention_s(
    gpu: GpuSpec, sequences: int, tokens: int, kv_heads: int, head_dim: int, rates: KernelRates = HOPPER
) -> float:
    """Seconds of one layer's attention of `sequences` new tokens, each over `tokens` cached ones, on one GPU."""
    read = sequences * tokens * 2 * kv_heads * head_dim * SIXTEEN_BIT
    rate = rates.l2_bytes_per_s if read <= rates.l2_bytes else rates.decode_read_share * gpu.bandwidth_bytes_per_s
    return rates.decode_launch_s + read / rate


def all_reduce_s(gpu: GpuSpec, size_bytes: int, rates: KernelRates = HOPPER) -> float:
    """Seconds of an all-reduce of `size_bytes` over `gpu.count` GPUs joined by NVLink."""
    assert gpu.nvlink_bytes_per_s is not None
    moved = 2 * size_bytes * (gpu.count - 1) / gpu.count
    return rates.reduce_launch_s + moved / (rates.reduce_link_share * gpu.nvlink_bytes_per_s / 2)
