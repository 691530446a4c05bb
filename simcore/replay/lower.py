"""From tiers and a trace to arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.compiling.passes import sealed
from simcore.declared import asked, put_params
from simcore.errors import InputError
from simcore.kernel import LIST_HEADS
from simcore.replay import contract
from simcore.replay.engine import Variant, columns_of, filter_module, policy_module
from simcore.replay.setup import Tier
from simcore.replay.state import (
    COLUMNS,
    EXCLUSIVE,
    INCLUSIVE_BACK,
    INCLUSIVE_THROUGH,
    RUN,
    State,
    event_dtype,
    node_dtype,
    object_dtype,
    store_dtype,
)
from simcore.traces.accesses import Accesses, next_use

AHEAD_FROM = 1 << 17  # objects; what is known of fewer is never far away
_OF_TRACE = {"units": "sizes"}  # columns that `Accesses` has under another name
_IN_WORDS = {"units": "size"}


def variants(tiers: Sequence[Tier], accesses: Accesses, *, tracked: bool) -> list[Variant]:
    """What to compile for each tier.

    Raises:
        InputError: there is no such policy or filter, or it cannot be used on this trace; `path` says which.
    """
    known = tuple(name for name in ("sizes", "category", "time_s") if getattr(accesses, name) is not None)
    result: list[Variant] = []
    for number, tier in enumerate(tiers):
        named = isinstance(tier.policy, str) and isinstance(tier.admission, str)
        made = (_variant if named else _variant.__wrapped__)(
            *(number, tier.policy, tier.admission, known),
            chain=accesses.chain,
            feeds=number < len(tiers) - 1,
            sets=0 < tier.ways < tier.capacity,
            tracked=tracked,
            ahead=number == 0 and not accesses.chain and accesses.n_objects >= AHEAD_FROM,
        )
        result.append(made)
    needed: set[str] = set()
    for number in range(len(result) - 1, -1, -1):
        if needed:
            result[number] = replace(result[number], passed=columns_of(needed))
        needed |= {*result[number].needed}
    return result


@lru_cache(maxsize=256)  # of files outside the package the caller asks every time
def _variant(number: int, policy: str | Path, admission: str | Path, known: tuple[str, ...], **engine: Any) -> Variant:
    """Of one tier. `known`: what the trace says of its accesses."""
    with _about(f"tiers.{number}.policy"):
        of_policy = policy_module(policy)
    with _about(f"tiers.{number}.admission"):
        of_filter = filter_module(admission)
    sized, below = "sizes" in known, number > 0
    steady = not (sized or below)
    variant = Variant(policy=of_policy, admission=of_filter, sized=sized, below=below, steady=steady, **engine)
    for field, module, name in (("policy", of_policy, policy), ("admission", of_filter, admission)):
        with _about(f"tiers.{number}.{field}"):
            _refuse(module, str(name), variant, known)
    with _about(f"tiers.{number}.admission"):
        contract.check_together(of_policy, of_filter)
    return variant


@contextmanager
def _about(path: str) -> Iterator[None]:
    """What is wrong inside is wrong at `path`."""
    try:
        yield
    except InputError as error:
        raise error.within(prefix=path) from None


def _refuse(module: ModuleType, name: str, variant: Variant, known: tuple[str, ...]) -> None:
    hint = "choose another one"
    for column in ("units", "category", "time_s"):
        if column in module.NEEDS and _OF_TRACE.get(column, column) not in known:
            rule = f"needs the {_IN_WORDS.get(column, column)} of each access, which this trace does not have"
            raise InputError(rule, value=name, hint=hint)
    if variant.sized and getattr(module, "UNIT_SIZES_ONLY", False):
        hint = "replay without sizes, or choose another one"
        raise InputError("has no meaning for objects of different sizes", value=name, hint=hint)
    if variant.sets and getattr(module, "ONE_STORE_ONLY", False):
        hint = "replay with ways: 0, or choose another one"
        raise InputError("has no meaning for a cache divided into sets", value=name, hint=hint)


def columns(accesses: Accesses, names: Iterable[str], *, tail_first: bool) -> dict[str, NDArray[Any]]:
    """What the policies need to know of each access, in the order of the trace. Times count touches, in their own order."""
    start = accesses.request_start
    made: dict[str, NDArray[Any]] = {}
    for name in names:
        if name in ("next_use", "clock"):
            order = touch_order(accesses, tail_first)
            times = np.arange(len(accesses)) if name == "clock" else next_use(accesses.ids[order])
            made[name] = np.empty(len(accesses), np.int64)
            made[name][order] = times
        elif name == "depth":
            made[name] = np.zeros(len(accesses), np.int32) if start is None else _within(start).astype(np.int32)
        elif name == "request":
            made[name] = np.arange(len(accesses)) if start is None else np.repeat(np.arange(len(start) - 1), np.diff(start))
        else:
            column = getattr(accesses, _OF_TRACE.get(name, name))
            assert column is not None, name  # `variants` has refused who needs it
            made[name] = column
    return made


def touch_order(accesses: Accesses, tail_first: bool) -> Any:
    """Index of the accesses in the order in which they are touched: that of the trace, or each chain backwards."""
    start = accesses.request_start
    if not (accesses.chain and tail_first) or start is None:
        return slice(None)
    return np.repeat(start[:-1] + start[1:] - 1, np.diff(start)) - np.arange(len(accesses))


def _within(start: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))


@lru_cache(maxsize=256)
def _records(variant: Variant) -> dict[str, np.dtype[Any]]:
    """The records of a tier's arrays."""
    modules = (variant.policy, variant.admission)
    return {
        "event": event_dtype(variant.observed, variant.steady),
        "store": store_dtype(modules),
        "node": node_dtype(modules, variant.carried),
        "object": object_dtype(modules),
    }


