"""From setup and trace to arrays: the only place where they become `State`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from simcore.declared import asked, object_fields, put_params
from simcore.errors import InputError
from simcore.kernel import LIST_HEADS
from simcore.serving import state
from simcore.serving.routing import ROUTERS
from simcore.serving.setup import (
    ARRIVALS,
    LOAD_RULES,
    PREFETCHES,
    RESERVES,
    SCHEDULING,
    VICTIMS,
    YIELD_SHIFT,
    ServingSetup,
    StoreSetup,
)
from simcore.serving.state import LATEST, LOAD_LEVELS, NEVER, NONE, ON_EVICTION, PICOSECONDS, State
from simcore.traces.blocks import request_kinds
from simcore.traces.reuse import units
from simcore.traces.trace import Trace


@dataclass(frozen=True)
class TraceArrays:
    """What runs on one trace, with one view of its blocks, share."""

    job: Any
    blocks: NDArray[np.uint32]
    n_ids: int
    wave_start: NDArray[np.int64]
    sessions: int
    all_starts: NDArray[np.int64]  # (n,) of each request its first block, of all requests of the trace
    longest_prompt: int  # blocks
    prompt_tokens: int
    output_tokens: int
    longest_output: int
    longest: int  # tokens of prompt and output together


_arrays: WeakKeyDictionary[Trace, dict[tuple[int, bool, bool], TraceArrays]] = WeakKeyDictionary()


def trace_arrays(trace: Trace, unit_tokens: int, *, partial_block: bool, output: bool) -> TraceArrays:
    """The arrays of a trace, made once for each view of it.

    Raises:
        InputError: times beyond what an integer of picoseconds holds, or a unit the trace does not have.
    """
    memo = _arrays.setdefault(trace, {})
    key = (unit_tokens, partial_block, output)
    if key not in memo:
        memo[key] = _trace_arrays(trace, unit_tokens, partial_block, output)
    return memo[key]


def _trace_arrays(trace: Trace, unit_tokens: int, partial_block: bool, output: bool) -> TraceArrays:
    for path in ("arrival_s", "think_s"):
        latest = float(getattr(trace, path).max())
        if latest * PICOSECONDS > LATEST:
            limit = LATEST // PICOSECONDS
            raise InputError(f"must not exceed {limit} s (26 days)", path=path, value=latest, hint="cut or rescale the trace")
    view = units(trace, unit_tokens, partial_block=partial_block, output=output)
    tokens = trace.input_tokens.astype(np.int64) + trace.output_tokens
    computed = (tokens - 1) // unit_tokens  # the last token is never computed on, so its block may stay incomplete
    follower = np.full(trace.n, NONE, np.int32)
    chained = np.flatnonzero(trace.after >= 0)
    follower[trace.after[chained]] = chained
    number, wave_start = _waves(trace.wave)
    sessions, session = np.unique(trace.session, return_inverse=True)

    job = _records(trace.n, state.JOB)
    job["arrival"] = _picoseconds(trace.arrival_s)
    job["think"] = _picoseconds(trace.think_s)
    job["block"] = view.start[:-1]
    job["prompt"] = trace.input_tokens
    job["output"] = trace.output_tokens
    job["prompt_blocks"] = view.prompt_units
    job["output_blocks"] = np.maximum(np.minimum(np.diff(view.start), computed) - view.prompt_units, 0) if output else 0
    job["follower"] = follower
    job["wave"] = number
    job["session"] = session
    job["chained"] = state.UNCHAINED
    same_wave = trace.wave[chained] == trace.wave[trace.after[chained]]
    job["chained"][chained] = np.where(same_wave, state.CHAINED, state.CHAINED_TO_EARLIER_WAVE)
    return TraceArrays(
        job=job,
        blocks=np.array(view.ids),
        n_ids=max(view.n_ids, 1),
        wave_start=wave_start,
        sessions=len(sessions),
        all_starts=view.start[:-1],
        longest_prompt=int(view.prompt_units.max()),
        prompt_tokens=trace.total_prompt_tokens,
        output_tokens=trace.total_output_tokens,
        longest_output=int(trace.output_tokens.max()),
        longest=int(tokens.max()),
    )


def _waves(wave: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Waves numbered 0, 1, ... and the first request of each, with the end of the last."""
    new = np.flatnonzero(np.diff(wave)) + 1
    number = np.zeros(len(wave), np.int32)
    number[new] = 1
    return np.cumsum(number, dtype=np.int32), np.concatenate(([0], new, [len(wave)])).astype(np.int64)


