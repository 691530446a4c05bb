"""A naive replay of one tier: a dict of resident objects and a twin of the policy (see `tests.reference.eviction`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def next_uses(ids: Sequence[int]) -> list[int]:
    following: dict[int, int] = {}
    result = [1 << 62] * len(ids)
    for k in range(len(ids) - 1, -1, -1):
        result[k] = following.get(ids[k], 1 << 62)
        following[ids[k]] = k
    return result


def shed(twin: Any, resident: dict[int, int]) -> int:
    """What the policy does not keep leaves; how much that is."""
    units = 0
    while (obj := twin.surplus() if hasattr(twin, "surplus") else None) is not None:
        units += resident.pop(obj)
        twin.evict(obj)
    return units


def replay(ids: Sequence[int], sizes: Sequence[int] | None, capacity: int, twin: Any, **columns: Sequence[Any]) -> list[bool]:
    """Whether each access is a hit. `columns`: further entries of the event of each access."""
    resident: dict[int, int] = {}
    used = 0
    found = []
    if hasattr(twin, "begin"):
        smallest = 1 if sizes is None else min(sizes)
        twin.begin(max(1, min(capacity // smallest, max(ids) + 1)))
    future = next_uses(ids)
    for k, obj in enumerate(ids):
        size = 1 if sizes is None else sizes[k]
        event = {"obj": obj, "size": size, "clock": k, "next_use": future[k], "request": k, "depth": 0}
        event |= {name: column[k] for name, column in columns.items()}
        found.append(obj in resident)
        if obj in resident:
            twin.hit(obj, event)
            used -= shed(twin, resident) if sizes is not None else 0
            continue
        if size > capacity:
            continue
        twin.miss(obj, size, event)
        refused = False
        while used + size > capacity:
            victim = twin.victim(event)
            if victim is None:
                refused = True
                break
            used -= resident.pop(victim)
            twin.evict(victim)
        if refused:
            continue
        resident[obj] = size
        used += size
        twin.insert(obj, size, event)
        used -= shed(twin, resident) if sizes is not None else 0
        assert used <= capacity
    return found
