"""Hits and misses that others published or counted independently, on every public trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses

# as facts.json names them -> file
TRACES = {
    "embedding/dlrm_reuse_medium_500K.txt": "embedding/dlrm_reuse_medium_500K.txt.zst",
    "embedding/rechorus_grocery_train.csv:item_id": "embedding/rechorus_grocery_train.csv.zst",
    "embedding/criteo_train_tiny.csv:(Cj,value) row-major": "embedding/criteo_train_tiny.csv.zst",
    "embedding/scarab-recs.trace": "embedding/scarab-recs.trace.xz",
    "classical/cloudPhysicsIO.csv:lbn": "classical/cloudPhysicsIO.csv.zst",
    "classical/adaptsize_request.trace:key": "classical/adaptsize_request.trace.xz",
    "classical/cache2k_web12.trace": "classical/cache2k_web12.trace.xz",
    "classical/cache2k_orm-busy.trace (first 1,000,000)": "classical/cache2k_orm-busy.trace.xz",
    "classical/arc_OLTP.lis": "classical/arc_OLTP.lis.zst",
    "kv/mooncake_conversation.jsonl:flattened hash_ids": "kv/mooncake_conversation.jsonl.zst",
}


@pytest.fixture(scope="module")
def facts(shared: Path) -> Any:
    return json.loads((shared / "traces/facts.json").read_text())


def misses(accesses: Accesses, capacity: int, policy: str) -> tuple[int, int]:
    run = replay(accesses, [Tier(capacity=capacity, policy=policy)])
    return len(accesses) - run.hits, run.asked_bytes - run.tiers[0].hit_bytes


def test_every_count_is_looked_at(facts: Any) -> None:
    assert facts["exact_hit_counts"].keys() == TRACES.keys()


@pytest.mark.parametrize("name", TRACES)
def test_exact_hits_of_single_objects(shared: Path, facts: Any, name: str) -> None:
    """LRU, FIFO and the offline optimum with bypass, at 1, 10 and 50 % of the objects."""
    known = facts["exact_hit_counts"][name]
    accesses = read_accesses(shared / "traces" / TRACES[name])
    accesses = accesses.with_columns(sizes=None, request_start=None, chain=False, tokens=None).first(known["accesses"])
    assert accesses.n_objects == known["distinct"]
    for capacity, hits in known["caps"].items():
        for policy, expected in hits.items():
            assert len(accesses) - misses(accesses, int(capacity), policy)[0] == expected, (capacity, policy)


@pytest.mark.parametrize(
    ("policy", "name"), [("lru", "LRU"), ("fifo", "FIFO"), ("clock", "Clock"), ("belady", "Belady"), ("s3fifo", "S3FIFO")]
)
def test_misses_that_the_tests_of_libcachesim_expect(shared: Path, facts: Any, policy: str, name: str) -> None:
    """Misses and missed bytes at byte capacities from 128 MiB to 1 GiB, of its commit aa0fc40."""
    oracle = facts["byte_capacity_oracle"]
    accesses = read_accesses(shared / "traces/classical/cloudPhysicsIO.oracleGeneral.bin.zst")
    found = [misses(accesses, capacity, policy) for capacity in oracle["capacity_bytes"]]
    assert [count for count, _ in found] == oracle["miss_count"][name]
    assert [size for _, size in found] == oracle["miss_bytes"][name]