def _first(arrays: TraceArrays, n: int) -> TraceArrays:
    """The first n requests, their blocks by the same names."""
    job = np.array(arrays.job[:n]).view(np.recarray)
    job["follower"][job["follower"] >= n] = NONE
    starts = arrays.wave_start[arrays.wave_start < n]
    return replace(arrays, job=job, wave_start=np.append(starts, n))


def lower(
    trace: Trace, setup: ServingSetup, policies: Sequence[tuple[str, ModuleType]], *, leap: bool, first: int | None = None
) -> State:
    """The state at time 0. `policies`: the set of eviction policies, by number. `first`: only so many requests.

    Raises:
        InputError: as `trace_arrays`, or step times whose sums an integer of picoseconds may not hold.
    """
    output = setup.output_reuse and trace.has_output_ids
    arrays = trace_arrays(trace, setup.unit_tokens, partial_block=setup.partial_block, output=output)
    arrays = arrays if first is None else _first(arrays, first)
    replicas, n, tiers = setup.replicas, len(arrays.job), len(setup.tiers)
    names = [name for name, _ in policies]
    modules = [module for _, module in policies]
    told = any(module.NEEDS for module in modules)
    request, classes = _requests(trace, setup, n)
    replica = _records(replicas, state.REPLICA)
    for field in ("blocked", "current", "queue_head", "run_tail", "ended_head", "ended_tail"):
        replica[field] = NONE
    room = np.zeros((replicas, 0), np.int64)
    if setup.allocation != "paged":
        arrays, request["order_pages"], room = _rooms(setup, arrays)
    par = _knobs(trace, setup, arrays, classes, leap, told)
    if setup.allocation != "paged":
        _contiguous(par, arrays, room)
    store, view, sizes = _stores(setup, names, modules, arrays.n_ids)
    tier, link = _links(setup, view)
    client, one_way = _network(setup, arrays, replica)
    heaps = 4 if setup.stream_interval > 1 or setup.swap_pages or setup.prefill_replicas else 2
    return State(
        par=par,
        stat=_progress(setup, arrays),
        found=_records(1, state.FOUND)[0],
        job=arrays.job,
        request=request,
        hit_tokens=np.zeros(n * (tiers + 1), np.int64),
        missed=np.zeros(n * len(state.REASONS) if setup.note_misses else 0, np.int64),
        mark=np.zeros(arrays.n_ids if setup.note_misses else 0, np.uint8),
        replica=replica,
        next=np.zeros(replicas, np.int64),
        queue_tail=np.full(replicas * classes, NONE, np.int64),
        room=room.ravel(),
        phase=np.zeros(replicas * par.page, np.int64),
        tier=tier,
        link=link,
        store=store,
        slot=scratch.take(len(store) * arrays.n_ids),
        uses=np.zeros(sizes["nodes"] if any(t.copy_after > 0 for t in setup.tiers) else 1, np.uint32),
        known=_records(arrays.n_ids if told else 1, state.KNOWN),
        category=request_kinds(trace)[:n] if told else np.zeros(1, np.int32),
        **_of_policies(modules, sizes),
        heap=_records(heaps * replicas * setup.max_num_seqs + n, state.HEAP),
        completed=np.zeros(replicas * setup.max_num_batched_tokens, np.uint32),
        plan=_records(max(arrays.longest_prompt, 1), state.PLAN),
        plan_free=np.zeros(2 * (tiers + 1), np.int64),
        loaded=_loaded_latencies(setup, view, link),
        blocks=arrays.blocks,
        wave_start=arrays.wave_start,
        **_quotas(trace, setup, arrays, view, sizes["nodes"]),
        home=np.full(arrays.sessions if setup.router == "session" else 1, NONE, np.int64),
        client=client,
        one_way=one_way,
        lin=_picoseconds(setup.costs.lin_s[: setup.max_num_batched_tokens + 1]),
    )


