"""Replay every eviction policy on recorded traces and write the hits to results.csv; then tables and a picture (summary.py)."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import summary

from simcore.errors import InputError
from simcore.plugins import names
from simcore.replay.prepared import Prepared
from simcore.replay.run import Hierarchy, replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from simcore.traces.blocks import block_accesses
from simcore.traces.load import read_accesses, read_trace
from simcore.traces.trace import Trace

HERE = Path(__file__).parent
SHARES = (0.01, 0.05, 0.10, 0.25)  # of the footprint: distinct objects, or the bytes of them
CATEGORIES = 64  # workload_aware takes categories modulo this
FIELDS = ("trace", "policy", "share", "capacity", "accesses", "hits", "hit_ratio", "byte_hit_ratio", "trainings")
COSTS = ("training_cpu_s", "cpu_s")


@dataclass(frozen=True)
class Source:
    """A trace of the comparison: its file, how to make accesses of it, and capacities beside SHARES."""

    name: str
    file: str
    read: Callable[[Path], Accesses]
    facts: str = ""  # its name in the file of independent counts
    capacities: tuple[int, ...] = ()


def sessions(path: Path, requests: int | None = None, **options: Any) -> Accesses:
    """Prefix chains; the category is the turn of the conversation, as far as the log tells conversations apart."""
    trace = read_trace(path, **options)
    trace = trace if requests is None else trace.first(requests)
    accesses = block_accesses(trace, None)
    known = len(np.unique(trace.session)) < trace.n
    turn = np.minimum(turns_of_sessions(trace) if known else turns_of_prefixes(trace), CATEGORIES - 1)
    assert accesses.request_start is not None
    return accesses.with_columns(category=np.repeat(turn, np.diff(accesses.request_start)))


def turns_of_sessions(trace: Trace) -> np.ndarray:
    """How many requests of its session came before each."""
    seen = np.zeros(int(trace.session.max()) + 1, np.int64)
    turns = np.zeros(trace.n, np.int64)
    for request, session in enumerate(trace.session):
        turns[request] = seen[session]
        seen[session] += 1
    return turns


def turns_of_prefixes(trace: Trace) -> np.ndarray:
    """A log without sessions: a request continues the last one that used its deepest known block, if it repeats all whole
    blocks of that prompt and more than the first block, which may be a system prompt that all share. Only the past is used."""
    turns = np.zeros(trace.n, np.int64)
    last_user: dict[int, int] = {}
    for request in range(trace.n):
        blocks = trace.block_ids[trace.block_start[request] : trace.block_start[request + 1]].tolist()
        known = next((depth for depth, block in enumerate(blocks) if block not in last_user), len(blocks))
        if known > 1:
            before = last_user[blocks[known - 1]]
            if known >= trace.block_start[before + 1] - trace.block_start[before] - 1:
                turns[request] = turns[before] + 1
        last_user.update(dict.fromkeys(blocks, request))
    return turns


def units(path: Path, first: int | None = None, **options: Any) -> Accesses:
    """Objects of one size."""
    accesses = read_accesses(path, **options)
    accesses = accesses if first is None else accesses.first(first)
    return accesses if accesses.sizes is None else accesses.with_columns(sizes=None)


SOURCES = (
    Source("Mooncake conversation", "kv/mooncake_conversation.jsonl.zst", sessions, "kv_prefix_lru", (4000, 5000, 8000)),
    Source("Claude Code", "kv/claude_code_0001_0120.jsonl.zst", partial(sessions, requests=1200, start_gap_s=30.0)),
    Source("mini-SWE agent", "kv/lmcache_agent_miniswe.jsonl.zst", sessions),
    Source("multi-agent web", "kv/lmcache_agent_magagent.jsonl.zst", sessions),
    Source("DLRM table", "embedding/dlrm_reuse_medium_500K.txt.zst", units, "embedding/dlrm_reuse_medium_500K.txt"),
    Source("Scarab", "embedding/scarab-recs.trace.xz", units, "embedding/scarab-recs.trace"),
    Source("ReChorus items", "embedding/rechorus_grocery_train.csv.zst", units, "embedding/rechorus_grocery_train.csv:item_id"),
    Source(
        "Criteo 26 tables", "embedding/criteo_train_tiny.csv.zst", units, "embedding/criteo_train_tiny.csv:(Cj,value) row-major"
    ),
    Source("CloudPhysics", "classical/cloudPhysicsIO.csv.zst", units, "classical/cloudPhysicsIO.csv:lbn"),
    Source(
        "CloudPhysics, sizes",
        "classical/cloudPhysicsIO.oracleGeneral.bin.zst",
        read_accesses,
        "byte_capacity_oracle",
        (1 << 27, 1 << 30),
    ),
    Source("AdaptSize", "classical/adaptsize_request.trace.xz", units, "classical/adaptsize_request.trace:key"),
    Source("AdaptSize, sizes", "classical/adaptsize_request.trace.xz", read_accesses),
    Source(
        "ORM busy day, first 1 M",
        "classical/cache2k_orm-busy.trace.xz",
        partial(units, first=1_000_000),
        "classical/cache2k_orm-busy.trace (first 1,000,000)",
    ),
    Source("Product pages", "classical/cache2k_web12.trace.xz", units, "classical/cache2k_web12.trace"),
    Source("OLTP", "classical/arc_OLTP.lis.zst", units, "classical/arc_OLTP.lis"),
)


def footprint(accesses: Accesses) -> int:
    """Distinct objects, or the bytes of them, each at its largest size."""
    if accesses.sizes is None:
        return accesses.n_objects
    largest = np.zeros(accesses.n_objects, np.int64)
    np.maximum.at(largest, accesses.ids, accesses.sizes)
    return int(largest.sum())


def rows_of(source: Source, accesses: Accesses, threads: int) -> list[dict[str, Any]]:
    """Hits of every policy that can run on this trace, at every capacity."""
    prepared = Prepared(accesses)
    whole = footprint(accesses)
    capacities = [(f"{share:g}", int(share * whole)) for share in SHARES] + [("", c) for c in source.capacities]
    jobs = []
    for policy in names("simcore.policies"):
        try:  # compiled here: that is not for several threads at once
            Hierarchy(prepared, [Tier(capacity=capacities[0][1], policy=policy)], tail_first=True, seed=0)
        except InputError as error:
            print(f"  {policy} left out: {error.rule}")
            continue
        jobs += [(policy, share, capacity) for share, capacity in capacities]

    def work(job: tuple[str, str, int]) -> dict[str, Any]:
        policy, share, capacity = job
        # Of a chain gone through tail first the tail is asked for again first: Belady would keep tails without their heads.
        order = "chain" if accesses.chain and policy in summary.BOUNDS else "tail_first"
        start = time.thread_time()
        result = replay(accesses, [Tier(capacity=capacity, policy=policy)], order=order, prepared=prepared)
        tier, byte_hit_ratio = result.tiers[0], result.byte_hit_ratio
        values = (source.name, policy, share, capacity, result.accesses, result.hits, f"{result.hit_ratio:.4f}")
        bytes_too = "" if byte_hit_ratio is None else f"{byte_hit_ratio:.4f}"
        costs = (f"{tier.training_cpu_s:.1f}", f"{time.thread_time() - start:.3f}")
        return dict(zip((*FIELDS, *COSTS), (*values, bytes_too, tier.trainings, *costs), strict=True))

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, jobs))


def checked(rows: list[dict[str, Any]], facts: dict[str, Any]) -> tuple[int, list[str]]:
    """Compare with counts that were made without this simulator. Returns how many could be compared, and what differs."""
    about = {source.name: source.facts for source in SOURCES if source.facts}
    compared, wrong = 0, []
    for row in rows:
        expected = _expected(about.get(row["trace"], ""), row, facts)
        if expected is not None:
            compared += 1
            found = round(row["hits"] / row["accesses"], 4) if isinstance(expected, float) else row["hits"]
            if found != expected:
                wrong.append(f"{row['trace']}, {row['policy']} at {row['capacity']}: {found}, expected {expected}")
    return compared, wrong


def _expected(name: str, row: dict[str, Any], facts: dict[str, Any]) -> float | int | None:
    if name == "byte_capacity_oracle":
        oracle, policy = facts[name], {"lru": "LRU", "fifo": "FIFO", "clock": "Clock", "belady": "Belady"}.get(row["policy"])
        if policy is None or row["capacity"] not in oracle["capacity_bytes"]:
            return None
        return int(oracle["requests"] - oracle["miss_count"][policy][oracle["capacity_bytes"].index(row["capacity"])])
    if name == "kv_prefix_lru":
        ratio = facts[name]["caps"].get(str(row["capacity"])) if row["policy"] == "lru" else None
        return None if ratio is None else float(ratio)
    capacities = facts["exact_hit_counts"].get(name, {}).get("caps", {})
    hits: int | None = capacities.get(str(row["capacity"]), {}).get(row["policy"])
    return hits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", default=os.environ.get("DSE_TEST_DATA"), help="folder that holds traces/; default $DSE_TEST_DATA"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE, help="folder for results.csv and the picture")
    args = parser.parse_args()
    if args.data is None:
        parser.error("give --data FOLDER or set DSE_TEST_DATA")
    folder = Path(args.data) / "traces"
    rows: list[dict[str, Any]] = []
    for source in SOURCES:
        if not (folder / source.file).is_file():
            print(f"skipped: {source.name}, there is no {folder / source.file}")
            continue
        accesses = source.read(folder / source.file)
        print(f"{source.name}: {len(accesses)} accesses, {accesses.n_objects} objects", flush=True)
        rows += rows_of(source, accesses, args.threads)
    if not rows:
        parser.error(f"none of the traces is in {folder}")
    facts = folder / "facts.json"
    compared, wrong = checked(rows, json.loads(facts.read_text())) if facts.is_file() else (0, [])
    print(f"{compared} counts compared with independent ones, {len(wrong)} differ", *wrong, sep="\n  ")
    with open(args.out / "results.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, (*FIELDS, *COSTS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    summary.main(args.out)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
