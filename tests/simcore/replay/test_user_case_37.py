"""Questions of users of libCacheSim (its issues 25, 83 and 136).

Why is the offline optimum the worst line of my plot? There the trace did not say when objects are next asked for. May I sample
a large trace? Only with capacities scaled like it. And the miss ratio is wanted by requests and by bytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.replay.curve import miss_ratio_curve
from simcore.replay.run import replay
from simcore.replay.sampling import sampled, scaled_capacity
from simcore.replay.setup import Tier
from simcore.replay.stream import replay_stream
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses

POLICIES = ["lru", "fifo", "lfu", "arc", "s3fifo"]
SHARES = np.array([0.003, 0.01, 0.03, 0.1, 0.3])
RATE = 0.3


@pytest.fixture(autouse=True)
def _own_curves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("simcore.replay.store.root", lambda: tmp_path / "curves")


@pytest.fixture(scope="module")
def requests(shared: Path) -> Accesses:
    """Web requests with sizes: 36,815 objects of 43 bytes to 4 MB."""
    return read_accesses(shared / "traces/classical/adaptsize_request.trace.xz")


@pytest.fixture(scope="module")
def counted(requests: Accesses) -> Accesses:
    """The same, every object one unit."""
    return requests.with_columns(sizes=None)


def of_objects(accesses: Accesses) -> np.ndarray:
    return (SHARES * accesses.n_objects).astype(np.int64)


def of_bytes(accesses: Accesses) -> np.ndarray:
    assert accesses.sizes is not None
    return (SHARES * int(accesses.sizes.sum())).astype(np.int64)


def test_no_line_lies_below_the_offline_optimum(counted: Accesses) -> None:
    *lines, belady, bypass = miss_ratio_curve(counted, [*POLICIES, "belady", "min"], of_objects(counted))
    for line in lines:  # all of them let every object enter
        assert (line.hit_ratio <= belady.hit_ratio).all(), line.policy
    assert (belady.hit_ratio <= bypass.hit_ratio).all()
    assert (belady.hit_ratio[:-1] > 1.05 * np.max([line.hit_ratio[:-1] for line in lines], axis=0)).all()


def test_the_optimum_finds_the_future_itself(counted: Accesses) -> None:
    """A trace without next-access times is enough: they follow from it."""
    capacity = int(of_objects(counted)[2])
    assert replay(counted, [Tier(capacity=capacity, policy="belady")]).hits > replay(counted, [Tier(capacity=capacity)]).hits


def test_without_the_future_the_optimum_is_refused_rather_than_wrong(counted: Accesses) -> None:
    parts = np.array_split(counted.ids, 5)
    for policy in ("belady", "min"):
        with pytest.raises(InputError, match="needs next_use, which a stream does not know"):
            replay_stream(parts, counted.n_objects, [Tier(capacity=100, policy=policy)])
    by_parts = replay_stream(parts, counted.n_objects, [Tier(capacity=100)])
    assert by_parts.hits == replay(counted, [Tier(capacity=100)]).hits


def test_misses_are_told_by_requests_and_by_bytes(requests: Accesses) -> None:
    """They differ, and so does the best policy by each: gdsf keeps small objects."""
    by_bytes = of_bytes(requests)
    lru, gdsf = miss_ratio_curve(requests, ["lru", "gdsf"], by_bytes)
    for line in (lru, gdsf):
        assert line.byte_hit_ratio is not None
        runs = [replay(requests, [Tier(capacity=int(c), policy=line.policy)]) for c in by_bytes]
        assert line.hit_ratio.tolist() == [run.hit_ratio for run in runs]
        assert line.byte_hit_ratio.tolist() == [run.byte_hit_ratio for run in runs]
    assert (abs(lru.hit_ratio - lru.byte_hit_ratio) > 0.01).any()
    assert gdsf.hit_ratio[1] > lru.hit_ratio[1] + 0.05
    assert gdsf.byte_hit_ratio is not None and (gdsf.byte_hit_ratio < gdsf.hit_ratio).any()


def test_a_sample_needs_capacities_as_small_as_itself(counted: Accesses) -> None:
    part = sampled(counted, RATE)
    exact, scaled, unscaled = [], [], []
    for capacity in of_objects(counted).tolist():
        exact.append(len(counted) - replay(counted, [Tier(capacity=capacity)]).hits)
        scaled.append((len(part) - replay(part, [Tier(capacity=scaled_capacity(capacity, RATE))]).hits) / RATE)
        unscaled.append((len(part) - replay(part, [Tier(capacity=capacity)]).hits) / RATE)
    error = np.abs(np.array([scaled, unscaled]) - exact) / len(counted)
    assert error[0].mean() < 0.015
    assert error[1].mean() > 3 * error[0].mean()


def test_a_sampled_line_states_its_error(counted: Accesses) -> None:
    """And is, on average, no further from the truth than that."""
    capacities = of_objects(counted)
    for policy in ("lru", "s3fifo"):
        (exact,) = miss_ratio_curve(counted, [policy], capacities)
        (part,) = miss_ratio_curve(counted, [policy], capacities, sample=RATE)
        assert part.error is not None and part.rate == pytest.approx(RATE)
        assert np.abs(part.hit_ratio - exact.hit_ratio).mean() < part.error.mean()
        assert part.error.mean() < 0.03
