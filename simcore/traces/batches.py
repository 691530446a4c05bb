"""Batches of accesses, and in-batch deduplication: what embedding servers do before they look rows up."""

from __future__ import annotations

import numpy as np

from simcore.errors import InputError
from simcore.traces.accesses import Accesses


def batched(accesses: Accesses, size: int) -> Accesses:
    """Every `size` requests in a row (accesses, if they are not grouped) become one request; the last may hold fewer.

    Raises:
        InputError: size below 1, or prefix chains, whose requests stand for themselves.
    """
    if size < 1:
        raise InputError("must be at least 1", path="batch_size", value=size)
    if accesses.chain:
        raise InputError("requests that are prefix chains cannot be joined", path="batch_size", value=size)
    n = accesses.n_requests
    ends = np.append(np.arange(0, n, size, dtype=np.int64), n)
    start = ends if accesses.request_start is None else accesses.request_start[ends]
    return accesses.with_columns(request_start=start, source=f"{accesses.source}, batches of {size}")


def deduplicated(accesses: Accesses) -> Accesses:
    """Of the accesses of each request to one object only the first stays, with its own size, time and so on.

    The objects and the number of requests are the same. Accesses that are not grouped come back unchanged.
    """
    start = accesses.request_start
    if start is None:
        return accesses
    from simcore.compiling.passes import run_pass, sealed  # heavy: only when accesses are worked on
    from simcore.traces.kernels import first_in_request

    kept = np.empty(len(accesses), np.bool_)
    new_start = np.zeros(len(start), np.int64)
    seen = np.full(accesses.n_objects, -1, np.int64)
    run_pass(first_in_request, first_in_request.State(sealed(accesses.ids), sealed(start), seen, kept, new_start))
    if kept.all():
        return accesses
    names = ("ids", "sizes", "tokens", "category", "time_s")
    columns = {name: column[kept] for name in names if (column := getattr(accesses, name)) is not None}
    source = f"{accesses.source}, repeats within a request left out"
    return accesses.with_columns(**columns, request_start=new_start, source=source)
