"""With objects of one size no policy has more hits than MIN, and none that lets every newcomer enter more than Belady."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.plugins import find, names
from simcore.replay.result import Replay
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses

COLUMNS = {"category", "time_s"}


def run(accesses: Accesses, capacity: int, policy: str) -> Replay:
    return replay(accesses, [Tier(capacity=capacity, policy=policy)])


@st.composite
def cases(draw: Any) -> tuple[Accesses, int]:
    n_objects, length = draw(st.integers(1, 25)), draw(st.integers(1, 250))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = 1.0 / np.arange(1, n_objects + 1) ** draw(st.sampled_from([0.0, 0.8, 1.5]))
    ids = rng.choice(n_objects, size=length, p=weights / weights.sum())
    times = np.cumsum(rng.exponential(1.0, length))
    accesses = Accesses.of(ids).with_columns(category=rng.integers(0, 3, length), time_s=times)
    return accesses, draw(st.integers(0, n_objects + 1))


@pytest.mark.parametrize("name", names("simcore.policies"))
@settings(max_examples=40)
@given(case=cases())
def test_no_policy_beats_the_bounds(name: str, case: tuple[Accesses, int]) -> None:
    accesses, capacity = case
    assert find("simcore.policies", name).NEEDS <= {"next_use", "clock", "depth", "request", *COLUMNS}
    some, most = run(accesses, capacity, name).tiers[0], run(accesses, capacity, "min").tiers[0]
    assert some.hits <= most.hits
    assert some.refused == 0 or capacity == 0 or getattr(find("simcore.policies", name), "MAY_REFUSE", False)
    if some.refused == 0:
        assert some.hits <= run(accesses, capacity, "belady").tiers[0].hits


@pytest.mark.parametrize("name", ["gdsf", "min", "static"])
def test_what_may_refuse_a_newcomer_does(name: str) -> None:
    refused = run(Accesses.of([1, 1, 2, 2, 3, 1, 2]), 2, name).tiers[0].refused
    assert refused == 1 and find("simcore.policies", name).MAY_REFUSE


def fewest_misses(ids: list[int], capacity: int, bypass: bool) -> int:
    """By trying every victim at every miss."""
    states = {frozenset[int](): 0}
    for obj in ids:
        after: dict[frozenset[int], int] = {}
        for held, misses in states.items():
            if obj in held:
                options = [held]
            else:
                misses += 1
                kept = [held] if len(held) < capacity else [held - {victim} for victim in held]
                options = [old | {obj} for old in kept] + ([held] if bypass else [])
            for option in options:
                after[option] = min(misses, after.get(option, misses))
        states = after
    return min(states.values())


@settings(max_examples=60)
@given(ids=st.lists(st.integers(0, 6), min_size=1, max_size=40), capacity=st.integers(1, 5))
def test_the_bounds_are_reached_by_an_exhaustive_search(ids: list[int], capacity: int) -> None:
    accesses = Accesses.of(ids)
    assert len(ids) - run(accesses, capacity, "min").hits == fewest_misses(ids, capacity, bypass=True)
    assert len(ids) - run(accesses, capacity, "belady").hits == fewest_misses(ids, capacity, bypass=False)
