"""The prompts of a request trace as accesses to KV blocks: prefix chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.traces.accesses import Accesses
from simcore.traces.reuse import reuse_unit, units
from simcore.traces.trace import Trace, densify
from simcore.traces.turns import turns

LAST_TURN = 8  # all later ones are one category


def block_accesses(trace: Trace, block_size: int | None, *, partial_block: bool = True, output: bool = False) -> Accesses:
    """One request of accesses per request of the trace, first block to last; `chain` is set.

    An access stands for the tokens in its block and has the arrival of its request as time. Its category is the kind of that
    request: tenant and turn of the conversation (`simcore.traces.turns`), turns from the eighth on being one; the kinds that
    occur are numbered by tenant, then turn. A request without blocks keeps its place and has no access.

    Args:
        block_size: tokens of a block of the cache. The blocks are of the least common multiple of it and the trace's granule,
            since nothing smaller has an identity; None: the granule.
        partial_block, output: which blocks exist, as in `simcore.traces.reuse.units`.

    Raises:
        InputError: the block size is below 1, or no request has a block.
    """
    granule = trace.granule_tokens
    unit = granule if block_size is None else reuse_unit(block_size, granule)
    view = units(trace, unit, partial_block=partial_block, output=output)
    count = np.diff(view.start)
    covered = trace.covered_tokens() if output else trace.input_tokens.astype(np.int64)
    tokens = np.full(len(view.ids), unit, np.int64)
    filled = count > 0
    last = view.start[1:][filled] - 1
    tokens[last] = np.minimum(covered[filled] - (count[filled] - 1) * unit, unit)
    ids, n_objects = densify(view.ids)
    return Accesses(
        ids=ids,
        n_objects=n_objects,
        request_start=view.start,
        chain=True,
        tokens=tokens.astype(np.int32),
        category=np.repeat(request_kinds(trace), count),
        time_s=np.repeat(trace.arrival_s, count),
        source=f"{trace.source}, blocks of {unit} tokens",
    )


def request_kinds(trace: Trace) -> NDArray[np.int32]:
    """(n,) the kind of each request: tenant and turn."""
    kind = trace.tenant.astype(np.int64) * LAST_TURN + np.minimum(turns(trace), LAST_TURN) - 1
    return np.unique(kind, return_inverse=True)[1].astype(np.int32)
