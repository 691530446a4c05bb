"""The state of one tier of a replay: flat record arrays, joined in one NamedTuple that every kernel takes as `st`."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from simcore.declared import object_fields, record, slot_fields, store_fields

GET, PUT, LOOKUP = 0, 1, 2  # kinds of events
# What a GET and a PUT do: see `simcore.replay.setup.Tier`
EXCLUSIVE, INCLUSIVE_THROUGH, INCLUSIVE_BACK = 0, 1, 2
# why a chunk ended early; only policies from outside the package are looked at that closely
FINE, NO_VICTIM, OVERFULL = 0, 1, 2

_I8, _U8, _U4, _F8 = np.int64, np.uint64, np.uint32, np.float64

COLUMNS: dict[str, type[np.generic]] = {  # what may be known of an access, by name in a policy's NEEDS
    "units": _I8,
    "next_use": _I8,
    "depth": np.int32,
    "category": np.int32,
    "request": _I8,
    "clock": _I8,
    "time_s": _F8,
}
OF_OBJECT = ("units", "next_use", "depth", "category")  # columns that stay with an object; others belong to the moment
RUN = np.dtype(
    [(name, _I8) for name in ("opened", "top", "placement", "tail_first", "fault", "out", "hits", "hit_bytes")]
    + [(name, _I8) for name in ("insertions", "inserted_bytes", "evictions", "evicted_bytes")]
    + [(name, _I8) for name in ("refused", "refused_bytes", "removed", "removed_bytes")]
)
_STORE: list[tuple[str, Any]] = [
    *((name, _U8) for name in ["objects", "words", "reals", "random"]),
    *((name, _I8) for name in ["cap", "used", "count"]),
    *((name, _U4) for name in ["first", "fresh", "free", "spare", "spares", "slots"]),
]
_NODE: list[tuple[str, Any]] = [("prev", _U4), ("next", _U4), ("obj", _U4)]
Records = Any


class State(NamedTuple):
    """Everything a run over one chunk of events reads and writes."""

    run: Records  # (1,)
    event: Records  # (1,) the current access: the columns that the policy needs
    store: Records  # (sets,)
    node: Records  # slot 0 = none; list heads of all stores; per store: resident slots, spare nodes
    slot: Any  # u4 (n_objects,) object -> slot, 0 = absent
    object: Records  # (n_objects,) fields of objects, present or not; (1,) if the policy has none
    words: Any  # u4, of the policy
    reals: Any  # f8, of the policy
    ids: Any  # u4 (events,)
    kind: Any  # u1 (events,), only below the top
    place: Any  # u4 (events,): entry of `found` it answers, only below the top
    start: Any  # i8 (requests+1,), chains at the top
    found: Any  # u1 (accesses,): 0 not found, t+1 found in tier t
    units: Any  # the columns, (events,) where known, otherwise empty
    next_use: Any
    depth: Any
    category: Any
    request: Any
    clock: Any
    time_s: Any
    out_ids: Any  # the same for the tier below
    out_kind: Any
    out_place: Any
    out_units: Any
    out_next_use: Any
    out_depth: Any
    out_category: Any
    out_request: Any
    out_clock: Any
    out_time_s: Any


def store_dtype(modules: Iterable[ModuleType]) -> np.dtype[Any]:
    """Record of a store."""
    return record(_STORE, store_fields(modules))


def node_dtype(modules: Iterable[ModuleType], carried: Iterable[str]) -> np.dtype[Any]:
    """Record of a slot: ours, what the modules keep there, and what an object carries to the tiers below."""
    return record(_NODE + [(name, COLUMNS[name]) for name in carried], slot_fields(modules))


def object_dtype(modules: Iterable[ModuleType]) -> np.dtype[Any]:
    """Record of an object, present or absent."""
    return record([], object_fields(modules))


def event_dtype(needed: Iterable[str], steady: bool = False) -> np.dtype[Any]:
    """Record of the current access; a field without a value says that the store is `simcore.kernel.steady`."""
    return record([(name, COLUMNS[name]) for name in needed] + [("steady", np.uint8)] * steady, [])
