"""What of a trace can be reused: its blocks at a cache's block size, and the hit ratio of a cache of unlimited size."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.trace import Trace, renumber

_TOO_LARGE = 1 << 62  # tokens are counted in 64 bits


class Units(NamedTuple):
    """Reuse blocks of every request, in the layout of `Trace.block_start` and `Trace.block_ids`.

    `ids[start[i]:start[i+1]]` are request i's blocks, first to last; the first `prompt_units[i]` of them lie in its prompt.
    """

    start: NDArray[np.int64]
    ids: NDArray[np.uint32]
    prompt_units: NDArray[np.int32]

    @property
    def n_ids(self) -> int:
        """Number of distinct blocks."""
        return int(self.ids.max()) + 1 if len(self.ids) else 0


class IdealHit(NamedTuple):
    """Prefix reuse of a cache of unlimited size, by request (i8 (n,)) and in total."""

    hit_tokens: NDArray[np.int64]
    hit_units: NDArray[np.int64]
    prompt_tokens: int
    prompt_units: int

    @property
    def token_ratio(self) -> float:
        """Found prompt tokens over all prompt tokens."""
        return int(self.hit_tokens.sum()) / self.prompt_tokens

    @property
    def unit_ratio(self) -> float:
        """Found prompt blocks over all prompt blocks; 0 if no prompt fills a block."""
        return int(self.hit_units.sum()) / self.prompt_units if self.prompt_units else 0.0


def reuse_unit(block_size: int, granule_tokens: int) -> int:
    """Tokens of the smallest block that both the engine and the trace can name: the least common multiple.

    Raises:
        InputError: it is 2^62 or more.
    """
    unit = math.lcm(block_size, granule_tokens)
    if unit >= _TOO_LARGE:
        raise InputError(f"is too large with granules of {granule_tokens} tokens", path="block_size", value=block_size)
    return unit


def units(trace: Trace, unit_tokens: int, *, partial_block: bool, output: bool) -> Units:
    """The trace at a block size of `unit_tokens`, a multiple of its granule (see `reuse_unit`).

    A block is named by its last granule, whose id stands for everything before it too.

    Args:
        partial_block: a prompt's trailing, partly filled block counts as a block. It has an identity only in traces without
            output ids, where it ends with the prompt; elsewhere it is left out.
        output: blocks go on over the output (whole ones only), if the trace has output ids.

    Raises:
        InputError: `unit_tokens` is not a multiple of the granule.
    """
    granule = trace.granule_tokens
    if unit_tokens < 1 or unit_tokens % granule:
        raise InputError(f"must be a multiple of the trace's granule of {granule} tokens", path="block_size", value=unit_tokens)
    prompt = trace.input_tokens.astype(np.int64)
    covered = trace.covered_tokens() if output else prompt
    keeps_tail = partial_block and not trace.has_output_ids
    tail = (covered % unit_tokens > 0) & keeps_tail
    count = covered // unit_tokens + tail
    start = np.zeros(trace.n + 1, np.int64)
    np.cumsum(count, out=start[1:])
    step = unit_tokens // granule
    within = np.arange(start[-1]) - np.repeat(start[:-1], count)
    at = np.repeat(trace.block_start[:-1], count) + (within + 1) * step - 1
    at[start[1:][tail] - 1] = trace.block_start[1:][tail] - 1
    ids, _ = renumber(trace.block_ids[at], trace.n_ids)
    return Units(start, ids, (prompt // unit_tokens + tail).astype(np.int32))


def ideal_hit(
    trace: Trace,
    unit_tokens: int | None = None,
    *,
    partial_block: bool = False,
    output: bool = True,
    recompute_last: bool = True,
    known: int = 0,
) -> IdealHit:
    """What a cache that never evicts would find, requests taken one by one in the trace's order.

    A request finds the longest run of its leading blocks that an earlier request contained.

    Args:
        unit_tokens: block size, a multiple of the granule; None: the granule.
        partial_block, output: which blocks exist, as in `units`.
        recompute_last: a prompt found whole still computes its last block, as serving engines do to get logits.
        known: all blocks of the first so many requests are there from the start.
    """
    unit = trace.granule_tokens if unit_tokens is None else unit_tokens
    view = units(trace, unit, partial_block=partial_block, output=output)
    first = np.empty(view.n_ids, np.int64)
    first[view.ids[::-1]] = np.arange(len(view.ids) - 1, -1, -1)  # of repeated indices the last one written stays
    first[view.ids[: view.start[known]]] = -1
    seen = first[view.ids] < np.repeat(view.start[:-1], np.diff(view.start))
    total = np.concatenate(([0], np.cumsum(seen)))
    hit_units = total[view.start[:-1] + view.prompt_units] - total[view.start[:-1]]
    prompt = trace.input_tokens.astype(np.int64)
    if recompute_last:
        hit_units = hit_units - (hit_units * unit >= prompt)
    hit_tokens = np.minimum(hit_units * unit, prompt)
    return IdealHit(hit_tokens, hit_units, trace.total_prompt_tokens, int(view.prompt_units.sum()))
