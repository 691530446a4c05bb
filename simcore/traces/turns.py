"""Which turn of its conversation a request is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.traces.trace import Trace


def turns(trace: Trace) -> NDArray[np.int32]:
    """i4 (n,): 1 for the first request of a conversation, 2 for the next, and so on.

    Where sessions have several requests, a conversation is a session; otherwise, where requests follow each other (`after`),
    such a chain. Otherwise it is derived: a request continues the latest one whose prompt it begins with, counted in whole
    granules, the longest such prompt first. Prompts of a single granule are left out, since that may be all that a system
    prompt leaves of different conversations.
    """
    from simcore.compiling.passes import run_pass, sealed  # heavy: only when a trace is worked on
    from simcore.traces.kernels import turn as kernel

    previous = _known(trace)
    result = np.empty(trace.n, np.int32)
    whole = trace.input_tokens.astype(np.int64) // trace.granule_tokens
    ended = np.zeros(trace.n_ids, np.int32)
    given = {"ids": trace.block_ids, "start": trace.block_start, "whole": whole, "previous": previous}
    arrays = {name: sealed(array) for name, array in given.items()}
    run_pass(kernel, kernel.State(**arrays, ended=ended, turn=result))
    return result


def _known(trace: Trace) -> NDArray[np.int64]:
    """i8 (n,): the request before each in its conversation, or -1; empty if the trace does not tell."""
    order = np.argsort(trace.session, kind="stable")
    again = np.flatnonzero(trace.session[order[1:]] == trace.session[order[:-1]])
    if len(again):
        previous = np.full(trace.n, -1, np.int64)
        previous[order[again + 1]] = order[again]
        return previous
    return trace.after.astype(np.int64) if (trace.after >= 0).any() else np.zeros(0, np.int64)
