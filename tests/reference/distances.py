"""LRU stack distances by a list, newest first."""

from __future__ import annotations

from collections.abc import Sequence


def distances(ids: Sequence[int], sizes: Sequence[int] | None = None) -> list[int | None]:
    """Of each access, the objects used since the last to its own; with sizes their bytes and its own; None for the first."""
    order: list[int] = []
    size = {} if sizes is None else dict(zip(ids, sizes, strict=True))
    found: list[int | None] = []
    for obj in ids:
        if obj in order:
            at = order.index(obj)
            found.append(at if sizes is None else sum(size[other] for other in order[: at + 1]))
            order.remove(obj)
        else:
            found.append(None)
        order.insert(0, obj)
    return found


def chain_hits(requests: Sequence[Sequence[int]], capacity: int, tail_first: bool) -> list[int]:
    """Of each request, its leading objects that an LRU cache holds when it arrives."""
    order: list[int] = []
    found = []
    for request in requests:
        held = set(order[:capacity])
        run = 0
        while run < len(request) and request[run] in held:
            run += 1
        found.append(run)
        for obj in reversed(request) if tail_first else request:
            if obj in order:
                order.remove(obj)
            order.insert(0, obj)
    return found
