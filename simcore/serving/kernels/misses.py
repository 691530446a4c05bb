"""Why prompt tokens are not found: noted at first admission, from what is known of each block.

A block's mark says what became of it, whoever had it: FIRST_USE (no admitted request had it), IN_FLIGHT (one had, and it was
never lost), CAPACITY (it was lost, or written to a lower tier, from where only lack of room takes it), BACKED_UP or REFUSED
(its last write to a lower tier did not happen), NOT_WRITTEN (lost before it was used often enough to be written).
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import ALIGNMENT, ELSEWHERE, FIRST_USE, IN_FLIGHT, NOT_LOADED, REASONS, State

from .pool import covered_tokens
from .stores import find

KINDS = len(REASONS)


@kernel
def note_output(st: State, q: Int) -> None:
    """Request q has ended: whoever asks for the blocks of its output is not the first to use them."""
    job = st.job[q]
    for i in range(job.output_blocks):
        obj = np.int64(st.blocks[job.block + job.prompt_blocks + i])
        if st.mark[obj] == FIRST_USE:
            st.mark[obj] = IN_FLIGHT


@kernel
def seen_by(st: State, r: Int, obj: Int) -> Bool:
    """Whether the pool of r or a tier below holds block `obj`."""
    tier = np.int64(0)
    while tier <= st.par.tiers and find(st, st.tier[tier * st.par.replicas + r].store, obj) == 0:
        tier += 1
    return tier <= st.par.tiers


@kernel
def reason_of(st: State, r: Int, obj: Int, before: Int) -> Int:
    """Why block `obj`, behind the run, is not found; `before`: the reason of the block before it, which counts for one that is
    there but cannot be reached."""
    if st.mark[obj] == FIRST_USE:
        return np.int64(FIRST_USE)
    if seen_by(st, r, obj):
        return before
    for s in range(len(st.store)):
        if find(st, s, obj) != 0:
            return np.int64(ELSEWHERE)
    return np.int64(st.mark[obj])


@kernel
def note_missed(st: State, r: Int, q: Int) -> None:
    """Request q is about to be admitted for the first time with st.found: give each token that is not found its reason."""
    job = st.job[q]
    blocks = np.int64(job.prompt_blocks)
    covered = covered_tokens(st, q, blocks)
    reason = np.int64(ALIGNMENT)
    for i in range(st.found.hits, blocks):
        obj = np.int64(st.blocks[job.block + i])
        if i < st.found.run:
            reason = np.int64(NOT_LOADED)
        elif st.par.recompute_last and i == blocks - 1 and covered >= job.prompt and st.mark[obj] != FIRST_USE:
            reason = np.int64(ALIGNMENT)
        else:
            reason = reason_of(st, r, obj, reason)
        st.missed[q * KINDS + reason] += covered_tokens(st, q, i + 1) - covered_tokens(st, q, i)
    if blocks == 0 or st.mark[np.int64(st.blocks[job.block + blocks - 1])] != FIRST_USE:
        reason = np.int64(ALIGNMENT)
    st.missed[q * KINDS + reason] += job.prompt - covered
    for i in range(blocks):
        obj = np.int64(st.blocks[job.block + i])
        if st.mark[obj] == FIRST_USE:
            st.mark[obj] = IN_FLIGHT
