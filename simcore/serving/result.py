"""What a serving run yields, and how it is read off the final state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.serving.setup import HAND_OVER, ServingSetup
from simcore.serving.state import PICOSECONDS, REJECTED, State


@dataclass(frozen=True)
class StoreFlow:
    """Blocks of one tier (name "hbm", or the tier's), summed over its stores.

    A request asks each tier, top to bottom, for the prompt blocks that the tiers above did not give: lookups = hits + misses.
    First admissions only; what was asked again after a preemption is in `readmission_*`. Hits below HBM count blocks loaded;
    blocks found but not loaded (load rule) are misses.

    In: `in_computed` by prefill, or at the end of a request by its output (HBM only); `in_loaded` from a tier below (HBM; by
    prefetch the first below it); `in_demoted` evicted above (written back); `in_written` copied (written through).
    Out: `out_evicted` and still held by a tier below; `out_dropped`, evicted and held by none below; `out_promoted` to HBM.
    `writes_refused`: blocks that did not come in since the links were backed up or the policy kept what it had.
    At start + in = out + resident.
    """

    name: str
    capacity_blocks: int
    resident_blocks: int
    at_start: int
    lookups: int
    hits: int
    misses: int
    readmission_lookups: int
    readmission_hits: int
    in_computed: int
    in_loaded: int
    in_demoted: int
    in_written: int
    out_evicted: int
    out_dropped: int
    out_promoted: int
    writes_refused: int


@dataclass(frozen=True)
class LinkFlow:
    """Blocks over one kind of link (name "host", or the tier's), summed over its links, and the seconds they kept it busy.

    What sequences move as a whole ("hand_over" does nothing else; "host" when they are swapped) is in the seconds only.
    """

    name: str
    links: int
    read_blocks: int
    written_blocks: int
    read_busy_s: float
    write_busy_s: float


@dataclass(frozen=True, eq=False)
class ServingResult:
    """n requests in the trace's order, T lower tiers, R replicas. Times in seconds from the start of the run.

    Attributes:
        arrival_s: f8 (n,), when it arrived (chained and closed-loop requests: as it came about).
        first_token_s, finish_s: f8 (n,), when its client had the first and the last token, `request_s` and the way back after
            the engine; NaN if rejected.
        network_s: f8 (n,), the way from client to replica and back.
        replica: i8 (n,), that it was routed to; -1 if rejected.
        rejected: bool (n,), prompt and output can never fit into the pool.
        hit_tokens: i8 (n, 1+T), prompt tokens found at first admission, by tier (column 0 is HBM); loaded, if below HBM.
        queue_s: f8 (n,), from arrival at its replica to first admission; NaN if rejected.
        load_s: f8 (n,), spent waiting for blocks to be loaded, over all admissions.
        transfer_s: f8 (n,), with prefill replicas: from the end of its prefill until all its KV is on its decode replica, the
            wait for room there included.
        queue_again_s, prefill_s, prefill_again_s, decode_s: f8 (n,), the rest of its time: waiting again after preemptions;
            from admission (or the end of its load) to the end of its prefill, before and after the first preemption; decoding.
            With `queue_s`, `load_s`, `transfer_s`, `network_s` and `request_s` they add up to the time from arrival to finish.
            NaN if rejected.
        missed_tokens: i8 (n, reasons), prompt tokens not found at first admission, by reason, in the order of
            `state.REASONS`; with `hit_tokens` they add up to the prompt. (n, 0) unless the setup says `note_misses`.
        preemptions: i8 (n,).
        full_steps, full_tokens: decode steps that began with requests waiting, and the tokens of their decoding sequences.
        handed_over_pages: what moved from prefill to decode replicas.
        swaps: how many of the preemptions went to swap space; swapped_out_pages, swapped_in_pages: what moved there and back.
        recomputed_tokens: i8 (n,), tokens computed again after preemptions.
        stores, links: by name, top to bottom.
        busy_s: f8 (R,), time each replica spent in steps.
        steps, prefill_steps: steps of all replicas, and those with prefill in them.
        prefill_tokens, decode_tokens: tokens computed in prefill and by decoding.
        events: what the event loop did; the one figure that depends on leaping.
        end_s: when the last step ended; 0 without any.
    """

    arrival_s: NDArray[np.float64]
    first_token_s: NDArray[np.float64]
    finish_s: NDArray[np.float64]
    network_s: NDArray[np.float64]
    replica: NDArray[np.int64]
    rejected: NDArray[np.bool_]
    hit_tokens: NDArray[np.int64]
    queue_s: NDArray[np.float64]
    load_s: NDArray[np.float64]
    transfer_s: NDArray[np.float64]
    queue_again_s: NDArray[np.float64]
    prefill_s: NDArray[np.float64]
    prefill_again_s: NDArray[np.float64]
    decode_s: NDArray[np.float64]
    missed_tokens: NDArray[np.int64]
    preemptions: NDArray[np.int64]
    recomputed_tokens: NDArray[np.int64]
    full_steps: int
    full_tokens: int
    handed_over_pages: int
    swaps: int
    swapped_out_pages: int
    swapped_in_pages: int
    stores: dict[str, StoreFlow]
    links: dict[str, LinkFlow]
    busy_s: NDArray[np.float64]
    steps: int
    prefill_steps: int
    prefill_tokens: int
    decode_tokens: int
    events: int
    end_s: float


def collect(setup: ServingSetup, st: State) -> ServingResult:
    """The result of a finished run."""
    request, stat = st.request, st.stat
    rejected = np.asarray(request["state"] == REJECTED)
    response = int(st.par.response)
    before = sum(request[field] for field in ("load_wait", "queue_again", "prefill", "prefill_again", "transfer"))
    return ServingResult(
        arrival_s=_seconds(request["arrival"]),
        first_token_s=_seconds(request["first"] + response + request["network"], rejected),
        finish_s=_seconds(request["finish"] + response + request["network"], rejected),
        network_s=_seconds(2 * request["network"]),
        replica=np.array(request["replica"]),
        rejected=rejected,
        hit_tokens=st.hit_tokens.reshape(len(request), -1),
        queue_s=_seconds(request["admitted"] - request["arrival"] - request["network"], rejected),
        load_s=_seconds(request["load_wait"]),
        transfer_s=_seconds(request["transfer"], rejected),
        queue_again_s=_seconds(request["queue_again"], rejected),
        prefill_s=_seconds(request["prefill"], rejected),
        prefill_again_s=_seconds(request["prefill_again"], rejected),
        decode_s=_seconds(request["finish"] - request["admitted"] - before, rejected),
        missed_tokens=st.missed.reshape(len(request), -1),
        preemptions=np.array(request["preemptions"]),
        recomputed_tokens=np.array(request["recomputed"]),
        full_steps=int(stat.full_steps),
        full_tokens=int(stat.full_tokens),
        handed_over_pages=int(stat.handed_over),
        swaps=int(stat.swaps),
        swapped_out_pages=int(stat.swapped_out),
        swapped_in_pages=int(stat.swapped_in),
        stores={flow.name: flow for flow in _store_flows(setup, st)},
        links={flow.name: flow for flow in _link_flows(setup, st)},
        busy_s=_seconds(st.replica["busy_time"]),
        steps=int(stat.steps),
        prefill_steps=int(stat.prefill_steps),
        prefill_tokens=int(stat.prefill_tokens),
        decode_tokens=int(stat.decode_tokens),
        events=int(stat.events),
        end_s=int(stat.end) / PICOSECONDS,
    )


def _seconds(picoseconds: Any, absent: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    seconds = np.asarray(picoseconds) / PICOSECONDS
    if absent is not None:
        seconds[absent] = np.nan
    return seconds


def _members(setup: ServingSetup, st: State) -> list[tuple[str, NDArray[np.int64]]]:
    """Of each tier its name and its stores."""
    view = st.tier["store"].reshape(len(setup.tiers) + 1, setup.replicas)
    names = ("hbm", *(tier.name for tier in setup.tiers))
    return [(name, np.unique(stores)) for name, stores in zip(names, view, strict=True)]


def _store_flows(setup: ServingSetup, st: State) -> list[StoreFlow]:
    flows = []
    for name, members in _members(setup, st):
        stores = st.store[members]
        total = {field: int(stores[field].sum()) for field in StoreFlow.__dataclass_fields__ if field in st.store.dtype.names}
        flows.append(
            StoreFlow(
                name=name,
                capacity_blocks=int(stores["cap"].sum()),
                resident_blocks=int(stores["count"].sum()),
                misses=total["lookups"] - total["hits"],
                **total,
            )
        )
    return flows


def _link_flows(setup: ServingSetup, st: State) -> list[LinkFlow]:
    flows = []
    for name, members in _members(setup, st):
        swapped = (int(st.stat.swapped_in * st.par.swap_read), int(st.stat.swapped_out * st.par.swap_write))
        swap_in, swap_out = swapped if name == "hbm" else (0, 0)
        reads, writes = st.link[2 * members], st.link[2 * members + 1]
        flows.append(
            LinkFlow(
                name="host" if name == "hbm" else name,
                links=len(members),
                read_blocks=int(reads["blocks"].sum()),
                written_blocks=int(writes["blocks"].sum()),
                read_busy_s=(int((reads["blocks"] * reads["block"]).sum()) + swap_in) / PICOSECONDS,
                write_busy_s=(int((writes["blocks"] * writes["block"]).sum()) + swap_out) / PICOSECONDS,
            )
        )
    if setup.prefill_replicas:
        busy_s = int(st.stat.handed_over * st.par.hand_over) / PICOSECONDS
        flows.append(LinkFlow(HAND_OVER, setup.prefill_replicas, 0, 0, busy_s, 0.0))
    return flows
