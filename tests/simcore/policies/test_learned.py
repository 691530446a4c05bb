"""Learned eviction once it is trained, which takes more accesses than the twins of all policies are given."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.policies.learned import LEARN_EVERY, WINDOW
from simcore.replay.result import Replay
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from tests.reference.eviction.learned import Twin
from tests.reference.replay import replay as naive_replay


def scan_and_hot_set(n: int, hot: int = 200, seed: int = 0) -> list[int]:
    """Objects below `hot`, each as likely as the others, in half of the accesses; between them new ones, never used again."""
    rng = np.random.default_rng(seed)
    keys = np.arange(hot, hot + n)
    used = rng.random(n) < 0.5
    keys[used] = rng.integers(0, hot, used.sum())
    return keys.tolist()


def run(accesses: Accesses, capacity: int, policy: str = "learned", **params: int) -> Replay:
    return replay(accesses, [Tier(capacity=capacity, policy=policy, params=params)], keep_found=True)


@cache
def scanned() -> Accesses:
    return Accesses.of(scan_and_hot_set(3 * WINDOW // 4))


@pytest.mark.parametrize("sized", [False, True])
def test_a_trained_forest_decides_as_the_twin_does(sized: bool) -> None:
    n = WINDOW + 3 * LEARN_EVERY if sized else WINDOW // 4 + LEARN_EVERY  # with sizes, beyond a whole window
    rng = np.random.default_rng(1)
    zipf = rng.choice(3000, n, p=(w := 1 / np.arange(1, 3001) ** 0.9) / w.sum())
    keys = np.where(rng.random(n) < 0.7, zipf, 3000 + np.arange(n) // 2 % 5000)  # a loop through the rest
    dense = Accesses.of(keys)
    sizes = 1 + (dense.ids.astype(np.int64) * 7919) % 50 if sized else None
    capacity = 2000 * (25 if sized else 1)
    twin = Twin(capacity, candidates=4)
    expected = naive_replay(dense.ids.tolist(), None if sizes is None else sizes.tolist(), capacity, twin)
    result = run(dense.with_columns(sizes=sizes), capacity, candidates=4)
    assert result.found is not None and result.found.astype(bool).tolist() == expected
    assert result.tiers[0].trainings == twin.trainings == (5 if sized else 1)


def test_it_tells_a_scan_from_a_hot_set() -> None:
    accesses, capacity = scanned(), 220
    begun = WINDOW // 4 + LEARN_EVERY
    learned, lru = run(accesses, capacity), run(accesses, capacity, "lru")
    assert learned.found is not None and lru.found is not None
    assert learned.found[: WINDOW // 4].tolist() == lru.found[: WINDOW // 4].tolist()  # it is LRU until it knows better
    assert lru.found[begun:].mean() < 0.35
    assert learned.found[begun:].mean() > 0.45  # a half is hot


def test_more_candidates_find_what_to_evict() -> None:
    few, many = run(scanned(), 220, candidates=1), run(scanned(), 220, candidates=32)
    assert few.hits < many.hits
    lru = run(scanned(), 220, "lru")  # the one candidate is the least recently used object
    assert few.found is not None and lru.found is not None and few.found.tolist() == lru.found.tolist()


@pytest.mark.parametrize("candidates", [0, 4097])
def test_the_number_of_candidates_is_bounded(candidates: int) -> None:
    with pytest.raises(InputError, match="candidates"):
        run(Accesses.of([1, 2]), 1, candidates=candidates)


def test_trainings_and_what_they_cost_are_reported() -> None:
    accesses = scanned()
    tier = run(accesses, 220).tiers[0]
    assert tier.trainings == 3  # a quarter of a window each
    assert 0 < tier.training_cpu_s < 60
    later = replay(accesses, [Tier(capacity=220, policy="learned")], warmup=WINDOW // 4 + LEARN_EVERY).tiers[0]
    assert later.trainings == 2  # after the warm-up
    other = run(accesses, 220, "lru").tiers[0]
    assert (other.trainings, other.training_cpu_s) == (0, 0.0)


def test_what_gives_no_forest_is_no_training() -> None:
    once = Accesses.of(np.arange(WINDOW // 4 + LEARN_EVERY))  # nothing is ever used again
    learned, lru = run(once, 50), run(once, 50, "lru")
    assert learned.tiers[0].trainings == 0 and learned.tiers[0].evictions == lru.tiers[0].evictions


def test_a_replay_repeats_itself() -> None:
    first, second = run(scanned(), 100), run(scanned(), 100)
    assert first.found is not None and second.found is not None and first.found.tobytes() == second.found.tobytes()
    assert first.tiers == second.tiers  # the time it took is no part of equality


def test_it_learns_after_a_preload() -> None:
    accesses = scanned()
    result = replay(accesses, [Tier(capacity=220, policy="learned")], preload=True)
    assert result.tiers[0].trainings == 3 and result.hit_ratio > run(accesses, 220, "lru").hit_ratio


def test_it_learns_below_another_tier() -> None:
    tiers = [Tier(capacity=20, name="a"), Tier(capacity=200, name="b", policy="learned")]
    below = [Tier(capacity=20, name="a"), Tier(capacity=200, name="b")]
    learned, lru = replay(scanned(), tiers), replay(scanned(), below)
    assert learned.tiers[1].trainings > 0 and learned.tiers[0].hits == lru.tiers[0].hits
    assert learned.tiers[1].hits > lru.tiers[1].hits


def test_a_cache_of_sets_is_refused() -> None:
    with pytest.raises(InputError, match="divided into sets"):
        replay(Accesses.of([1, 2, 3]), [Tier(capacity=4, policy="learned", ways=2)])
