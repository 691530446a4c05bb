"""The state of the serving engine: flat record arrays, joined in one NamedTuple that every kernel takes as `st`.

Times are integer picoseconds, so that many steps at once take exactly as long as the same steps one by one. Records are named
after what they describe; a field that is an index into another array carries that array's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from simcore.declared import object_fields, record, slot_fields, store_fields

PICOSECONDS = 1_000_000_000_000
NEVER = 1 << 62  # later than any time
LATEST = 1 << 61  # arrivals and clocks beyond this are refused (26 days)
NONE = -1  # no request
LOAD_WINDOW = 1_000_000_000  # picoseconds (1 ms) over which the utilisation of a link counts
LOAD_LEVELS = 1024  # steps of utilisation
ON_EVICTION = -1  # instead of the uses after which a tier gets a copy of a block: it takes what is evicted above

# state of a request
WAITING, LOADING, PREFILL, DECODE, DONE, REJECTED, TRAVELLING = 0, 1, 2, 3, 4, 5, 6
# load rules, arrivals, routers and victims of preemption, in the order of their names in lower.py
ALWAYS, NEVER_LOAD, CHEAPER, THRESHOLD = 0, 1, 2, 3
OPEN, CLOSED, BACKLOG = 0, 1, 2
# how a request is chained (job.chained), and the last kind that counts (par.chains) in an open loop, a closed one, a backlog
CHAINED, CHAINED_TO_EARLIER_WAVE, UNCHAINED = 1, 2, 3
CHAINS = (CHAINED_TO_EARLIER_WAVE, CHAINED, 0)
LAST_ADMITTED, LEAST_COMPUTED = 0, 1
ROUND_ROBIN, LEAST_LOADED, PREFIX_AWARE, SESSION, GORGO = 0, 1, 2, 3, 4
NO_PREFETCH, BEST_EFFORT, WAIT, TIMEOUT = 0, 1, 2, 3
# why prompt tokens were not found at first admission; up to NOT_WRITTEN also what is known of a block, if the setup asks for it
FIRST_USE, IN_FLIGHT, CAPACITY, BACKED_UP, REFUSED, NOT_WRITTEN, ELSEWHERE, NOT_LOADED, ALIGNMENT = range(9)
REASONS = (
    *("first_use", "in_flight", "capacity", "write_backlog", "write_refused", "not_written"),
    *("other_replica", "not_loaded", "alignment"),
)
# why a run stopped early
FINE, TOO_MANY_EVENTS, TOO_LATE, NO_VICTIM, STUCK = 0, 1, 2, 3, 4

_I8, _I4, _U8, _U4, _U1, _F8 = np.int64, np.int32, np.uint64, np.uint32, np.uint8, np.float64


def _fields(names: str, kind: type[np.generic]) -> list[tuple[str, type[np.generic]]]:
    return [(name, kind) for name in names.split()]


PAR = np.dtype(  # one record: every knob and cost
    _fields("requests replicas tiers waves unit page unit_pages pool_pages budget max_seqs chunked router", _I8)
    + _fields("max_length stream priority classes victim reserve swap_pages swap_read swap_write", _I8)
    + _fields("contiguous pool_order largest_order", _I8)
    + _fields("yielded yield_shift verified spare_tokens", _I8)  # speculative decoding; without: 1, 0, 1, 0
    + _fields("arrivals chains concurrency stagger load_rule min_load max_waiting recompute_last output_reuse copies", _I8)
    + _fields("write_backlog kv seq response leap quiet_eviction counts_uses max_events note_misses", _I8)
    + _fields("overlap prefetch prefetch_timeout regions max_load_gap quotas tenants", _I8)
    + _fields(
        "entries hand_over", _I8
    )  # replicas that requests are routed to: the first ones; the others decode, time of a page
    + _fields("pair draft min_match max_load_ratio running_weight", _F8)
)
STAT = np.dtype(  # one record: progress and totals
    _fields("fault acting clock now end events steps prefill_steps prefill_tokens ended decode_tokens", _I8)
    + _fields("turn routed next_request done rejected wave wave_left wave_open seen chained_n preemptions", _I8)
    + _fields("places started leaving_head leaving_tail", _I8)  # closed loop: free clients, those started, about to be free
    + _fields("arrived swaps swapped_out swapped_in handed_over", _I8)
    + _fields("full_steps full_tokens", _I8)  # decode steps that began with requests waiting, and the contexts then
)
JOB = np.dtype(  # (n,) what a trace says of a request; shared by all runs on it
    _fields("arrival think block", _I8)
    + _fields("prompt output prompt_blocks output_blocks follower wave session", _I4)
    + [("chained", _U1)],
    align=True,
)
REQUEST = np.dtype(  # (n,) what happens to it; what is used together stands together: a record is several cache lines
    _fields("state", _U1)
    + _fields("arrival replica class_ order", _I8)
    + _fields("work network", _I8)  # tokens to prefill, as its router saw it; time from its client to its replica
    + _fields("behind run_prev run_next", _I8)  # queue, or list of the ended or the leaving; list of the admitted
    + _fields("target computed held pages generated joined", _I8)
    + _fields("since prefill first finish admitted ready", _I8)  # `since`: when a phase began; time in it, loading left out
    + _fields("preemptions swapped recomputed peak", _I8)  # `swapped`: pages in swap space (or on the prefill replica)
    + _fields("load_start load_wait queue_again prefill_again copied", _I8)  # `copied`: when the swapped pages are there
    + _fields("source left transfer", _I8)  # prefill replica that holds its KV, or NONE; since when; how long it was
    + _fields("order_pages room", _I8),  # contiguous: its region has 2^order_pages pages, and is entry `room` of st.room
    align=True,
)
REPLICA = np.dtype(  # (R,)
    _fields("start busy busy_time steps prefill step decoding context step_base", _I8)
    + _fields("private promised blocked current pairs load_until completed_n", _I8)
    + _fields("queue_head queue_n run_tail run_n ended_head ended_tail load_n packet_n", _I8)
    + _fields("region travelling work_waiting work_running", _I8)
    + _fields("swap_n swap_used sending waiting tick", _I8)  # tick: decode steps; step: tokens of each in them
)
TIER = np.dtype(
    _fields("store read write inclusive copy_after shared", _I8)
)  # (T+1, R) a replica's view of each tier; row 0 is HBM
LINK = np.dtype(  # one direction of a device or host link; loaded: place of its latencies in st.loaded, 0: one latency
    _fields("free block latency blocks loaded recent", _I8)
)
SHARE = np.dtype(_fields("held quota", _I8) + _fields("head tail", _U4), align=True)  # (S * tenants,) of a store's blocks
OWN = np.dtype(_fields("prev next", _U4))  # of a slot: links to the owner's other unpinned blocks, by last use
HEAP = np.dtype(_fields("key value", _I8))
PLAN = np.dtype([("tier", _I8), ("ready", _I8), ("slot", _U4)], align=True)  # scratch: where each block of a prompt is
FOUND = np.dtype(_fields("hits run leading resident idle ready", _I8))  # scratch: what a look-up found
_STORE = [
    *_fields("map objects words reals random", _U8),
    *_fields("first free fresh policy spare spares slots", _U4),
    *_fields("opened at_start cap used count idle lookups hits readmission_lookups readmission_hits", _I8),
    *_fields("in_computed in_loaded in_demoted in_written out_evicted out_promoted out_dropped writes_refused", _I8),
]
_NODE = [("prev", _U4), ("next", _U4), ("obj", _U4), ("pins", _U4), ("ready", _I8)]


COLUMNS: dict[str, type[np.generic]] = {  # what this engine can tell a policy of an access, by name in its NEEDS
    "depth": _I4,
    "category": _I4,
    "request": _I8,
    "clock": _I8,
    "time_s": _F8,
}
KNOWN = np.dtype(_fields("depth category user", _I4))  # (ids,) of a block: its place in the request that last used it, and that


def store_dtype(policies: Sequence[Any]) -> np.dtype[Any]:
    """Record of a store; each has one of the policies."""
    return record(_STORE, store_fields(policies), shared=True)


def event_dtype(policies: Sequence[Any]) -> np.dtype[Any]:
    """Record of the current access: what some policy needs to know of it."""
    return record([(name, kind) for name, kind in COLUMNS.items() if any(name in p.NEEDS for p in policies)], [])


def node_dtype(policies: Sequence[Any]) -> np.dtype[Any]:
    """Record of a slot."""
    return record(_NODE, slot_fields(policies), shared=True)


def object_dtype(policies: Sequence[Any]) -> np.dtype[Any]:
    """Record of a block, present or absent, in one store."""
    return record([], object_fields(policies), shared=True)


Records = Any  # a recarray, or one record of it


class State(NamedTuple):
    """Everything a run reads and writes. n requests, R replicas, T lower tiers, S stores (R pools, then the tiers')."""

    par: Records
    stat: Records
    found: Records
    job: Records  # (n,)
    request: Records  # (n,)
    hit_tokens: Any  # i8 (n * (T+1),) tokens found at first admission, by tier
    missed: Any  # i8 (n * reasons,) tokens not found at first admission, by reason; (0,) if nobody asks
    mark: Any  # u1 (ids,) what is known of a block, whoever has it: FIRST_USE to NOT_WRITTEN; (0,) if nobody asks
    replica: Records  # (R,)
    next: Any  # i8 (R,) when the step of each replica ends, or may start; apart, since all of them are read at every event
    queue_tail: Any  # i8 (R * classes,) last waiting request of each class of priority, or NONE
    room: Any  # i8 (R * 2 * 2^pool_order,) contiguous: a tree of free regions for each replica; (0,) if paged
    phase: Any  # i8 (R * page,) decoding sequences by (private tokens - replica.step) mod page
    tier: Records  # ((T+1) * R,)
    link: Records
    store: Records  # (S,)
    node: Records  # slots of all stores; slot 0 of each map entry = absent
    slot: Any  # u4 (S * ids,) block -> its slot in a store, 0 = absent
    uses: Any  # u4 (slots,) requests that were through with the block since it entered its pool; (1,) if no tier asks
    event: Records  # (1,) the current access
    known: Records  # (ids,), (1,) if no policy needs it
    category: Any  # i4 (n,) kind of each request; (1,) likewise
    object: Records  # (S * ids,) what policies know of blocks, present or absent; (1,) if none asks for it
    words: Any  # u4, of the policies
    reals: Any  # f8, of the policies
    heap: Records  # R x max_seqs decoding, as many loading; n chained; R x max_seqs first packets, as many swapped (or 0)
    completed: Any  # u4 (R * budget,) blocks that the prefill of each replica's running step completes
    plan: Records  # (longest prompt in blocks,)
    plan_free: Any  # i8 (2 * (T+1),) scratch: when each tier's read link would be free; then how busy it would have been
    loaded: Any  # i8, [0] unused: latency of reads by utilisation, LOAD_LEVELS + 1 entries for each tier with such a curve
    blocks: Any  # u4: of each request its prompt's blocks, then those of its output
    wave_start: Any  # i8 (waves+1,) first request of each wave
    share: Records  # (S * tenants,) with quotas, else (1,)
    own: Records  # slots of all stores with quotas, else (1,)
    owner: Any  # u4 (ids,) tenant that each block belongs to, with quotas; else (1,)
    home: Any  # i8 (sessions,) replica of each session, NONE at first; (1,) unless sessions are routed
    client: Any  # i8 (n,) region of each request's client; (1,) without regions
    one_way: Any  # i8 (regions * regions,) from a client's region to a replica's
    lin: Any  # i8 (budget+1,) time of a step by its tokens
