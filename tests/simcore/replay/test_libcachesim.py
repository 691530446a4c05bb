"""Misses equal to those of libCacheSim, an independent simulator in C, on public traces at eight sizes.

Every file of the classical folder, by count and, where objects have sizes, by bytes. Both sides get the same file: sizes are
made constant by object, as the format oracleGeneral has them. Parameters are those that the docstrings name as libCacheSim's,
and where it refuses objects that the papers do not, a filter refuses them here. What is sketched or drawn is compared by the
median of some runs, each with other numbers for the objects and other seeds. Random replacement has an oracle of its own
(`test_random_oracle`): libCacheSim's draws are not uniform.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses, next_use
from simcore.traces.load import read_accesses

lcs = pytest.importorskip("libcachesim")

RECORD = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
FILES = {
    "cachelib_kv": "cachelib_kv_traces_1.csv",
    "cachelib_block": "cachelib_block_traces_1.csv",
    "web12": "cache2k_web12.trace.xz",
    "adaptsize": "adaptsize_request.trace.xz",
    "cloud_physics": "cloudPhysicsIO.oracleGeneral.bin.zst",
    "oltp": "arc_OLTP.lis.zst",
    "orm_busy": "cache2k_orm-busy.trace.xz",
}
SMALL = ("cachelib_kv", "cachelib_block", "web12", "adaptsize", "cloud_physics")
LARGE = ("oltp", "orm_busy")
SIZED = ("cachelib_kv", "cachelib_block", "adaptsize", "cloud_physics")
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
    "w_tinylfu_libcachesim": "WTinyLFU",
}
# What their docstrings name as the parameters of libCacheSim.
PARAMS: dict[str, dict[str, Any]] = {
    "slru": {"segments": 4, "probation": 0.25, "fill": True, "bounded": True},
    "two_q": {"bounded": True},
    "arc": {"scaled_step": False},
    "s3fifo": {"fill_main": True},
    "lecar": {"blame_both": False},
}
EXACT = ("fifo", "lru", "clock", "sieve", "lfu", "two_q", "slru", "arc", "gdsf", "belady", "s3fifo")
RUNS = {"lirs": 1, "hyperbolic": 3, "lecar": 21, "w_tinylfu_libcachesim": 21}
CLOSE = 0.5  # points of the miss ratio
# libCacheSim's own limit on the size of an object, which is not of the papers: (share of the capacity, more, at least)
LIMITS = {
    "two_q": (0.25, 0, 0),
    "slru": (0.25, 0, 0),
    "s3fifo": (0.1, -1, 0),
    "lirs": (0.01, 0, 1),
    "w_tinylfu_libcachesim": (0.01, 0, 0),
}
LEAST = {"two_q": 4, "slru": 4, "lirs": 2, "s3fifo": 20, "w_tinylfu_libcachesim": 100}  # its least queue must hold an object


def suits(policy: str, capacity: int) -> bool:
    """Whether the segments' shares of a capacity are whole, so that libCacheSim uses all of it."""
    main = capacity - capacity // 100
    return {"slru": capacity % 4 == 0, "w_tinylfu_libcachesim": main % 5 == 0}.get(policy, True)


