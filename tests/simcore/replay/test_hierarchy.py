"""Tiers of every kind against a naive hierarchy, access by access and counter by counter; and the laws between tiers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.replay.result import Replay
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from tests.reference import hierarchy

MACHINES = (  # policies and filters, top to bottom
    ("lru",),
    ("lru", "fifo"),
    ("lru", "sieve", "fifo"),
    ("lru", "sieve+second_hit", "sieve", "fifo"),
    ("w_tinylfu", "fifo"),
    ("sieve+tinylfu", "min"),
    ("slru", "fifo"),
    ("lru", "slru", "two_q"),
)
PARAMS: dict[str, dict[str, Any]] = {  # objects leave although there is room
    "slru": {"segments": 4, "probation": 0.25, "fill": True, "bounded": True},
    "two_q": {"bounded": True},
}


@st.composite
def tiers_of(draw: Any, most: int, *, sets: bool = False) -> list[Tier]:
    tiers = []
    for number, kind in enumerate(draw(st.sampled_from(MACHINES[:3] if sets else MACHINES))):
        policy, _, admission = kind.partition("+")
        ways = draw(st.integers(1, 4)) if sets else 0
        capacity = draw(st.integers(0, most)) if not sets else ways * draw(st.integers(0, 6))
        placement = draw(st.sampled_from(["exclusive", "inclusive"])) if number else "exclusive"
        tiers.append(
            Tier(
                name=f"t{number}",
                capacity=capacity,
                policy=policy,
                params=PARAMS.get(policy, {}),
                admission=admission or "none",
                placement=placement,
                write=draw(st.sampled_from(["through", "back"])) if placement == "inclusive" else "through",
                ways=ways,
            )
        )
    return tiers


@st.composite
def references(draw: Any, *, sized: bool) -> tuple[list[int], list[int] | None]:
    """Objects numbered by first appearance, and sizes that may change between accesses."""
    n_objects, length = draw(st.integers(1, 25)), draw(st.integers(1, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = 1.0 / np.arange(1, n_objects + 1) ** draw(st.sampled_from([0.0, 0.8, 1.5]))
    ids = Accesses.of(rng.choice(n_objects, size=length, p=weights / weights.sum())).ids.tolist()
    return ids, rng.integers(1, 12, length).tolist() if sized else None


@st.composite
def chains(draw: Any) -> tuple[list[int], list[tuple[int, int]]]:
    """Requests as paths from the root of a random tree of blocks, some of them empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes: dict[tuple[int, int], int] = {}
    keys: list[int] = []
    spans = []
    for _ in range(draw(st.integers(1, 30))):
        first, parent = len(keys), -1
        for _ in range(int(rng.integers(0, 8))):
            parent = nodes.setdefault((parent, int(rng.integers(0, 2))), len(nodes))
            keys.append(parent)
        spans.append((first, len(keys)))
    if not keys:
        return [0], [(0, 1)]
    return Accesses.of(keys).ids.tolist(), spans


def assert_equal(result: Replay, expected: hierarchy.Expected) -> None:
    assert result.found is not None
    assert result.found.tolist() == expected.found
    for tier, counts in zip(result.tiers, expected.tiers, strict=True):
        assert {name: getattr(tier, name) for name in counts} == counts, tier.name
    assert result.duplicates == expected.duplicates


def accesses_of(ids: Sequence[int], sizes: Sequence[int] | None = None, **more: Any) -> Accesses:
    columns = {} if sizes is None else {"sizes": np.array(sizes)}
    return Accesses(ids=np.array(ids, np.uint32), n_objects=max(ids) + 1, **columns, **more)


@pytest.mark.parametrize("sized", [False, True])
@settings(max_examples=100)
@given(data=st.data())
def test_tiers_of_single_accesses(sized: bool, data: st.DataObject) -> None:
    ids, sizes = data.draw(references(sized=sized))
    tiers = data.draw(tiers_of(60 if sized else 12))
    preload = not sized and data.draw(st.booleans())
    warmup = data.draw(st.integers(0, len(ids) - 1))
    result = replay(accesses_of(ids, sizes), tiers, warmup=warmup, preload=preload, keep_found=True)
    assert_equal(result, hierarchy.replay(ids, sizes, tiers, warmup=warmup, preload=preload))
    assert result.asked_bytes == (0 if sizes is None else sum(sizes[warmup:]))


@settings(max_examples=60)
@given(data=st.data())
def test_tiers_divided_into_sets(data: st.DataObject) -> None:
    ids, _ = data.draw(references(sized=False))
    tiers = data.draw(tiers_of(12, sets=True))
    assert_equal(replay(accesses_of(ids), tiers, keep_found=True), hierarchy.replay(ids, None, tiers))


@settings(max_examples=100)
@given(data=st.data(), order=st.sampled_from(["tail_first", "chain"]))
def test_tiers_of_prefix_chains(data: st.DataObject, order: str) -> None:
    ids, spans = data.draw(chains())
    tiers = data.draw(tiers_of(12))
    filled = [r for r, (first, end) in enumerate(spans) if end > first]
    warmup = data.draw(st.integers(0, filled[-1]))  # leaves an access to count
    starts = [first for first, _ in spans] + [len(ids)]
    accesses = accesses_of(ids, request_start=np.array(starts), chain=True)
    result = replay(accesses, tiers, order=order, warmup=warmup, keep_found=True)
    expected = hierarchy.replay(ids, None, tiers, requests=spans, tail_first=order == "tail_first", warmup=warmup)
    assert_equal(result, expected)


@settings(max_examples=50)
@given(data=st.data(), capacities=st.lists(st.integers(1, 8), min_size=1, max_size=4))
def test_exclusive_lru_tiers_are_one_lru_of_their_summed_capacity(data: st.DataObject, capacities: list[int]) -> None:
    ids, _ = data.draw(references(sized=False))
    accesses = accesses_of(ids)
    many = replay(accesses, [Tier(name=f"t{k}", capacity=c) for k, c in enumerate(capacities)], keep_found=True)
    one = replay(accesses, [Tier(capacity=sum(capacities))], keep_found=True)
    assert many.found is not None and one.found is not None
    assert ((many.found > 0) == (one.found > 0)).all()
    assert many.hits == one.hits and many.duplicates == 0
    assert sum(tier.resident for tier in many.tiers) == one.tiers[0].resident


@pytest.mark.parametrize("field", ["used", "count"])
def test_a_policy_that_meddles_with_what_the_engine_counts_is_found_out(tmp_path: Path, field: str) -> None:
    text = (Path(__file__).parents[3] / "simcore/policies/lru.py").read_text()
    broken = tmp_path / "broken.py"
    broken.write_text(text.replace("    pass\n", f"    st.store[s].{field} -= 1\n"))
    with pytest.raises(InputError, match="breaks a law of the engine"):
        replay(accesses_of([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]), [Tier(capacity=30, policy=broken)])
