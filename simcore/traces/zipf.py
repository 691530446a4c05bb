"""Independent references whose popularity follows Zipf's law, made as they are read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError

_MOST_OBJECTS = (1 << 32) - 1


def zipf_stream(
    n_requests: int, n_objects: int, exponent: float, seed: int = 0, chunk: int = 1 << 22
) -> Iterator[NDArray[np.uint32]]:
    """Object numbers, u4, in arrays of `chunk` and a shorter last one. Object k is asked for with probability proportional to
    (k + 1)^-exponent; what comes depends on the seed and not on `chunk`.

    Draws are exact up to the rounding of 64-bit floats, by the alias method (Walker, Electronics Letters 10(8), 1974; tables as
    in Vose, IEEE Trans. Software Eng. 17(9), 1991). The i-th takes the i-th number of SplitMix64 (Steele, Lea and Flood, OOPSLA
    2014), so that any part of the stream could be made by itself. Memory: 12 bytes an object, 4 an entry of a chunk.

    Raises:
        InputError: a count below 1, 2^32 objects or more, or an exponent that is negative or not finite.
    """
    for name, value, most in (
        ("n_requests", n_requests, None),
        ("n_objects", n_objects, _MOST_OBJECTS),
        ("chunk", chunk, None),
    ):
        if value < 1 or (most is not None and value > most):
            rule = "must be at least 1" if most is None else f"must be between 1 and {most}"
            raise InputError(rule, path=name, value=value)
    if not 0 <= exponent < np.inf:
        raise InputError("must be at least 0 and finite", path="exponent", value=exponent)
    return _chunks(n_requests, n_objects, exponent, seed, chunk)


def _chunks(n_requests: int, n_objects: int, exponent: float, seed: int, chunk: int) -> Iterator[NDArray[np.uint32]]:
    from simcore.compiling.passes import run_pass, sealed  # heavy: only when something is drawn
    from simcore.traces.kernels import alias_draw

    share, alias = map(sealed, _tables(n_objects, exponent))
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    for first in range(0, n_requests, chunk):
        ids = np.empty(min(chunk, n_requests - first), np.uint32)
        run_pass(alias_draw, alias_draw.State(np.array([start, first], np.uint64), share, alias, ids))
        yield ids


def _tables(n_objects: int, exponent: float) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
    """Of each column, the share that is its own object's, f8 (n,), and the object of the rest, u4 (n,)."""
    from simcore.compiling.passes import run_pass
    from simcore.traces.kernels import alias_table

    share = np.arange(1, n_objects + 1, dtype=np.float64)
    np.power(share, -exponent, out=share)
    share *= n_objects / share.sum()
    alias = np.arange(n_objects, dtype=np.uint32)
    run_pass(alias_table, alias_table.State(share, alias, np.empty(n_objects, np.uint32)))
    return share, alias
