"""The frequency sketch against its naive twin, and what it promises."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.compiling.passes import sealed
from simcore.kernel import by_reference, entry
from simcore.sketch import sketch_add, sketch_estimate, sketch_open, sketch_words
from tests.reference.sketch import Sketch


class State(NamedTuple):
    """options: where the sketch is, slots, factor, doorkeeper, conservative."""

    words: Any
    options: Any
    objects: Any
    estimates: Any


def _run(state):  # type: ignore[no-untyped-def]
    st = by_reference(state)
    at = st.options[0]
    sketch_open(st, at, st.options[1], st.options[2], st.options[3] != 0, st.options[4] != 0)
    for k in range(len(st.objects)):
        sketch_add(st, at, st.objects[k])
        st.estimates[k] = sketch_estimate(st, at, st.objects[k])


run = entry(_run, cache=False)
AT = 5


def estimates(objects: np.ndarray, slots: int, factor: int, doorkeeper: bool, conservative: bool) -> list[int]:
    """The estimate of each object right after it is added; what lies around the sketch stays as it is."""
    words = np.zeros(AT + sketch_words(slots) + 3, np.uint32)
    words[:AT] = words[-3:] = 0xABCDEF
    options = np.array([AT, slots, factor, doorkeeper, conservative], np.uint64)
    result = np.zeros(len(objects), np.int64)
    run(State(words, sealed(options), sealed(objects.astype(np.uint32)), result))
    assert (words[:AT] == 0xABCDEF).all() and (words[-3:] == 0xABCDEF).all()
    return result.tolist()


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(1, 20), st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_it_estimates_what_its_twin_does(slots: int, factor: int, doorkeeper: bool, conservative: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    objects = rng.zipf(1.3, 500) % int(rng.integers(1, 400))
    twin = Sketch(slots, factor, doorkeeper, conservative)
    expected = []
    for obj in objects.tolist():
        twin.add(obj)
        expected.append(twin.estimate(obj))
    assert estimates(objects, slots, factor, doorkeeper, conservative) == expected


def test_within_a_sample_it_never_estimates_too_little_and_seldom_too_much() -> None:
    objects = np.random.default_rng(1).integers(0, 1000, 5000)
    for doorkeeper in (False, True):
        seen: Counter[int] = Counter()
        over = 0
        for obj, estimate in zip(objects.tolist(), estimates(objects, 1000, 10, doorkeeper, False), strict=True):
            seen[obj] += 1
            assert estimate >= min(seen[obj], 15)
            over += estimate > seen[obj]
        assert over < len(objects) / 20


def test_a_sample_halves_what_was_counted() -> None:
    objects = np.zeros(25, np.int64)
    assert estimates(objects, 2, 10, False, False) == [*range(1, 16), 15, 15, 15, 15, 7, 8, 9, 10, 11, 12]
    assert estimates(objects, 2, 10, True, False)[:20] == [*range(1, 17), 16, 16, 16, 7]