_NO_EVENTS = {name: sealed(np.zeros(0, dtype)) for name, dtype in COLUMNS.items()}
_NO_EVENTS |= {name: sealed(np.zeros(0, np.uint32)) for name in ("ids", "place")}
_NO_EVENTS |= {"kind": sealed(np.zeros(0, np.uint8)), "start": sealed(np.zeros(0, np.int64)), "found": np.zeros(0, np.uint8)}
_NO_EVENTS |= {f"out_{name}": np.zeros(0, dtype) for name, dtype in COLUMNS.items()}
_NO_EVENTS |= {"out_ids": np.zeros(0, np.uint32), "out_kind": np.zeros(0, np.uint8), "out_place": np.zeros(0, np.uint32)}


def new_state(tier: Tier, variant: Variant, accesses: Accesses, *, number: int, tail_first: bool, seed: int) -> State:
    """The empty state of a tier; a run puts in the events of each chunk."""
    modules = (variant.policy, variant.admission)
    records = _records(variant)
    sets = tier.capacity // tier.ways if variant.sets else 1
    slots = _slots(tier.capacity // sets, accesses)
    spare = sum(asked(module, "SPARE_NODES", slots, accesses.n_objects) for module in modules)
    words = [asked(module, "WORDS", slots, accesses.n_objects) for module in modules]
    reals = sum(asked(module, "REALS", slots, accesses.n_objects) for module in modules)
    nodes = 1 + sets * (LIST_HEADS + slots + spare)
    if nodes >= 2**32:
        raise InputError("is too large for this engine (2^32 slots)", path="capacity", value=tier.capacity)
    objects = accesses.n_objects if records["object"].names != ("unused",) else 1
    store = np.zeros(sets, records["store"])
    place = np.arange(sets)
    store["cap"] = tier.capacity // sets
    store["slots"], store["spares"] = slots, spare
    store["first"] = 1 + sets * LIST_HEADS + place * (slots + spare)
    store["spare"] = store["first"] + slots
    store["words"], store["reals"] = place * sum(words), place * reals
    if "filter_words" in store.dtype.fields:
        store["filter_words"] = store["words"] + words[0]
    store["random"] = _random(seed, number, sets)
    put_params(store, variant.policy, tier.params, f"tiers.{number}.params")
    put_params(store, variant.admission, tier.admission_params, f"tiers.{number}.admission_params")
    run = np.zeros(1, RUN)
    placements = {"exclusive": EXCLUSIVE, "inclusive": INCLUSIVE_BACK if tier.write == "back" else INCLUSIVE_THROUGH}
    run["top"], run["tail_first"], run["placement"] = number + 1, tail_first, placements[tier.placement]
    return State(
        run=run.view(np.recarray),
        event=np.zeros(1, records["event"]).view(np.recarray),
        store=store.view(np.recarray),
        node=np.zeros(nodes, records["node"]).view(np.recarray),
        slot=np.zeros(accesses.n_objects, np.uint32),
        object=np.zeros(objects, records["object"]).view(np.recarray),
        words=np.zeros(sum(words) * sets, np.uint32),
        reals=np.zeros(reals * sets, np.float64),
        **_NO_EVENTS,
    )


@lru_cache(maxsize=64)
def _random(seed: int, number: int, sets: int) -> NDArray[np.uint64]:
    """The first state of each set's generator."""
    return np.random.SeedSequence([seed, number]).generate_state(sets, np.uint64).astype(np.uint64, copy=False)


def _slots(capacity: int, accesses: Accesses) -> int:
    """The most objects that can be resident in one set."""
    smallest = 1 if accesses.sizes is None else int(accesses.sizes.min())
    return max(1, min(capacity // smallest, accesses.n_objects))
