"""Persistence of importance: evict, half of the budget at once, what was least often of importance lately.

Liu et al., "Scissorhands: Exploiting the Persistence of Importance Hypothesis for LLM KV Cache Compression at Test Time",
NeurIPS 2023, arXiv 2305.17118, algorithms 1 and 2. There each generated token gives a row of attention; for each token kept, a
record says in how many of the last w rows it got less than the average, the last r tokens are exempt, and when the budget is
exceeded the m tokens with the highest record are dropped at once. Here a token is a whole object, attention is accesses, and
a row is a number of accesses that hit or entered, `row_share` for each object kept: in a row an object is below average if it
got fewer of them than accesses of the row / objects kept at its end. m is half of the budget and r is 10 as in the paper; w
is 64 rows (at most, one bit each) where the paper has 400, whose rows are single steps.

Among equal records the object that entered first is dropped first. Rows before an object entered do not count for it.

Deviation: the batch is dropped lazily, highest record first, each time room is needed. Until then its objects still hit; one
that is asked for leaves the batch and goes on as the newcomer that it would be had it been dropped and fetched again. So the
store holds what one that drops at once would hold, and beyond that only what is on its way out, which counts in no average.
Where objects have sizes, m is in bytes.

Pins: a pinned object is not put into a batch, and a pin takes an object out of it as a hit does.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.kernel import (
    Int,
    Slot,
    State,
    kernel,
    list_clear,
    list_head,
    list_insert,
    list_remove,
    pinned,
    size_of,
)
from simcore.specs.base import Spec

ROWS = 64  # the most a record can span

FIELDS = (("record", np.uint64), ("row", np.uint32), ("touches", np.uint32), ("standing", np.uint8), ("level", np.uint8))
STORE_FIELDS = (
    ("row_now", np.uint32),
    ("row_done", np.int64),
    ("in_record", np.uint64),  # a bit for each row that counts
    ("leaving", np.int64),  # objects in the batch
    ("worst", np.int64),  # highest record in the batch, or above
)
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True

KEPT = 0  # the list of those not in the batch, in order of entry
ABSENT, STAYS, LEAVES = 0, 1, 2  # standing: of a slot that is free, of a member of KEPT, of one of the batch


class Params(Spec):
    """Parameters.

    Attributes:
        history: rows that a record spans (w).
        row_share: accesses of a row, for each object kept.
        drop_share: of the capacity, dropped at once (m).
        exempt: objects that entered last and are not dropped (r), unless there are no others.
    """

    history: int = Field(default=ROWS, ge=1, le=ROWS)
    row_share: float = Field(default=1 / 16, gt=0, le=1024)
    drop_share: float = Field(default=0.5, gt=0, le=1)
    exempt: int = Field(default=10, ge=0)


def SPARE_NODES(slots: int, n_objects: int) -> int:
    return ROWS + 1  # heads of the batch, by record


def WORDS(slots: int, n_objects: int) -> int:
    return ROWS  # accesses in each of the last rows below which an object was below average


def REALS(slots: int, n_objects: int) -> int:
    return ROWS + 1  # units by record


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, KEPT))
    for record in range(ROWS + 1):
        list_clear(st, _batch(st, s, record))
    st.store[s].in_record = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(ROWS - st.store[s].history)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if st.node[i].standing == LEAVES:
        _start_anew(st, s, i)
    _catch_up(st, s, i)
    _touch(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    while True:
        while st.store[s].worst >= 0:
            head = _batch(st, s, st.store[s].worst)
            if st.node[head].next != head:
                return st.node[head].next
            st.store[s].worst -= 1
        _fill_batch(st, s)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    _enter(st, s, i)
    _touch(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    st.store[s].leaving -= np.int64(st.node[i].standing == LEAVES)
    st.node[i].standing = ABSENT
    list_remove(st, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    if st.node[i].standing == LEAVES:
        _start_anew(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def _batch(st: State, s: Int, record: Int) -> Slot:
    return np.uint32(st.store[s].spare + np.uint32(record))


@kernel
def _start_anew(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
    st.store[s].leaving -= 1
    _enter(st, s, i)


@kernel
def _enter(st: State, s: Int, i: Slot) -> None:
    st.node[i].record = np.uint64(0)
    st.node[i].row = st.store[s].row_now
    st.node[i].touches = np.uint32(0)
    st.node[i].standing = STAYS
    list_insert(st, i, list_head(st, s, KEPT))


@kernel
def _touch(st: State, s: Int, i: Slot) -> None:
    """One access of the row, which may be its last."""
    st.node[i].touches += np.uint32(1)
    done = st.store[s].row_done + 1
    held = st.store[s].count - st.store[s].leaving
    if np.float64(done) >= st.store[s].row_share * np.float64(held):
        row = st.store[s].row_now
        st.words[st.store[s].words + np.uint64(row % np.uint32(ROWS))] = (done + held - 1) // held
        st.store[s].row_now = row + np.uint32(1)
        done = 0
    st.store[s].row_done = done


@kernel
def _catch_up(st: State, s: Int, i: Slot) -> None:
    """Enter the rows that have ended since the object was looked at: the one it was in, then rows without an access to it."""
    row = st.node[i].row
    rows = np.uint64(st.store[s].row_now - row)
    if rows == np.uint64(0):
        return
    if rows > np.uint64(ROWS):
        st.node[i].record = np.uint64(0xFFFFFFFFFFFFFFFF)
    else:
        below = np.uint64(st.node[i].touches < st.words[st.store[s].words + np.uint64(row % np.uint32(ROWS))])
        without = rows - np.uint64(1)
        record = (st.node[i].record << np.uint64(1)) | below
        st.node[i].record = (record << without) | ((np.uint64(1) << without) - np.uint64(1))
    st.node[i].row = st.store[s].row_now
    st.node[i].touches = np.uint32(0)


@kernel
def _record(st: State, s: Int, i: Slot) -> Int:
    """Rows below average: the bits set."""
    x = st.node[i].record & st.store[s].in_record
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _fill_batch(st: State, s: Int) -> None:
    """The objects with the highest records, together `drop_share` of the capacity, go into the batch, which is empty."""
    units = _weigh(st, s)
    exempt = min(st.store[s].exempt, st.store[s].count - 1)
    if _exempt(st, s, exempt) == units:  # all others are pinned
        _weigh(st, s)
        exempt = 0
    record = ROWS
    left = max(1.0, np.floor(st.store[s].drop_share * np.float64(st.store[s].cap))) - st.reals[_units(st, s, record)]
    while left > 0.0 and record > 0:
        record -= 1
        left -= st.reals[_units(st, s, record)]
    left += st.reals[_units(st, s, record)]  # of the lowest record, as much as is missing
    _doom(st, s, st.store[s].count - exempt, record, left)
    st.store[s].worst = ROWS


@kernel
def _units(st: State, s: Int, record: Int) -> Int:
    """Index into `st.reals` of the units of capacity that may be dropped and have this record."""
    return st.store[s].reals + np.uint64(record)


@kernel
def _weigh(st: State, s: Int) -> float:
    """Units by record of all that are not pinned; returns their sum. Goes through the slots, which is faster than the list."""
    for record in range(ROWS + 1):
        st.reals[_units(st, s, record)] = 0.0
    units = 0.0
    first = st.store[s].first
    for k in range(st.store[s].slots):
        i = np.uint32(first + k)
        if st.node[i].standing == STAYS:
            _catch_up(st, s, i)
            record = _record(st, s, i)
            st.node[i].level = record
            if not pinned(st, i):
                size = np.float64(size_of(st, i))
                st.reals[_units(st, s, record)] += size
                units += size
    return units


@kernel
def _exempt(st: State, s: Int, exempt: Int) -> float:
    """Take out the `exempt` objects that entered last; returns their units."""
    units = 0.0
    i = list_head(st, s, KEPT)
    for _ in range(exempt):
        i = st.node[i].prev
        if not pinned(st, i):
            size = np.float64(size_of(st, i))
            st.reals[_units(st, s, st.node[i].level)] -= size
            units += size
    return units


@kernel
def _doom(st: State, s: Int, looked_at: Int, lowest: Int, left: float) -> None:
    """All with a record above `lowest`, and of those with that record the first until `left` units are taken."""
    i = st.node[list_head(st, s, KEPT)].next
    for _ in range(looked_at):
        after = st.node[i].next
        record = np.int64(st.node[i].level)
        if not pinned(st, i) and (record > lowest or (record == lowest and left > 0.0)):
            if record == lowest:
                left -= np.float64(size_of(st, i))
            list_remove(st, i)
            list_insert(st, i, _batch(st, s, record))
            st.node[i].standing = LEAVES
            st.store[s].leaving += 1
        i = after
