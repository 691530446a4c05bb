"""Curves behind a filter, of caches in sets and from samples: the same as replays one by one; and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.replay import store, sweep
from simcore.replay.curve import default_capacities, miss_ratio_curve
from simcore.replay.engine import policy_module
from simcore.replay.offline import sees_the_future
from simcore.replay.run import replay
from simcore.replay.sampling import GROUPS, sample
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


def test_numbers_of_numpy_are_numbers() -> None:
    for policy, params in (("s3fifo", {"small_share": np.float32(0.5)}), ("lru_k", {"k": np.int64(3)})):
        plain = {key: value.item() for key, value in params.items()}
        first, again = (miss_ratio_curve(trace(), [(policy, given)], CAPACITIES)[0] for given in (params, plain))
        assert first.params == again.params == plain and first.hit_ratio.tolist() == again.hit_ratio.tolist()
    within = {"second_hit_within": np.int32(300)}
    miss_ratio_curve(trace(), ["lru"], CAPACITIES, admission=("second_hit", within))
    assert len(list(store.root().glob("*.json"))) == 3


def test_a_default_that_is_written_out_is_the_default() -> None:
    (first,) = miss_ratio_curve(trace(), ["s3fifo"], CAPACITIES)
    share = policy_module("s3fifo").Params().small_share
    (again,) = miss_ratio_curve(trace(), [("s3fifo", {"small_share": share})], CAPACITIES)
    assert first.params == again.params == {} and len(list(store.root().glob("*.json"))) == 1


def sized() -> Accesses:
    rng = np.random.default_rng(4)
    ids = np.concatenate((np.arange(12_000), (12_000 * rng.random(12_000) ** 2).astype(np.int64)))
    return Accesses.of(ids, sizes=rng.integers(100, 3_000, 12_000)[ids])


def test_capacities_of_a_sample_begin_where_its_parts_hold_the_largest_object() -> None:
    accesses = sized()
    assert accesses.sizes is not None
    largest = int(accesses.sizes.max())
    found = default_capacities(accesses, 6, sample=0.5)
    assert found[0] == 2 * GROUPS * largest and found[-1] == default_capacities(accesses, 6)[-1]
    (curve,) = miss_ratio_curve(accesses, ["fifo"], count=6, sample=0.5)
    assert curve.capacity.tolist() == found.tolist()
    assert curve.error is not None and curve.byte_error is not None and curve.token_error is None
    assert (curve.byte_error > 0).any() and (curve.byte_error != curve.error).any()
    with pytest.raises(InputError, match="rate: leaves a sample that needs capacities of at least"):
        default_capacities(accesses, 6, sample=0.002)
    with pytest.raises(InputError, match="rate: must be between 0 and 1"):
        default_capacities(accesses, 6, sample=0.0)


def test_a_warmup_that_a_part_of_the_sample_cannot_have_is_refused() -> None:
    accesses = sized()
    with pytest.raises(InputError, match="warmup: must leave an access in each of the 16 parts of the sample; got 23990"):
        miss_ratio_curve(accesses, ["lru", "fifo"], [1_000_000], sample=0.5, warmup=23_990)
    assert miss_ratio_curve(accesses, ["lru"], [1_000_000], sample=0.5, warmup=20_000)[0].error is not None


def test_messages_name_the_capacity_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object, **named: object) -> None:
        raise InputError("is wrong", path="policy")

    monkeypatch.setattr(sweep, "replay", failing)
    with pytest.raises(InputError, match="fifo at capacity 1000000: is wrong"):
        miss_ratio_curve(sized(), ["fifo"], [1_000_000], sample=0.5)


def test_a_negative_seed_of_a_sample_is_refused() -> None:
    with pytest.raises(InputError, match="seed: must be at least 0; got -3"):
        sample(sized(), 0.5, seed=-3)


def test_intervals_of_bytes_hold_what_all_of_the_trace_has() -> None:
    accesses, capacities = sized(), [2_000_000, 5_000_000, 10_000_000]
    (truth,) = miss_ratio_curve(accesses, ["lru"], capacities)
    inside = []
    for seed in range(20):
        (curve,) = miss_ratio_curve(accesses, ["lru"], capacities, sample=0.5, seed=seed)
        assert curve.byte_hit_ratio is not None and curve.byte_error is not None and truth.byte_hit_ratio is not None
        inside.append(np.abs(curve.byte_hit_ratio - truth.byte_hit_ratio) <= curve.byte_error)
    assert np.mean(inside) >= 0.85