def _of_policies(modules: list[ModuleType], sizes: dict[str, int]) -> dict[str, Any]:
    """The arrays whose records and lengths the eviction policies ask for."""
    return {
        "node": _records(sizes["nodes"], state.node_dtype(modules)),
        "event": _records(1, state.event_dtype(modules)),
        "object": _records(sizes["objects"], state.object_dtype(modules)),
        "words": np.zeros(sizes["words"], np.uint32),
        "reals": np.zeros(sizes["reals"], np.float64),
    }


def _requests(trace: Trace, setup: ServingSetup, n: int) -> tuple[Any, int]:
    """The first n requests before they arrive, and how many classes of priority there are."""
    request = _records(n, state.REQUEST)
    request["arrival"] = request["load_start"] = request["source"] = NONE
    request_class, classes = _classes(trace, setup)
    request["class_"] = request_class[:n]
    return request, classes


def _progress(setup: ServingSetup, arrays: TraceArrays) -> Any:
    """Counters before the first event; a backlog is in its last wave."""
    stat = _records(1, state.STAT)[0]
    backlog = setup.arrivals == "backlog"
    stat.turn = stat.leaving_head = stat.leaving_tail = NONE
    stat.wave = len(arrays.wave_start) - 2 if backlog else 0
    stat.wave_left = len(arrays.job) if backlog else arrays.wave_start[1]
    return stat


def _classes(trace: Trace, setup: ServingSetup) -> tuple[NDArray[np.int64], int]:
    """(n,) of each request the class of its priority, 0 the first to be served; and how many there are."""
    if setup.scheduling == "fcfs":
        return np.zeros(trace.n, np.int64), 1
    given = np.array([*setup.tenant_priority, 0])
    values, classes = np.unique(given[np.minimum(trace.tenant, len(given) - 1)], return_inverse=True)
    return classes.astype(np.int64), len(values)


