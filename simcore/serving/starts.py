"""What a run finds in its stores: what an earlier run on the same trace, or on its first requests, left there."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from simcore.declared import asked, object_fields
from simcore.kernel import LIST_HEADS
from simcore.serving.setup import ServingSetup
from simcore.serving.state import CAPACITY, IN_FLIGHT, NOT_WRITTEN, State

_COUNTERS = (
    *("lookups", "hits", "readmission_lookups", "readmission_hits", "writes_refused"),
    *("in_computed", "in_loaded", "in_demoted", "in_written", "out_evicted", "out_promoted", "out_dropped"),
)


def keeps(setup: ServingSetup) -> list[bool]:
    """Of HBM and each tier below, whether its blocks outlast the start."""
    if setup.start == "restart":
        return [False, *(tier.persistent for tier in setup.tiers)]
    return [setup.start == "warm"] * (1 + len(setup.tiers))


def take_over(setup: ServingSetup, modules: list[ModuleType], old: State, new: State) -> None:
    """Fill the stores of `new`, a state at time 0, with what the finished run `old` left: blocks, all usable at once, in the
    order in which their policies keep them. What is known of each block stays known; what no store keeps counts as lost."""
    view = new.tier["store"].reshape(-1, setup.replicas)
    kept = np.unique(np.concatenate([row for row, keep in zip(view, keeps(setup), strict=True) if keep] or [[]]))
    n_ids = len(new.slot) // len(new.store)
    for s in kept.astype(np.int64):
        new.store[s] = old.store[s]
        store, module = new.store[s], modules[old.store[s].policy]
        for name in _COUNTERS:
            store[name] = 0
        store["opened"], store["at_start"] = 1, store["count"]
        slots, first, heads = int(store["slots"]), int(store["first"]), 1 + int(s) * LIST_HEADS
        nodes = slice(first, first + slots + int(store["spares"]))
        _copy(old.node, new.node, heads, LIST_HEADS)
        new.node[nodes] = old.node[nodes]
        new.node["ready"][nodes] = 0
        if new.par.quotas:
            new.own[nodes] = old.own[nodes]
            shares = slice(s * new.par.tenants, (s + 1) * new.par.tenants)
            new.share[shares] = old.share[shares]
        if len(new.uses) > 1:
            new.uses[nodes] = old.uses[nodes]
        _copy(old.slot, new.slot, int(store["map"]), n_ids)
        _copy(old.object, new.object, int(store["objects"]), n_ids if object_fields(modules) else 0)
        _copy(old.words, new.words, int(store["words"]), asked(module, "WORDS", slots, n_ids))
        _copy(old.reals, new.reals, int(store["reals"]), asked(module, "REALS", slots, n_ids))
    if setup.note_misses:
        held = np.zeros(n_ids, bool)
        for s in kept.astype(np.int64):
            start = int(new.store[s]["map"])
            held |= new.slot[start : start + n_ids] > 0
        new.mark[:] = old.mark
        new.mark[~held & (old.mark == IN_FLIGHT)] = NOT_WRITTEN if new.par.counts_uses else CAPACITY


def _copy(old: object, new: object, start: int, count: int) -> None:
    new[start : start + count] = old[start : start + count]  # type: ignore[index]
