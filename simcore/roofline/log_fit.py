"""Bytes per sequence and per token from what engines log, for a model whose layers nobody describes.

An engine prints tokens T = (requests of length L that fit in the pool) * L, so

    pool * L / T = a + b * L        a bytes per sequence, b bytes per token

and pool / T alone is not a rate where a is not 0: for one checkpoint it was seen between 4 and 93 KiB per token, by L only
(vllm-project/vllm#51041).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simcore.errors import InputError


class LogFit(NamedTuple):
    """Footprint of a sequence of n tokens, `bytes_per_sequence + n * bytes_per_token`, and the largest relative residual."""

    bytes_per_sequence: float
    bytes_per_token: float
    residual: float


def fit_footprint(pool_bytes: int, lines: Sequence[tuple[int, int]]) -> LogFit:
    """The two terms that explain logged (tokens, longest request) pairs of one pool.

    Raises:
        InputError: fewer than two different lengths, or no footprint explains them (both terms must be at least 0).
    """
    lengths = np.array([length for _, length in lines], np.float64)
    if len(set(lengths)) < 2:
        rule = "must be of two or more lengths: one line gives a ratio, not a rate"
        raise InputError(rule, value=", ".join(f"{tokens}@{length}" for tokens, length in lines))
    request = pool_bytes * lengths / np.array([tokens for tokens, _ in lines], np.float64)
    design = np.column_stack([np.ones_like(lengths), lengths])
    # relative errors count: lengths differ by orders of magnitude
    found, *_ = np.linalg.lstsq(design / request[:, None], np.ones_like(request), rcond=None)
    fixed, token = (float(value) for value in found)
    if min(fixed, token) < -1e-9 * float(request.max()):
        rule = f"fit no footprint: {fixed:,.0f} B a sequence and {token:,.1f} B a token; the pools must be the same"
        raise InputError(rule, value=", ".join(f"{tokens}@{length}" for tokens, length in lines))
    residual = float(np.abs(design @ found / request - 1).max())
    return LogFit(max(0.0, fixed), max(0.0, token), residual)