def _rooms(setup: ServingSetup, arrays: TraceArrays) -> tuple[TraceArrays, NDArray[np.int64], NDArray[np.int64]]:
    """For contiguous regions: requests without reusable blocks, the order of the region of each, and each replica's tree."""
    job = np.array(arrays.job).view(np.recarray)
    job["prompt_blocks"] = job["output_blocks"] = 0
    prompt, output = job["prompt"].astype(np.int64), job["output"].astype(np.int64)
    tokens = prompt + (2 ** _order(output) if setup.allocation == "pow2" else output)
    if setup.max_model_len is not None:
        tokens = (
            np.minimum(tokens, setup.max_model_len) if setup.allocation != "max" else np.full(len(job), setup.max_model_len)
        )
    order_pages = _order(-(-tokens // setup.page_tokens))
    pool_order = int(_order(np.array([setup.pool_pages]))[0])
    level = np.where(np.arange(2**pool_order) < setup.pool_pages, 0, -1)
    levels = [level]
    for order in range(pool_order):
        low, high = level[::2], level[1::2]
        level = np.where((low == order) & (high == order), order + 1, np.maximum(low, high))
        levels.insert(0, level)
    tree = np.concatenate(([0], *levels))
    return replace(arrays, job=job, longest_prompt=0), order_pages, np.tile(tree, (setup.replicas, 1)).astype(np.int64)


def _order(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest k with 2^k >= size, of each."""
    return np.array([int(size - 1).bit_length() for size in sizes], np.int64)


def _speculation(par: Any, setup: ServingSetup) -> None:
    """Tokens that decode steps yield, compute and may need room for beyond those asked for."""
    par.yield_shift = YIELD_SHIFT if setup.draft_tokens else 0
    par.yielded = setup.yielded
    par.verified = 1 + setup.draft_tokens
    par.spare_tokens = -(-setup.yielded // (1 << par.yield_shift)) - 1
    par.draft = setup.draft_tokens * setup.draft_cost


def _contiguous(par: Any, arrays: TraceArrays, room: NDArray[np.int64]) -> None:
    """Admission asks the tree alone: for the rest every sequence has one private page, of which there are enough."""
    par.contiguous = 1
    par.pool_order = room.shape[1].bit_length() - 2
    par.largest_order = room[0, 1]
    par.page = arrays.longest + 1 + par.spare_tokens
    par.unit_pages = 1
    par.pool_pages = 1 << 40


def _quotas(trace: Trace, setup: ServingSetup, arrays: TraceArrays, view: NDArray[np.int64], nodes: int) -> dict[str, Any]:
    """What each tenant may hold in each store, and whose each block is."""
    if not setup.has_quotas:
        return {"share": _records(1, state.SHARE), "own": _records(1, state.OWN), "owner": np.zeros(1, np.uint32)}
    tenants = int(trace.tenant.max()) + 1
    share = _records((int(view.max()) + 1) * tenants, state.SHARE)
    for stores, given in zip(view, (setup.hbm_quota_blocks, *(tier.quota_blocks for tier in setup.tiers)), strict=True):
        quota = np.array([*given, given[-1]] if given else [2**62])[np.minimum(np.arange(tenants), max(len(given) - 1, 0))]
        for s in np.unique(stores):
            share["quota"][s * tenants : (s + 1) * tenants] = quota
    owner = np.zeros(arrays.n_ids, np.uint32)
    count = np.diff(np.append(arrays.all_starts, len(arrays.blocks)))
    owner[arrays.blocks[::-1]] = np.repeat(trace.tenant, count)[::-1]  # of repeated indices the last one written stays
    return {"share": share, "own": _records(nodes, state.OWN), "owner": owner}


def _network(setup: ServingSetup, arrays: TraceArrays, replica: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the clients are, and the ways between regions; the replicas get theirs."""
    network = setup.network
    if network is None:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    replica["region"] = np.repeat(np.arange(len(network.replicas)), network.replicas)
    return network.clients(arrays.job["session"].astype(np.int64)), _picoseconds(np.ravel(network.round_trip_s) / 2)


def _knobs(trace: Trace, setup: ServingSetup, arrays: TraceArrays, classes: int, leap: bool, told: bool) -> Any:
    par = _records(1, state.PAR)[0]
    par.requests = len(arrays.job)
    par.replicas = setup.replicas
    par.entries = setup.entry_replicas
    par.hand_over = _ps(setup.hand_over_s_per_page)
    par.tiers = len(setup.tiers)
    par.waves = len(arrays.wave_start) - 1
    par.unit = setup.unit_tokens
    par.page = setup.page_tokens
    par.unit_pages = setup.unit_tokens // setup.page_tokens
    par.pool_pages = setup.pool_pages
    par.budget = setup.max_num_batched_tokens
    par.max_seqs = setup.max_num_seqs
    par.chunked = setup.chunked_prefill
    par.router = ROUTERS.index(setup.router)
    par.max_length = setup.max_model_len or NEVER
    par.stream = setup.stream_interval
    par.priority = SCHEDULING.index(setup.scheduling)
    par.classes = classes
    par.victim = VICTIMS.index(setup.preemption_victim)
    par.swap_pages = setup.swap_pages if setup.preemption == "swap" else 0
    par.swap_read = _ps(setup.host_link_read_s_per_block / par.unit_pages)
    par.swap_write = _ps(setup.host_link_write_s_per_block / par.unit_pages)
    _speculation(par, setup)
    par.reserve = RESERVES.index(setup.reserve)
    par.min_match = setup.routing.min_match
    par.max_load_gap = setup.routing.max_load_gap
    par.max_load_ratio = setup.routing.max_load_ratio
    par.running_weight = setup.routing.running_weight
    par.quotas = setup.has_quotas
    par.tenants = int(trace.tenant.max()) + 1
    par.regions = len(setup.network.replicas) if setup.network else 0
    par.arrivals = ARRIVALS.index(setup.arrivals)
    par.chains = state.CHAINS[par.arrivals]
    par.concurrency = setup.concurrency
    par.stagger = _ps(setup.stagger_s)
    par.load_rule = LOAD_RULES.index(setup.load_rule)
    par.min_load = setup.min_load_tokens
    par.max_waiting = setup.max_waiting
    par.recompute_last = setup.recompute_last
    par.output_reuse = setup.output_reuse and trace.has_output_ids
    par.write_backlog = _ps(setup.write_backlog_s)
    par.kv = _ps(setup.costs.kv_s_per_token)
    par.seq = _ps(setup.costs.seq_s)
    par.response = _ps(setup.costs.request_s)
    par.pair = setup.costs.pair_s * PICOSECONDS
    par.leap = leap
    par.note_misses = setup.note_misses
    noticed = told or (setup.note_misses and setup.replicas > 1)  # what another replica holds at this very moment
    par.quiet_eviction = (
        not noticed and setup.prefetch == "none" and all(t.copy_after != ON_EVICTION and not t.shared for t in setup.tiers)
    )
    par.overlap = {"none": 0, "layer": setup.layers, "full": LATEST}[setup.overlap]
    par.prefetch = PREFETCHES.index(setup.prefetch)
    par.prefetch_timeout = _ps(setup.prefetch_timeout_s)
    par.copies = any(t.copy_after != ON_EVICTION for t in setup.tiers)
    par.counts_uses = any(t.copy_after > 0 for t in setup.tiers)
    # Alone, a request takes a step for each budget of prompt and each token of output; the rest is room for preemption.
    par.max_events = 1_000_000 + 40 * (2 * trace.n + arrays.prompt_tokens // par.budget + arrays.output_tokens)
    _refuse_overflow(setup, arrays)
    return par


def _refuse_overflow(setup: ServingSetup, arrays: TraceArrays) -> None:
    """The longest leap, at the slowest step, must stay within an integer of picoseconds."""
    costs = setup.costs
    step_s = float(costs.lin_s[: setup.max_num_batched_tokens + 1].max()) + setup.max_num_seqs * (
        costs.seq_s + costs.kv_s_per_token * arrays.longest
    )
    step_s = max(step_s, costs.pair_s * setup.max_num_batched_tokens * arrays.longest)
    if step_s * arrays.longest_output * PICOSECONDS > LATEST:
        rule = f"the slowest step ({step_s:.3g} s) times the longest output must stay below {LATEST // PICOSECONDS} s (26 days)"
        raise InputError(rule, path="costs", value=step_s)


def _stores(
    setup: ServingSetup, names: list[str], modules: list[ModuleType], n_ids: int
) -> tuple[Any, NDArray[np.int64], dict[str, int]]:
    """The store records; view[tier, replica], the store that a replica sees as that tier (0 is HBM); and the sizes of what the
    stores keep elsewhere."""
    replicas = setup.replicas
    view = np.zeros((len(setup.tiers) + 1, replicas), np.int64)
    view[0] = np.arange(replicas)
    capacity = [setup.pool_pages // (setup.unit_tokens // setup.page_tokens)] * replicas
    policy = [names.index(setup.hbm_policy)] * replicas
    for k, tier in enumerate(setup.tiers, start=1):
        count = 1 if tier.shared else replicas
        view[k] = len(capacity) + (0 if tier.shared else np.arange(replicas))
        capacity += [tier.capacity_blocks] * count
        policy += [names.index(tier.policy)] * count
    store = _records(len(capacity), state.store_dtype(modules))
    store["cap"] = capacity
    store["policy"] = policy
    store["map"] = np.arange(len(capacity), dtype=np.uint64) * np.uint64(n_ids)
    for k, stores in enumerate(view):  # as a replay seeds its tiers
        store["random"][np.unique(stores)] = np.random.SeedSequence([0, k]).generate_state(len(np.unique(stores)), np.uint64)
    return store, view, _room(store, modules, n_ids)


def _room(store: Any, modules: list[ModuleType], n_ids: int) -> dict[str, int]:
    """Give every store its nodes, its objects and the numbers of its policy. Returns how many there are of each."""
    keeps_objects = bool(object_fields(modules))
    used = {"nodes": 1 + LIST_HEADS * len(store), "objects": 0, "words": 0, "reals": 0}  # node 0 is nobody's
    for record in store:
        module = modules[record.policy]
        slots = min(int(record.cap), n_ids)  # no more than there are different blocks
        spares = asked(module, "SPARE_NODES", slots, n_ids)
        record.slots, record.spares = slots, spares
        record.first, record.spare = used["nodes"], used["nodes"] + slots
        record.objects, record.words, record.reals = used["objects"], used["words"], used["reals"]
        put_params(record, module, {}, "params")
        used["nodes"] += slots + spares
        used["objects"] += n_ids if keeps_objects else 0
        used["words"] += asked(module, "WORDS", slots, n_ids)
        used["reals"] += asked(module, "REALS", slots, n_ids)
        if used["nodes"] >= 2**32:
            raise InputError("the stores hold more blocks than 2^32", path="tiers", hint="use larger blocks")
    return used | {"objects": max(used["objects"], 1)}


def _links(setup: ServingSetup, view: NDArray[np.int64]) -> tuple[Any, Any]:
    """Tier and link records: of each replica its host link, of each store below its device link; reads and writes apart;
    then of each prefill replica the one out of it."""
    replicas = setup.replicas
    stores = int(view.max()) + 1
    link = _records(2 * stores + setup.prefill_replicas, state.LINK)
    link["latency"][2 * stores :] = _ps(setup.hand_over_latency_s)
    tier = _records(view.size, state.TIER)
    tier["store"] = view.ravel()
    tier["read"] = 2 * view.ravel()  # two links a store; those of a pool are its replica's host link
    tier["write"] = 2 * view.ravel() + 1
    host = StoreSetup(
        name="host",
        capacity_blocks=1,
        read_s_per_block=setup.host_link_read_s_per_block,
        write_s_per_block=setup.host_link_write_s_per_block,
        read_latency_s=setup.host_link_latency_s,
        write_latency_s=setup.host_link_latency_s,
    )
    for k, spec in enumerate((host, *setup.tiers)):
        tier["inclusive"][k * replicas : (k + 1) * replicas] = spec.placement == "inclusive"
        tier["shared"][k * replicas : (k + 1) * replicas] = spec.shared
        tier["copy_after"][k * replicas : (k + 1) * replicas] = spec.copy_after
        link["block"][2 * view[k]] = _ps(spec.read_s_per_block)
        link["block"][2 * view[k] + 1] = _ps(spec.write_s_per_block)
        link["latency"][2 * view[k]] = _ps(spec.read_latency_s)
        link["latency"][2 * view[k] + 1] = _ps(spec.write_latency_s)
    return tier, link


def _loaded_latencies(setup: ServingSetup, view: NDArray[np.int64], link: Any) -> NDArray[np.int64]:
    """Latencies of reads by the utilisation of their link, of all tiers with such a curve; the links get their place."""
    tables = [np.zeros(1, np.int64)]
    for k, tier in enumerate(setup.tiers, start=1):
        if tier.loaded_latency_s:
            link["loaded"][2 * view[k]] = sum(map(len, tables))
            shares, latencies = zip((0.0, tier.read_latency_s), *tier.loaded_latency_s, strict=True)
            tables.append(_picoseconds(np.interp(np.arange(LOAD_LEVELS + 1) / LOAD_LEVELS, shares, latencies)))
    return np.concatenate(tables)


def _records(n: int, dtype: np.dtype[Any]) -> Any:
    return np.zeros(n, dtype).view(np.recarray)


def _picoseconds(seconds: Any) -> NDArray[np.int64]:
    return np.rint(np.asarray(seconds, np.float64) * PICOSECONDS).astype(np.int64)


def _ps(seconds: float) -> int:
    return round(seconds * PICOSECONDS)


class _Scratch(threading.local):
    """The largest array of a run, kept between runs of a thread: fresh memory costs more than clearing used memory."""

    kept: NDArray[np.uint32] | None = None

    def take(self, size: int) -> NDArray[np.uint32]:
        """A zeroed array; it belongs to the caller until `give`."""
        kept, self.kept = self.kept, None
        if kept is None or len(kept) < size:
            return np.zeros(size, np.uint32)
        kept[:size] = 0
        return kept[:size]

    def give(self, array: NDArray[np.uint32]) -> None:
        if array.nbytes <= 1 << 26:
            self.kept = array if array.base is None else array.base


scratch = _Scratch()
