"""Samples: what they keep, how far from the truth their curves are, and whether they know it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.replay.curve import miss_ratio_curve
from simcore.replay.distances import lru_curve
from simcore.replay.run import replay
from simcore.replay.sampling import GROUPS, Sample, half_width, sample, sampled, scaled_capacity
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses
from simcore.traces.zipf import zipf_stream


@pytest.fixture(autouse=True)
def _own_curves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("simcore.replay.store.root", lambda: tmp_path / "curves")


@pytest.fixture(scope="module")
def zipf() -> Accesses:
    return Accesses.of(np.concatenate(list(zipf_stream(2_000_000, 200_000, 0.9, seed=1))))


def test_all_accesses_of_some_objects_are_kept() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 60_000, 300_000)
    columns = {"sizes": rng.integers(1, 9, 300_000), "category": rng.integers(0, 3, 300_000), "tokens": np.full(300_000, 7)}
    start = np.unique(np.append(rng.integers(0, 300_000, 50_000), [0, 300_000]))
    accesses = Accesses.of(ids, request_start=start, chain=True, **columns)
    part = sample(accesses, 0.2, seed=3, warmup=10_000, groups=True)
    taken = part.accesses
    assert abs(taken.n_objects / accesses.n_objects - 0.2) < 0.01
    assert part.asked == 300_000 - start[10_000] and part.tokens == 7 * part.asked and part.warmup == 10_000
    # Find the objects that were taken again: the first access of each says which they are.
    request = np.repeat(np.arange(len(start) - 1), np.diff(start))
    assert taken.request_start is not None and taken.sizes is not None and taken.category is not None
    taken_request = np.repeat(np.arange(len(start) - 1), np.diff(taken.request_start))
    kept = np.zeros(accesses.n_objects, bool)
    for obj in range(0, taken.n_objects, 997):
        at = int(np.argmax(taken.ids == obj))
        here = (request == taken_request[at]) & (accesses.sizes == taken.sizes[at]) & (accesses.category == taken.category[at])
        kept[accesses.ids[here]] = True
        assert len(np.flatnonzero(taken.ids == obj)) in np.bincount(accesses.ids)[accesses.ids[here]]
    assert len(np.unique(taken.ids)) == taken.n_objects
    assert (np.diff(np.unique(taken.ids, return_index=True)[1]) > 0).all()  # numbered by first appearance
    assert sum(len(group.accesses) for group in part.groups) == len(taken)
    assert sum(group.accesses.n_objects for group in part.groups) == taken.n_objects
    assert [group.rate for group in part.groups] == [part.rate / GROUPS] * GROUPS


def test_the_seed_decides_and_nothing_else(zipf: Accesses) -> None:
    first, again, other = (sampled(zipf, 0.1, seed) for seed in (5, 5, 6))
    assert first.ids.tobytes() == again.ids.tobytes() and first.key == again.key
    assert first.key != other.key and first.ids.tobytes() != other.ids.tobytes()
    assert scaled_capacity(12_345, 0.1) == 1_235  # 1234.5, and the rate is the nearest of 32 bits


def test_a_sample_too_small_is_refused(zipf: Accesses) -> None:
    with pytest.raises(InputError, match=r"must leave at least 5000 of the \d+ objects.*Sample at 0.0\d+ or more"):
        sample(zipf, 0.01)
    with pytest.raises(InputError, match="It is small: use all of it"):
        sample(Accesses.of([1, 2, 3]), 0.5)
    for rate in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(InputError, match="must be between 0 and 1"):
            sample(zipf, rate)


def estimates(part: Sample, capacities: NDArray[np.int64]) -> NDArray[np.float64]:
    curve = lru_curve(part.accesses)
    return 1 - part.miss_ratio(curve.accesses - curve.hits_at(part.capacity(capacities)), part.asked)


def covered(accesses: Accesses, rate: float, seeds: range) -> tuple[float, float]:
    """Share of (seed, capacity) whose error is no larger than estimated, and the mean error."""
    capacities = np.unique(np.geomspace(accesses.n_objects / 1000, accesses.n_objects, 60).astype(np.int64))
    truth = lru_curve(accesses).hit_ratio(capacities)
    inside, errors = [], []
    for seed in seeds:
        part = sample(accesses, rate, seed=seed, groups=True)
        error = np.abs(np.clip(estimates(part, capacities), 0, 1) - truth)
        inside.append(error <= half_width(np.array([estimates(group, capacities) for group in part.groups])))
        errors.append(error)
    return float(np.mean(inside)), float(np.mean(errors))


def test_the_error_is_within_its_estimate(zipf: Accesses) -> None:
    inside, error = covered(zipf, 0.1, range(30))
    assert inside >= 0.9
    assert error < 0.02


@pytest.mark.parametrize(
    "name", ["kv/mooncake_conversation.jsonl.zst", "embedding/scarab-recs.trace.xz", "classical/arc_OLTP.lis.zst"]
)
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_the_error_of_real_traces_is_within_its_estimate(shared: Path, name: str, rate: float) -> None:
    inside, error = covered(read_accesses(shared / "traces" / name), rate, range(8))
    assert inside >= 0.9
    assert error < 0.012


@pytest.mark.slow
def test_a_tenth_of_ten_million_accesses_is_enough() -> None:
    accesses = Accesses.of(np.concatenate(list(zipf_stream(10_000_000, 1_000_000, 0.9, seed=0))))
    inside, error = covered(accesses, 0.1, range(10))
    assert inside >= 0.9
    assert error <= 0.005


def test_the_correction_is_needed(zipf: Accesses) -> None:
    capacity = np.array([zipf.n_objects // 20])
    truth = lru_curve(zipf).hit_ratio(capacity)
    parts = [sample(zipf, 0.1, seed=seed) for seed in range(20)]
    plain = [lru_curve(p.accesses).hit_ratio(p.capacity(capacity)) - truth for p in parts]
    assert np.mean(np.abs(plain)) > 3 * np.mean([np.abs(estimates(p, capacity) - truth) for p in parts])


@pytest.mark.parametrize("policy", ["sieve", "fifo"])
def test_other_policies_run_on_a_sample(zipf: Accesses, policy: str) -> None:
    capacities = [2_000, 20_000, 100_000]
    truth = [replay(zipf, [Tier(capacity=c, policy=policy)]).hit_ratio for c in capacities]
    inside = []
    for seed in range(20):
        (curve,) = miss_ratio_curve(zipf, [policy], capacities, sample=0.2, seed=seed)
        assert curve.error is not None and curve.rate == pytest.approx(0.2)
        assert (curve.error < 0.05).all()
        inside.append(np.abs(curve.hit_ratio - truth) <= curve.error)
    assert np.mean(inside) >= 0.9


def test_a_cache_that_the_largest_object_would_not_fit_is_refused() -> None:
    ids = np.tile(np.arange(20_000), 3)
    accesses = Accesses.of(ids, sizes=1 + ids % 1_000)
    with pytest.raises(InputError, match="must be at least 32000 bytes"):
        miss_ratio_curve(accesses, ["fifo"], [31_999], sample=0.5)
    (curve,) = miss_ratio_curve(accesses, ["lru"], [32_000, 20_000_000], sample=0.5)
    assert curve.byte_hit_ratio is not None
    assert curve.byte_hit_ratio == pytest.approx([0, 2 / 3], abs=0.02)
