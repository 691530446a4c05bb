"""Kernels of vLLM 0.24.0 (FlashAttention-3, 16 bit) measured one at a time on H100 and H200.

The tables of NVIDIA's aiconfigurator (ai-dynamo/aiconfigurator, systems/data/<gpu>, Apache-2.0): milliseconds of prefill
attention by prompt length, decode attention by batch and context, matrix products by rows, all-reduce by bytes. Head size 128.
Our rates were fitted to the H100 rows, so that those show how well the form fits; the H200 rows were not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from simcore.presets import gpu
from simcore.roofline.kernels import all_reduce_s, decode_attention_s, gemm_s, prefill_attention_s
from simcore.units import KIB, MIB
from simcore.validation.case import Case, series

SYSTEM = "vLLM kernels"
SOURCE = "ai-dynamo/aiconfigurator systems/data, vLLM 0.24.0, 2026-10"
FITTED = "the H100 rows of vLLM kernels"
TOLERANCE = 0.15
HEAD_DIM = 128
GPUS = {"H100": "h100-sxm", "H200": "h200"}

PREFILL_MS = {  # (query heads, KV heads), tokens
    (32, 8): {
        "H100": {1024: 0.0355, 2048: 0.0890, 4096: 0.264, 8192: 0.912, 16384: 3.310},
        "H200": {1024: 0.0353, 2048: 0.0874, 4096: 0.268, 8192: 0.938, 16384: 3.371},
    },
    (64, 8): {
        "H100": {1024: 0.0567, 2048: 0.162, 4096: 0.486, 8192: 1.835, 16384: 7.188},
        "H200": {1024: 0.0563, 2048: 0.157, 4096: 0.564, 8192: 1.817, 16384: 6.767},
    },
}
DECODE_MS = {  # 32 query heads, 8 KV heads; (sequences, context)
    "H100": {
        (1, 1024): 0.0136, (1, 8192): 0.0198, (1, 32768): 0.0677, (1, 65536): 0.1171,
        (32, 1024): 0.0598, (32, 4096): 0.1859, (32, 8192): 0.3543, (32, 16384): 0.6886,
        (64, 1024): 0.1194, (64, 4096): 0.3536, (64, 8192): 0.6882,
    },
    "H200": {
        (1, 1024): 0.0136, (1, 8192): 0.0189, (1, 32768): 0.0499, (1, 65536): 0.0843,
        (32, 1024): 0.0468, (32, 4096): 0.1355, (32, 8192): 0.2694, (32, 16384): 0.4940,
        (64, 1024): 0.0807, (64, 4096): 0.2709, (64, 8192): 0.4908,
    },
}  # fmt: skip
GEMM_MS = {  # (n, k), rows
    (6144, 4096): {
        "H100": {1: 0.0199, 256: 0.0264, 1024: 0.0653, 8192: 0.5357},
        "H200": {1: 0.0161, 256: 0.0221, 1024: 0.0648, 8192: 0.5068},
    },
    (8192, 7168): {
        "H100": {1: 0.0405, 256: 0.0541, 1024: 0.1407, 8192: 1.4235},
        "H200": {1: 0.0309, 256: 0.0429, 1024: 0.1445, 8192: 1.2980},
    },
}
ALL_REDUCE_MS = {  # 8 GPUs, bytes
    "H100": {64 * KIB: 0.0079, MIB: 0.0194, 32 * MIB: 0.344},
    "H200": {64 * KIB: 0.0079, MIB: 0.0181, 32 * MIB: 0.323},
}


def cases() -> list[Case]:
    found: list[Case] = []
    for name in GPUS:
        for heads, prefill in PREFILL_MS.items():
            points = {f"{tokens:,} tokens": ms for tokens, ms in prefill[name].items()}
            found += _rows(name, f"prefill attention, {heads[0]} heads", points, partial(_prefill, name, heads))
        decode = {f"{n} x {tokens:,} tokens": ms for (n, tokens), ms in DECODE_MS[name].items()}
        found += _rows(name, "decode attention", decode, partial(_decode, name))
        for shape, gemm in GEMM_MS.items():
            points = {f"{rows:,} rows": ms for rows, ms in gemm[name].items()}
            found += _rows(name, f"matrix product, {shape[1]} by {shape[0]}", points, partial(_gemm, name, shape))
        reduce = {f"{size // KIB:,} KiB": ms for size, ms in ALL_REDUCE_MS[name].items()}
        found += _rows(name, "all-reduce over 8 GPUs", reduce, partial(_reduce, name))
    return found


def _rows(name: str, kernel: str, points: Mapping[str, float], ours: Callable[[], list[float]]) -> list[Case]:
    fitted = FITTED if name == "H100" else None
    return series(f"{name} {kernel}", points, ours, unit="ms", tolerance=TOLERANCE, fitted_on=fitted)


def _prefill(name: str, heads: tuple[int, int]) -> list[float]:
    spec = gpu(GPUS[name])
    return [1e3 * prefill_attention_s(spec, tokens, heads[0], HEAD_DIM) for tokens in PREFILL_MS[heads][name]]


def _decode(name: str) -> list[float]:
    spec = gpu(GPUS[name])
    return [1e3 * decode_attention_s(spec, n, tokens, 8, HEAD_DIM) for n, tokens in DECODE_MS[name]]


def _gemm(name: str, shape: tuple[int, int]) -> list[float]:
    spec, (n, k) = gpu(GPUS[name]), shape
    return [1e3 * gemm_s(spec, rows, n, k) for rows in GEMM_MS[shape][name]]


def _reduce(name: str) -> list[float]:
    spec = gpu(GPUS[name], count=8)
    return [1e3 * all_reduce_s(spec, size) for size in ALL_REDUCE_MS[name]]
