"""References to objects in numbers: how often, how large, by which table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.traces.accesses import Accesses
from simcore.traces.densify import Densifier
from simcore.traces.describe.summary import summary

LISTED = 100  # categories, those with most accesses
_AT_ONCE = 1 << 24

Counts = NDArray[np.int64]


def access_counts(accesses: Accesses) -> Counts:
    """i8 (n_objects,): accesses to each object. A mapped trace is read through, not held."""
    counts = np.zeros(accesses.n_objects, np.int64)
    for at in range(0, len(accesses), _AT_ONCE):
        counts += np.bincount(accesses.ids[at : at + _AT_ONCE], minlength=accesses.n_objects)
    return counts


def describe_reuse(accesses: Accesses, counts: Counts) -> dict[str, Any] | str:
    """`ceiling`: share of accesses to what was accessed before, which no cache exceeds; `ceiling_bytes`: the same by bytes;
    `seen_once`: share of objects that are accessed once. A reason in words where nothing recurs."""
    if len(accesses) == accesses.n_objects:
        what = "block" if accesses.chain else "object"
        return f"no {what} occurs twice, as where a format does not tell what requests share"
    return {
        "ceiling": (len(accesses) - accesses.n_objects) / len(accesses),
        "ceiling_bytes": None if accesses.sizes is None else _repeated_bytes(accesses),
        "seen_once": int((counts == 1).sum()) / accesses.n_objects,
    }


def describe_sizes(accesses: Accesses) -> dict[str, Any] | str:
    """Sizes asked for, in bytes; `asked_bytes` in all, `distinct_bytes` of every object once, as large as when asked for last;
    `changing_objects` are those asked for in several sizes."""
    sizes = accesses.sizes
    if sizes is None:
        return "the trace has no sizes"
    last = np.zeros(accesses.n_objects, np.int64)
    last[accesses.ids] = sizes
    changed = np.zeros(accesses.n_objects, np.bool_)
    changed[accesses.ids[last[accesses.ids] != sizes]] = True
    return {
        **{f"{name}_bytes": value for name, value in summary(sizes).items()},
        "asked_bytes": int(sizes.sum()),
        "distinct_bytes": int(last.sum()),
        "changing_objects": int(changed.sum()),
    }


def describe_categories(accesses: Accesses) -> dict[str, Any] | str:
    """By category (table; kind of request: tenant and turn), those with most accesses first and at most 100 of them: accesses,
    distinct objects and the ceiling of a cache of its own."""
    column = accesses.category
    n = 0 if column is None else int(column.max()) + 1
    if column is None or n < 2 or (column == column[0]).all():
        return "all is of one table, kind or tenant"
    pairs = Densifier()
    asked, distinct = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for at in range(0, len(accesses), _AT_ONCE):
        part = column[at : at + _AT_ONCE]
        known = len(pairs)
        numbers = pairs.add(part.astype(np.int64) * accesses.n_objects + accesses.ids[at : at + _AT_ONCE])
        new, where = np.unique(numbers, return_index=True)
        asked += np.bincount(part, minlength=n)
        distinct += np.bincount(part[where[new >= known]], minlength=n)
    largest = sorted(np.flatnonzero(asked).tolist(), key=lambda c: (-int(asked[c]), c))
    return {
        "count": len(largest),
        "largest": [
            {
                "category": c,
                "accesses": int(asked[c]),
                "distinct": int(distinct[c]),
                "ceiling": 1 - int(distinct[c]) / int(asked[c]),
            }
            for c in largest[:LISTED]
        ],
    }


def _repeated_bytes(accesses: Accesses) -> float:
    assert accesses.sizes is not None
    first = np.zeros(accesses.n_objects, np.int64)
    first[accesses.ids[::-1]] = accesses.sizes[::-1]  # of repeated indices the last one written stays
    return 1 - int(first.sum()) / int(accesses.sizes.sum())
