"""What generators share: token streams cut into granule ids, and the load a workload asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.trace import Trace, int32
from simcore.workloads.amounts import uniforms
from simcore.workloads.arrivals import start_times
from simcore.workloads.spec import TraceWorkload, WorkloadSpec

GRANULE_TOKENS = 16
"""Tokens of one granule of a generated trace: the block size most engines default to."""

_MAX_GRANULES = 2 * 10**8
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def chain_ids(
    head: Ints, head_tokens: Ints, stream: Ints, covered_tokens: Ints, granule: int = GRANULE_TOKENS
) -> tuple[Ints, NDArray[np.uint32], int]:
    """Granule ids of requests whose prompts and answers are prefixes of growing streams that begin with a shared head.

    Args:
        head: (n,) the head each request's stream begins with.
        head_tokens: (n,) its length, below `covered_tokens`, the same for all requests of one head.
        stream: (n,) the stream; requests of one stream have the same head and are prefixes of one another.
        covered_tokens: (n,) prompt plus output.

    Returns:
        block_start (n+1,), block_ids and the number of ids. Whole granules of the head belong to the head, later whole ones to
        the stream, and a partly filled last one to the request alone.
    """
    shared = head_tokens // granule
    whole = covered_tokens // granule
    partial = (covered_tokens % granule > 0).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(whole + partial)))
    if start[-1] > _MAX_GRANULES:
        rule = f"workload too large: {start[-1]} blocks of {granule} tokens"
        raise InputError(rule, hint="ask for fewer requests or shorter prompts")
    head_first, n_head = _reserve(head, shared, 0)
    own_first, n_own = _reserve(stream, whole - shared, n_head)
    partial_first = n_own + np.cumsum(partial) - partial
    length = np.stack([shared, whole - shared, partial], axis=1).ravel()
    first = np.stack([head_first, own_first, partial_first], axis=1).ravel()
    begin = np.cumsum(length) - length
    ids = (np.arange(start[-1]) + np.repeat(first - begin, length)).astype(np.uint32)
    return start, ids, int(n_own + partial.sum())


def _reserve(owner: Ints, length: Ints, base: int) -> tuple[Ints, int]:
    """Give every owner as many consecutive ids as its longest request needs: first id by request, and the next free id."""
    need = np.zeros(int(owner.max()) + 1, np.int64)
    np.maximum.at(need, owner, length)
    first = base + np.cumsum(need) - need
    return first[owner], base + int(need.sum())


def stream_trace(
    *,
    arrival_s: Floats,
    prompt: Ints,
    output: Ints,
    stream: Ints,
    tenant: Ints,
    head_tokens: Ints,
    after: Ints,
    think_s: Floats,
    wave: Ints,
    source: str,
) -> Trace:
    """A trace of requests given in any order (`after` counts in it), put in order of wave, arrival, and as given.

    All arrays are (n,). A request's tokens are a prefix of its `stream`, which begins with the `head_tokens` of its tenant.
    """
    n = len(prompt)
    arrival_s, think_s = np.round(arrival_s, 6), np.round(think_s, 6)  # libraries of other CPUs differ in the last bit
    order = np.lexsort((arrival_s, wave))
    place = np.full(n + 1, -1, np.int64)  # the extra entry, read by index -1, keeps "unchained"
    place[order] = np.arange(n)
    block_start, block_ids, n_ids = chain_ids(tenant[order], head_tokens[order], stream[order], (prompt + output)[order])
    return Trace(
        arrival_s=arrival_s[order],
        input_tokens=int32("input_tokens", prompt[order]),
        output_tokens=int32("output_tokens", output[order]),
        block_start=block_start,
        block_ids=block_ids,
        n_ids=n_ids,
        granule_tokens=GRANULE_TOKENS,
        after=int32("after", place[after][order]),
        think_s=think_s[order],
        session=int32("session", stream[order]),
        tenant=int32("tenant", tenant[order]),
        wave=int32("wave", wave[order]),
        has_output_ids=True,
        source=source,
    )


def offered(trace: Trace, workload: WorkloadSpec) -> Trace:
    """The trace as the workload offers it: its first `requests`, at its `request_rate`."""
    limited = trace if workload.requests is None else trace.first(workload.requests)
    return limited if workload.request_rate is None else limited.scaled_to_rate(workload.request_rate)


def replayed(trace: Trace, workload: TraceWorkload) -> Trace:
    """A recorded trace as the workload offers it: drawn think times and arrivals, its own times scaled, its rate."""
    trace = trace if workload.requests is None else trace.first(workload.requests)
    think_s = None
    if workload.think_time is not None:
        think_s = workload.think_time.draw(uniforms(workload.seed, "think", trace.n))
    if workload.arrivals is not None:
        return trace.rescheduled(_drawn_starts(trace, workload), think_s)
    if think_s is not None or workload.time_scale != 1:
        trace = trace.rescheduled(trace.arrival_s[trace.after < 0] * workload.time_scale, think_s)
    return offered(trace, workload)


def _drawn_starts(trace: Trace, workload: TraceWorkload) -> Floats:
    """Arrivals of the unchained requests. Sessions begin by the process, over requests / request_rate seconds; what arrives
    unchained in the course of a session (subagents) keeps its distance from the session's beginning."""
    assert workload.request_rate is not None
    roots = np.flatnonzero(trace.after < 0)
    _, first, session = np.unique(trace.session[roots], return_index=True, return_inverse=True)
    begin_s = np.empty(len(first))
    begin_s[np.argsort(first)] = start_times(workload.arrivals, workload.seed, "arrival", len(first))
    if len(first) == 1:
        raise InputError("one session has no rate", path="request_rate", value=workload.request_rate)
    begin_s *= trace.n / (workload.request_rate * begin_s.max())
    offset_s = trace.arrival_s[roots] - trace.arrival_s[roots][first][session]
    return begin_s[session] + offset_s