@dataclass(frozen=True)
class Case:
    accesses: Accesses
    path: Path
    total: int

    def capacities(self, policy: str) -> list[int]:
        """Eight, from a thousandth of all objects or bytes to four fifths."""
        found: list[int] = []
        for ideal in np.geomspace(max(LEAST.get(policy, 1), self.total / 1000), 0.8 * self.total, 8):
            capacity = max([int(ideal), *(last + 1 for last in found[-1:])])
            while not suits(policy, capacity):
                capacity += 1
            found.append(capacity)
        return found

    def ours(self, policy: str, capacity: int, seed: int = 0) -> tuple[int, int]:
        """Misses and missed bytes."""
        bound: dict[str, Any] = {}
        if self.accesses.sizes is not None and policy in LIMITS:
            share, more, least = LIMITS[policy]
            limit = max(int(share * capacity) + more, least)
            bound = {"admission": "size_threshold", "admission_params": {"size_threshold_bytes": limit}}
        params = dict(PARAMS.get(policy, {}))
        if policy == "w_tinylfu_libcachesim":
            params["window_share"] = (capacity // 100 - 0.5) / capacity  # rounded down there, up here
        if policy == "lecar" and self.accesses.sizes is not None:
            params["discount"] = 1.0
        run = replay(self.accesses, [Tier(capacity=capacity, policy=policy, params=params, **bound)], seed=seed)
        missed = len(self.accesses) - run.hits
        return missed, run.asked_bytes - run.tiers[0].hit_bytes if run.asked_bytes else missed

    def theirs(self, policy: str, capacity: int) -> tuple[int, int]:
        cls = getattr(lcs, NAMES[policy])
        reader = lcs.TraceReader(str(self.path), lcs.TraceType.ORACLE_GENERAL_TRACE)
        by_count, by_bytes = cls(cache_size=capacity, hashpower=16).process_trace(reader)
        sizes = self.accesses.sizes
        asked = len(self.accesses) if sizes is None else int(sizes.sum())
        return round(by_count * len(self.accesses)), round(by_bytes * asked)

    def renumbered(self, seed: int) -> Case:
        """The same accesses to objects of other numbers."""
        if seed == 0:
            return self
        numbers = np.random.default_rng(seed).permutation(self.accesses.n_objects).astype(np.uint32)
        ids = numbers[self.accesses.ids]
        rows = np.fromfile(self.path, RECORD)
        rows["object"] = ids.astype(np.uint64) + 1
        path = self.path.with_name(f"renumbered_{self.path.name}")
        rows.tofile(path)
        return replace(self, accesses=self.accesses.with_columns(ids=ids), path=path)

    def points(self, policy: str) -> dict[int, float]:
        """How many points of the miss ratio are missed here and not there, at each capacity."""
        capacities = self.capacities(policy)
        ours: dict[int, list[int]] = {capacity: [] for capacity in capacities}
        theirs: dict[int, list[int]] = {capacity: [] for capacity in capacities}
        runs = RUNS[policy] * (1 if len(self.accesses) > 1000 else 15)  # a short trace evens nothing out
        for seed in range(runs):
            trace = self.renumbered(seed)
            for capacity in capacities:
                ours[capacity].append(trace.ours(policy, capacity, seed)[0])
                theirs[capacity].append(trace.theirs(policy, capacity)[0])
        return {c: 100 * (median(ours[c]) - median(theirs[c])) / len(self.accesses) for c in capacities}


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
        path = folder / f"{name}_{sized}_{requests}.bin"
        rows.tofile(path)
        return Case(accesses, path, accesses.n_objects if sizes is None else int(sizes[first].sum()))

    return load


def test_every_classical_trace_is_here(shared: Path) -> None:
    """The other form of the cloudPhysics trace holds the same accesses."""
    names = {path.name for path in (shared / "traces/classical").iterdir()}
    assert names == {*FILES.values(), "cloudPhysicsIO.csv.zst"}


@pytest.mark.parametrize("policy", EXACT)
@pytest.mark.parametrize(("name", "requests"), [*((name, None) for name in (*SMALL, "oltp")), ("orm_busy", 1_000_000)])
def test_misses_by_count_are_equal(case: Any, name: str, requests: int | None, policy: str) -> None:
    assert_equal(case(name, requests=requests), policy)


@pytest.mark.parametrize("policy", EXACT)
@pytest.mark.parametrize("name", SIZED)
def test_misses_by_bytes_are_equal(case: Any, name: str, policy: str) -> None:
    assert_equal(case(name, sized=True), policy)


@pytest.mark.parametrize("policy", RUNS)
@pytest.mark.parametrize("name", SMALL)
def test_misses_by_count_are_close(case: Any, name: str, policy: str) -> None:
    if (name, policy) == ("cachelib_kv", "w_tinylfu_libcachesim"):
        pytest.skip("fewer than 100 objects: libCacheSim's window holds nothing")
    assert_close(case(name), policy)


@pytest.mark.parametrize("policy", [policy for policy in RUNS if policy != "w_tinylfu_libcachesim"])
@pytest.mark.parametrize("name", SIZED)
def test_misses_by_bytes_are_close(case: Any, name: str, policy: str) -> None:
    assert_close(case(name, sized=True), policy)


@pytest.mark.slow
@pytest.mark.parametrize("policy", EXACT)
def test_misses_of_five_million_requests_are_equal(case: Any, policy: str) -> None:
    assert_equal(case("orm_busy"), policy)


@pytest.mark.slow
@pytest.mark.parametrize("policy", RUNS)
@pytest.mark.parametrize("name", LARGE)
def test_misses_of_long_traces_are_close(case: Any, name: str, policy: str) -> None:
    assert_close(case(name), policy)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZED)
def test_misses_of_w_tinylfu_by_bytes_are_close(case: Any, name: str) -> None:
    """Slow: libCacheSim has fourteen counters a byte."""
    assert_close(case(name, sized=True), "w_tinylfu_libcachesim")


def assert_equal(trace: Case, policy: str) -> None:
    capacities = trace.capacities(policy)
    assert [trace.ours(policy, c) for c in capacities] == [trace.theirs(policy, c) for c in capacities]


def assert_close(trace: Case, policy: str) -> None:
    differences = trace.points(policy)
    assert len(differences) == 8
    most = max(CLOSE, 100 / len(trace.accesses))  # a request, of the trace of 99
    assert all(abs(points) <= most + 1e-9 for points in differences.values()), differences
