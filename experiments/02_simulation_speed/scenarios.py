"""The scenarios that are timed: Llama-3.1-8B on H100 replicas, a recorded trace, one to three tiers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import simcore
from simcore.families._kv_run import serving_setup, trace_of
from simcore.serving.setup import ServingSetup
from simcore.traces.files import lines
from simcore.traces.trace import Trace

TIERS: dict[str, dict[str, Any]] = {
    "hbm": {"capacity": "40 GiB"},
    "dram": {"preset": "ddr5-host", "capacity": "256 GiB"},
    "nvme": {"preset": "nvme-gen5", "capacity": "4 TiB", "shared": True},
}
NAMES = {n: " + ".join(list(TIERS)[:n]) for n in (1, 2, 3)}
ROUTERS = ("round_robin", "least_loaded", "prefix_aware", "session", "gorgo")


def raw_scenario(trace: str, tiers: int, replicas: int = 4, router: str = "round_robin") -> dict[str, Any]:
    return {
        "family": "kv",
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm",
        "replicas": replicas,
        "router": router,
        "engine": {"max_num_batched_tokens": 8192},
        "tiers": dict(list(TIERS.items())[:tiers]),
        "workload": {"trace": trace},
    }


def engine_input(trace: str, tiers: int, replicas: int = 4, router: str = "round_robin") -> tuple[Trace, ServingSetup]:
    """What `serve` takes."""
    built = simcore.build_scenario(raw_scenario(trace, tiers, replicas, router))
    requests = trace_of(built)
    return requests, serving_setup(built, requests)


def write_copies(trace: str, copies: int, path: Path) -> None:
    """A trace that is `copies` times as long, one copy after the other, no two of which share a block."""
    rows = [json.loads(line) for line in lines(trace)]
    period_ms = max(row["timestamp"] for row in rows) + 3000  # the recorder's tick
    ids = 1 + max(int(np.max(row["hash_ids"])) for row in rows)
    with path.open("w", encoding="utf-8") as file:
        for copy in range(copies):
            for row in rows:
                shifted = {
                    "timestamp": row["timestamp"] + copy * period_ms,
                    "hash_ids": [number + copy * ids for number in row["hash_ids"]],
                }
                file.write(json.dumps(row | shifted) + "\n")
