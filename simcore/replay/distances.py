"""LRU at all capacities by one pass over a trace: stack distances.

A cache of C objects that evicts the least recently used holds the C objects used last, whatever C: an access hits if fewer
than C other objects were used since its own was (Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage
hierarchies", IBM Systems Journal 9(2), 1970). One pass that counts accesses by that distance therefore answers every capacity.

With sizes the distance is the bytes of those objects and of its own, and the same holds as long as an object keeps its size
and fits: the cache evicts until the newcomer fits, so that it holds the longest run of the objects used last that fits. A cache
smaller than the largest object never lets that object in, and one whose objects change their size holds each with the size of
some earlier access; neither is answered by distances. Below `LruCurve.smallest`, and where `sizes_are_fixed` says no, only a
replay of that capacity is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.compiling.passes import run_pass, sealed
from simcore.errors import InputError
from simcore.replay.passes import distances, distances_bytes, distances_chain, distances_order
from simcore.replay.result import definition_of
from simcore.replay.spans import check_options, place, spans
from simcore.replay.splits import Counts, LruCurve
from simcore.traces.accesses import Accesses

Progress = Callable[[int, int], None]
_MOST_OBJECTS = 1 << 31  # so that slots of time have numbers of 32 bits


def lru_curve(accesses: Accesses, *, order: str = "tail_first", warmup: int = 0, progress: Progress | None = None) -> LruCurve:
    """Hits of LRU at every capacity; `order`, `warmup` and `progress` as `simcore.replay.run.replay`.

    Raises:
        InputError: an option is wrong, there are 2^31 objects or more, or an object changes its size.
    """
    check_options(accesses, order, warmup)
    if accesses.n_objects >= _MOST_OBJECTS:
        raise InputError(f"must be below {_MOST_OBJECTS}", path="n_objects", value=accesses.n_objects)
    tail_first = order == "tail_first"
    if accesses.sizes is not None:
        return _curve_in_bytes(accesses, object_sizes(accesses), tail_first, warmup, progress)
    if accesses.chain:
        return _curve_of_chains(accesses, tail_first, warmup, progress)
    return _curve(accesses, warmup, progress)


def sizes_are_fixed(accesses: Accesses) -> bool:
    """Whether every object has one size."""
    assert accesses.sizes is not None
    return bool((_last_sizes(accesses)[accesses.ids] == accesses.sizes).all())


def object_sizes(accesses: Accesses) -> Counts:
    """i8 (n_objects,), bytes of each object; 0 for one that is not accessed.

    Raises:
        InputError: an object changes its size.
    """
    assert accesses.sizes is not None
    sizes = _last_sizes(accesses)
    changed = sizes[accesses.ids] != accesses.sizes
    if changed.any():
        k = int(np.argmax(changed))
        rule = f"object {accesses.ids[k]} changes its size, so that one pass cannot answer every capacity"
        hint = "replay each capacity, or give objects one size"
        raise InputError(rule, path=f"sizes[{k}]", value=int(accesses.sizes[k]), hint=hint)
    return sizes


def _last_sizes(accesses: Accesses) -> Counts:
    assert accesses.sizes is not None
    sizes = np.zeros(accesses.n_objects, np.int64)
    sizes[accesses.ids] = accesses.sizes
    return sizes


def _curve(accesses: Accesses, warmup: int, progress: Progress | None) -> LruCurve:
    hits = np.zeros(accesses.n_objects, np.int64)
    st = distances.State(ids=np.zeros(0), hits=hits, **new_order(accesses.n_objects))
    before = 0
    for first, end in spans(accesses, warmup):
        if first == warmup:
            hits[:] = 0
            before = int(st.order[0].live)
        a, b = place(accesses, first), place(accesses, end)
        run_pass(distances, st._replace(ids=sealed(accesses.ids[a:b])))
        _report(progress, b, accesses)
    counted = _cumulated(hits)
    return LruCurve(
        definition=definition_of(accesses, True),
        accesses=len(accesses) - place(accesses, warmup),
        hits=counted,
        touched=counted,
        distinct=(before, int(st.order[0].live)),
    )


def _curve_of_chains(accesses: Accesses, tail_first: bool, warmup: int, progress: Progress | None) -> LruCurve:
    assert accesses.request_start is not None
    n = accesses.n_objects
    tokens = np.zeros(0, np.int32) if accesses.tokens is None else accesses.tokens
    counts = [np.zeros(n, np.int64), np.zeros(n if len(tokens) else 0, np.int64), np.zeros(n, np.int64)]
    run = np.array([tail_first, 0], np.int64)
    made = dict(zip(("hits", "hit_tokens", "touched"), counts, strict=True))
    st = distances_chain.State(ids=0, start=0, tokens=0, run=run, **made, **new_order(n))
    before = 0
    for first, end in spans(accesses, warmup):
        if first == warmup:
            for count in counts:
                count[:] = 0
            run[1] = 0
            before = int(st.order[0].live)
        a, b = place(accesses, first), place(accesses, end)
        given = {"ids": accesses.ids[a:b], "start": accesses.request_start[first : end + 1], "tokens": tokens[a:b]}
        run_pass(distances_chain, st._replace(**{name: sealed(array) for name, array in given.items()}))
        _report(progress, b, accesses)
    after = slice(place(accesses, warmup), None)
    return LruCurve(
        definition=definition_of(accesses, tail_first),
        accesses=len(accesses.ids[after]),
        tokens=int(tokens[after].sum(dtype=np.int64)),
        hits=_cumulated(counts[0]),
        hit_tokens=_cumulated(counts[1]) if len(tokens) else None,
        touched=_cumulated(counts[2]),
        distinct=(before, int(st.order[0].live)),
        out_of_order=int(run[1]),
    )


def _curve_in_bytes(accesses: Accesses, sizes: Counts, tail_first: bool, warmup: int, progress: Progress | None) -> LruCurve:
    assert accesses.sizes is not None
    slots = time_slots(accesses.n_objects, distances_bytes.SECTOR)
    st = distances_bytes.State(
        ids=0,
        start=sealed(np.zeros(0, np.int64)),
        tail_first=np.array([tail_first], np.uint8),
        size=sizes,
        distance=0,
        order=_record(distances_bytes.ORDER, slots),
        last=np.full(accesses.n_objects, distances_bytes.NEVER, np.uint32),
        owner=np.zeros(slots, np.uint32),
        near=np.zeros(slots, np.int64),
        run=np.zeros(slots // 32, np.int64),
        far=np.zeros(slots // 1024, np.int64),
        top=np.zeros(slots // distances_bytes.SECTOR + 1, np.int64),
    )
    found = np.zeros(len(accesses), np.int64)
    for first, end in spans(accesses, warmup):
        a, b = place(accesses, first), place(accesses, end)
        given = {"ids": sealed(accesses.ids[a:b])}
        if accesses.chain:
            assert accesses.request_start is not None
            given["start"] = sealed(accesses.request_start[first : end + 1])
        run_pass(distances_bytes, st._replace(**given, distance=found[a:b]))
        _report(progress, b, accesses)
    after = slice(place(accesses, warmup), None)
    chained_tokens = accesses.tokens[after] if accesses.chain and accesses.tokens is not None else None
    weights = [None, accesses.sizes[after], *([] if chained_tokens is None else [chained_tokens])]
    steps, hits = _by_distance(found[after], weights)
    return LruCurve(
        definition=definition_of(accesses, tail_first),
        accesses=len(found[after]),
        asked_bytes=int(accesses.sizes[after].sum()),
        tokens=0 if chained_tokens is None else int(chained_tokens.sum(dtype=np.int64)),
        smallest=int(accesses.sizes.max()),
        steps=steps,
        hits=hits[0],
        hit_bytes=hits[1],
        hit_tokens=hits[2] if chained_tokens is not None else None,
    )


def _by_distance(found: Counts, weights: list[NDArray[Any] | None]) -> tuple[Counts, list[Counts]]:
    """The distances above 0, rising, and the sums of each weight, by default 1, up to each of them, behind a 0."""
    hit = np.flatnonzero(found)
    hit = hit[np.argsort(found[hit])]
    rising = found[hit]
    last = np.flatnonzero(np.append(rising[1:] != rising[:-1], True)[: len(rising)])
    sums = []
    for weight in weights:
        total = np.arange(1, len(hit) + 1) if weight is None else np.cumsum(weight[hit], dtype=np.int64)
        sums.append(np.concatenate(([0], total[last])))
    return rising[last], sums


def new_order(n_objects: int, slots: int | None = None) -> dict[str, Any]:
    """The fields of `passes.distances_order`, for objects not used yet; `slots` of time, more than there are objects."""
    slots = time_slots(n_objects, distances_order.SECTOR) if slots is None else slots
    sectors = slots // distances_order.SECTOR + 1
    words, groups = (sectors * distances_order.SECTOR // width for width in (64, 64 * 32))
    return {
        "order": _record(distances_order.ORDER, slots),
        "last": np.full(n_objects, distances_order.NEVER, np.uint32),
        "bits": np.zeros(words, np.uint64),
        "near": np.zeros(words, np.uint16),
        "far": np.zeros(groups, np.uint16),
        "top": np.zeros(sectors, np.uint32),
    }


def time_slots(n_objects: int, sector: int) -> int:
    """Twice as many as objects, so that gaps are closed only once in as many accesses; whole sectors."""
    return (2 * n_objects // sector + 1) * sector


def _record(dtype: np.dtype[Any], slots: int) -> Any:
    order = np.zeros(1, dtype).view(np.recarray)
    order[0].slots = slots
    return order


def _cumulated(counts: Counts) -> Counts:
    """Sums below each capacity from 0 on, as far as they rise."""
    seen = np.flatnonzero(counts)
    return np.concatenate(([0], np.cumsum(counts[: int(seen[-1]) + 1 if len(seen) else 0], dtype=np.int64)))


def _report(progress: Progress | None, done: int, accesses: Accesses) -> None:
    if progress is not None:
        progress(done, len(accesses))
