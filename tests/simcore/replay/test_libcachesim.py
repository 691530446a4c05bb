"""Misses equal to those of libCacheSim, an independent simulator in C, on public traces at eight sizes.

Where the docstring of a policy says that it counts otherwise, the difference is held to the bound stated there. Both sides get
the same file: sizes are made constant by object, as the format oracleGeneral has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses, next_use
from simcore.traces.load import read_accesses

lcs = pytest.importorskip("libcachesim")

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.8)  # of all objects or bytes
RECORD = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
FILES = {
    "web12": "cache2k_web12.trace.xz",
    "adaptsize": "adaptsize_request.trace.xz",
    "cloud_physics": "cloudPhysicsIO.oracleGeneral.bin.zst",
    "oltp": "arc_OLTP.lis.zst",
    "orm_busy": "cache2k_orm-busy.trace.xz",
}
SMALL = ("web12", "adaptsize", "cloud_physics")
SIZED = ("adaptsize", "cloud_physics")
NAMES = {
    "fifo": "FIFO",
    "lru": "LRU",
    "clock": "Clock",
    "sieve": "Sieve",
    "lfu": "LFU",
    "two_q": "TwoQ",
    "slru": "SLRU",
    "arc": "ARC",
    "gdsf": "GDSF",
    "belady": "Belady",
    "s3fifo": "S3FIFO",
    "lirs": "LIRS",
    "hyperbolic": "Hyperbolic",
    "lecar": "LeCaR",
    "random": "Random",
    "w_tinylfu": "WTinyLFU",
}
# What their docstrings name as the parameters of libCacheSim.
PARAMS: dict[str, dict[str, Any]] = {
    "slru": {"segments": 4, "probation": 0.25, "fill": True},
    "arc": {"scaled_step": False},
    "s3fifo": {"fill_main": True},
}
EXACT = ("fifo", "lru", "clock", "sieve", "lfu", "two_q", "slru", "arc", "gdsf", "belady", "s3fifo")
EXACT_BYTES = ("fifo", "lru", "clock", "sieve", "lfu", "two_q", "arc", "gdsf", "belady")
# Points of the miss ratio, (fewest, most), that these may miss more.
CLOSE = {
    "lirs": (-0.05, 0.05),
    "hyperbolic": (-0.5, 0.5),
    "lecar": (-1.0, 1.0),
    "random": (-2.1, 0.5),
    "w_tinylfu": (-5.0, 5.0),
}
CLOSE_BYTES = {
    **CLOSE,
    "lirs": (-0.3, 0.3),
    "lecar": (-1.5, 1.5),
    "slru": (-1.5, 1.5),
    "s3fifo": (-1.5, 1.5),
}
# Points at the least capacity, a fifteenth of the largest object. ARC's ghosts are bounded; without the bound its misses are
# equal. 2Q differs by 3 of 66,987 requests, of which the cause is not known.
TINY = {("adaptsize", "arc"): 0.03, ("adaptsize", "two_q"): 0.01}
# libCacheSim's own limit on the size of an object, which is not of the papers: (policy, share of the capacity, at least)
LIMITS = {"two_q": (0.25, 0), "lirs": (0.01, 1)}


@dataclass(frozen=True)
class Case:
    accesses: Accesses
    path: Path
    total: int

    def capacities(self, policy: str) -> list[int]:
        """Eight, of which those that the docstring of the policy excepts are left out."""
        found = [int(share * self.total) for share in SHARES]
        if policy == "slru":  # four equal segments
            return [capacity - capacity % 4 for capacity in found if capacity >= 4]
        least = {"s3fifo": 20, "w_tinylfu": 100}.get(policy, 1)  # its small queue, its window must hold an object
        return [capacity for capacity in found if capacity >= least]

    def ours(self, policy: str, capacity: int) -> tuple[int, int]:
        """Misses and missed bytes."""
        bound: dict[str, Any] = {}
        if self.accesses.sizes is not None and policy in LIMITS:
            share, least = LIMITS[policy]
            limit = max(int(share * capacity), least)
            bound = {"admission": "size_threshold", "admission_params": {"size_threshold_bytes": limit}}
        run = replay(self.accesses, [Tier(capacity=capacity, policy=policy, params=PARAMS.get(policy, {}), **bound)])
        missed = len(self.accesses) - run.hits
        return missed, run.asked_bytes - run.tiers[0].hit_bytes if run.asked_bytes else missed

    def theirs(self, policy: str, capacity: int) -> tuple[int, int]:
        cls = getattr(lcs, NAMES[policy])
        reader = lcs.TraceReader(str(self.path), lcs.TraceType.ORACLE_GENERAL_TRACE)
        by_count, by_bytes = cls(cache_size=capacity, hashpower=16).process_trace(reader)
        sizes = self.accesses.sizes
        asked = len(self.accesses) if sizes is None else int(sizes.sum())
        return round(by_count * len(self.accesses)), round(by_bytes * asked)

    def points(self, policy: str, capacity: int) -> float:
        """How many points of the miss ratio are missed here and not there."""
        more = self.ours(policy, capacity)[0] - self.theirs(policy, capacity)[0]
        return 100 * more / len(self.accesses)


@pytest.fixture(scope="module")
def case(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("oracle_general")

    @cache
    def load(name: str, sized: bool = False, requests: int | None = None) -> Case:
        accesses = read_accesses(shared / "traces/classical" / FILES[name])
        if requests is not None:
            accesses = accesses.first(requests)
        _, first = np.unique(accesses.ids, return_index=True)
        sizes = None
        if sized:
            assert accesses.sizes is not None
            sizes = accesses.sizes[first][accesses.ids]
        accesses = accesses.with_columns(sizes=sizes)
        rows = np.zeros(len(accesses), RECORD)
        rows["object"] = accesses.ids.astype(np.uint64) + 1
        rows["size"] = 1 if sizes is None else sizes
        after = next_use(accesses.ids)
        rows["next"] = np.where(after < len(rows), after, -1)
        path = folder / f"{name}_{sized}.bin"
        rows.tofile(path)
        return Case(accesses, path, accesses.n_objects if sizes is None else int(sizes[first].sum()))

    return load


@pytest.mark.parametrize("policy", EXACT)
@pytest.mark.parametrize(("name", "requests"), [*((name, None) for name in (*SMALL, "oltp")), ("orm_busy", 1_000_000)])
def test_misses_by_count_are_equal(case: Any, name: str, requests: int | None, policy: str) -> None:
    trace = case(name, requests=requests)
    capacities = trace.capacities(policy)
    assert len(capacities) >= 7
    assert [trace.ours(policy, c) for c in capacities] == [trace.theirs(policy, c) for c in capacities]


@pytest.mark.parametrize("policy", EXACT_BYTES)
@pytest.mark.parametrize("name", SIZED)
def test_misses_by_bytes_are_equal(case: Any, name: str, policy: str) -> None:
    trace = case(name, sized=True)
    capacities = trace.capacities(policy)
    if (name, policy) in TINY:
        assert abs(trace.points(policy, capacities.pop(0))) < TINY[name, policy]
    assert [trace.ours(policy, c) for c in capacities] == [trace.theirs(policy, c) for c in capacities]


@pytest.mark.parametrize("policy", CLOSE)
@pytest.mark.parametrize("name", SMALL)
def test_misses_by_count_are_as_close_as_stated(case: Any, name: str, policy: str) -> None:
    assert_close(case(name), policy, *CLOSE[policy])


@pytest.mark.parametrize("policy", [p for p in CLOSE_BYTES if p != "w_tinylfu"])
@pytest.mark.parametrize("name", SIZED)
def test_misses_by_bytes_are_as_close_as_stated(case: Any, name: str, policy: str) -> None:
    assert_close(case(name, sized=True), policy, *CLOSE_BYTES[policy])


@pytest.mark.slow
@pytest.mark.parametrize("policy", EXACT)
def test_misses_of_five_million_requests_are_equal(case: Any, policy: str) -> None:
    test_misses_by_count_are_equal(case, "orm_busy", None, policy)


@pytest.mark.slow
@pytest.mark.parametrize("policy", CLOSE)
@pytest.mark.parametrize("name", ["oltp", "orm_busy"])
def test_misses_of_long_traces_are_as_close_as_stated(case: Any, name: str, policy: str) -> None:
    assert_close(case(name), policy, *CLOSE[policy])


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZED)
def test_misses_of_w_tinylfu_by_bytes_are_as_close_as_stated(case: Any, name: str) -> None:
    assert_close(case(name, sized=True), "w_tinylfu", *CLOSE_BYTES["w_tinylfu"])


def assert_close(trace: Case, policy: str, fewest: float, most: float) -> None:
    differences = {capacity: trace.points(policy, capacity) for capacity in trace.capacities(policy)}
    assert len(differences) >= 6
    assert all(fewest <= points <= most for points in differences.values()), differences
