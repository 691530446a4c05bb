"""When loading a cached prefix beats computing it.

A prefix of p tokens holds K bytes of KV and takes F operations. On GPUs of rate G it is computed in F / G seconds and loaded in
K / B, so that loading wins above the bandwidth

    B = K G / F

Qin et al. ("Mooncake", FAST 2025, equation 2) write the same with F = l (a p^2 d + b p d^2), l layers of width d.
"""

from __future__ import annotations


def break_even_bandwidth(kv_bytes: float, operations: float, operations_per_s: float) -> float:
    """Bytes per second above which loading `kv_bytes` is faster than `operations` at that rate."""
    return kv_bytes * operations_per_s / operations


def prefill_operations(layers: int, width: int, tokens: int, *, a: float, b: float) -> float:
    """Operations of computing a prefix, by the shape of the model alone: layers * (a tokens^2 width + b tokens width^2)."""
    return layers * (a * tokens**2 * width + b * tokens * width**2)
