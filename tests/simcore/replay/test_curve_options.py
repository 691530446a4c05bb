"""Curves behind a filter and of caches in sets: the same as replays one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.replay import store
from simcore.replay.curve import miss_ratio_curve
from simcore.replay.offline import sees_the_future
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses

CAPACITIES = [16, 64, 256]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "root", lambda: tmp_path / "curves")


def trace() -> Accesses:
    rng = np.random.default_rng(3)
    return Accesses.of((500 * rng.random(5_000) ** 2).astype(np.int64))


@pytest.mark.parametrize("policy", ["lru", "s3fifo"])
@pytest.mark.parametrize(
    ("admission", "params", "ways"),
    [("none", {}, 8), ("second_hit", {}, 0), ("second_hit", {"second_hit_within": 300}, 0), ("tinylfu", {}, 4)],
)
def test_a_curve_is_its_replays(policy: str, admission: str, params: dict[str, int], ways: int) -> None:
    accesses = trace()
    curve = miss_ratio_curve(accesses, [policy], CAPACITIES, admission=(admission, params), ways=ways)[0]
    for capacity, ratio in zip(CAPACITIES, curve.hit_ratio, strict=True):
        tier = Tier(capacity=capacity, policy=policy, admission=admission, admission_params=params, ways=ways)
        assert ratio == replay(accesses, [tier]).hit_ratio


def test_filters_and_sets_have_curves_of_their_own_on_disk() -> None:
    accesses = trace()
    kinds = [{}, {"ways": 4}, {"admission": "second_hit"}, {"admission": ("second_hit", {"second_hit_within": 20})}]
    for _ in range(2):  # the second time from the disk
        found = [miss_ratio_curve(accesses, ["lru"], CAPACITIES, **kind)[0].hit_ratio.tolist() for kind in kinds]  # type: ignore[arg-type]
        assert len({tuple(ratio) for ratio in found}) == len(kinds)


def test_a_wrong_filter_is_named() -> None:
    with pytest.raises(InputError, match=r"second_hit\.params\.within"):
        miss_ratio_curve(trace(), ["lru"], CAPACITIES, admission=("second_hit", {"within": 3}))
    with pytest.raises(InputError, match="a sample has no sets"):
        miss_ratio_curve(trace(), ["lru"], CAPACITIES, ways=4, sample=0.5)


def test_who_sees_the_future() -> None:
    assert sees_the_future("belady") and sees_the_future("min")
    assert not sees_the_future("lru") and not sees_the_future("learned")
