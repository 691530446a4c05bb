"""The counting filter against its naive twin, and what it promises."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.compiling.passes import sealed
from simcore.counting_filter import HASHES, filter_add, filter_estimate, filter_halve, filter_open, filter_words
from simcore.kernel import by_reference, entry
from tests.reference.sketch import CountingFilter


class State(NamedTuple):
    """options: where the filter is, slots, additions between two halvings (0: none)."""

    words: Any
    options: Any
    objects: Any
    estimates: Any


def _run(state):  # type: ignore[no-untyped-def]
    st = by_reference(state)
    at = st.options[0]
    filter_open(st, at, st.options[1])
    for k in range(len(st.objects)):
        filter_add(st, at, st.objects[k])
        if st.options[2] != 0 and (k + 1) % np.int64(st.options[2]) == 0:
            filter_halve(st, at)
        st.estimates[k] = filter_estimate(st, at, st.objects[k])


run = entry(_run, cache=False)
AT = 5


def filled(objects: np.ndarray, slots: int, period: int) -> tuple[list[int], list[int]]:
    """The estimate of each object right after it is added, and all counters; what lies around the filter stays as it is."""
    words = np.zeros(AT + filter_words(slots) + 3, np.uint32)
    words[:AT] = words[-3:] = 0xABCDEF
    result = np.zeros(len(objects), np.int64)
    run(State(words, sealed(np.array([AT, slots, period], np.uint64)), sealed(objects.astype(np.uint32)), result))
    assert (words[:AT] == 0xABCDEF).all() and (words[-3:] == 0xABCDEF).all()
    assert words[AT] == filter_words(slots) - 1
    return result.tolist(), words[AT + 1 : -3].tolist()


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_it_estimates_what_its_twin_does(slots: int, factor: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    objects = rng.zipf(1.3, 500) % int(rng.integers(1, 400))
    twin = CountingFilter(slots, factor)
    expected = []
    for obj in objects.tolist():
        twin.add(obj)
        expected.append(twin.estimate(obj))
    assert filled(objects, slots, slots * factor) == (expected, twin.counters)


def test_it_never_estimates_too_little_and_seldom_too_much() -> None:
    """As many objects as it is for: at the end about one answer in a thousand is wrong, earlier fewer are."""
    objects = np.random.default_rng(1).integers(0, 1000, 20_000)
    seen: Counter[int] = Counter()
    over = 0
    estimates, counters = filled(objects, 1000, 0)
    for obj, estimate in zip(objects.tolist(), estimates, strict=True):
        seen[obj] += 1
        assert estimate >= seen[obj]
        over += estimate > seen[obj]
    assert over < len(objects) / 200
    assert sum(counters) == HASHES * len(objects)


def test_halving_rounds_down() -> None:
    assert filled(np.zeros(10, np.int64), 3, 4)[0] == [1, 2, 3, 2, 3, 4, 5, 3, 4, 5]
