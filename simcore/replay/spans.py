"""Cutting a trace into spans of requests, short enough to be interrupted between them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simcore.errors import InputError
from simcore.replay.setup import ORDERS
from simcore.traces.accesses import Accesses

CHUNK = 1 << 21  # accesses between two looks at the keyboard


def place(accesses: Accesses, request: int) -> int:
    """Index of the first access of a request."""
    return request if accesses.request_start is None else int(accesses.request_start[request])


def spans(accesses: Accesses, warmup: int, step: int = CHUNK, done: int = 0) -> list[tuple[int, int]]:
    """Spans of requests of at most about `step` accesses; one begins where the warm-up ends. `done` accesses came before."""
    n = accesses.n_requests
    cuts = {0, warmup, n}
    if accesses.request_start is None:
        cuts |= set(range(-done % step, n, step))
    else:
        places = np.arange(-done % step, len(accesses), step)
        cuts |= {int(r) for r in np.searchsorted(accesses.request_start, places, side="right") - 1}
    edges = sorted(cuts)
    return list(pairwise(edges))


def check_options(accesses: Accesses, order: str, warmup: int, seed: int = 0) -> None:
    """Raises:
    InputError: there is no such order, nothing is left after the warm-up, or the seed is negative.
    """
    check_seed(seed)
    if order not in ORDERS:
        raise InputError(f"must be one of {', '.join(ORDERS)}", path="order", value=order)
    if not 0 <= warmup < accesses.n_requests:
        raise InputError(f"must be below the {accesses.n_requests} requests of the trace", path="warmup", value=warmup)
    if place(accesses, warmup) == len(accesses):
        raise InputError("must leave an access: the requests after it have none", path="warmup", value=warmup)


def check_seed(seed: int) -> None:
    """Raises:
    InputError: it is negative.
    """
    if seed < 0:
        raise InputError("must be at least 0", path="seed", value=seed)
