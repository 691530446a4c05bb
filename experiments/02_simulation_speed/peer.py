"""NVIDIA AISimulate (PyPI `aisimulate`, Apache-2.0) on the same trace: CPU seconds of its `predict` command.

It is no dependency. `pip install --only-binary :all: aisimulate` into an environment of its own, and name its command.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simcore.serving.setup import ServingSetup


@dataclass(frozen=True)
class Replay:
    """One run of its command: CPU seconds of its processes, and the share of prompt tokens that it found in a cache."""

    seconds: float
    reuse: float


def command(named: str | None) -> str | None:
    """The program to run: the one that was named, else one on the path."""
    return shutil.which(named or "aisimulate")


def predict(program: str, rows: Sequence[str], setup: ServingSetup) -> Replay:
    """Replay the rows of a Mooncake trace on replicas with the capacities of `setup`: G1 is its HBM, G2 and G3 its tiers."""
    with tempfile.TemporaryDirectory() as folder:
        trace, config = Path(folder, "trace.jsonl"), Path(folder, "predict.yaml")
        trace.write_text("\n".join(rows) + "\n", encoding="utf-8")
        config.write_text(yaml.safe_dump(_config(str(trace), setup)), encoding="utf-8")
        before = _children_s()
        arguments = [program, "predict", "-c", str(config), "--output-dir", str(Path(folder, "out")), "--format", "json"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        report = json.loads(done.stdout.strip().splitlines()[-1])
        return Replay(_children_s() - before, report["first_admission_prefix_cache_reused_ratio"])


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _config(trace: str, setup: ServingSetup) -> dict[str, Any]:
    unit = setup.unit_tokens
    blocks = setup.pool_pages * setup.page_tokens // unit
    cache: dict[str, Any] = {"block_size": unit, "capacity": {"type": "fixed", "blocks": blocks}}
    if len(setup.tiers) > 1:
        cache["host_offload"] = {"num_host_blocks": setup.tiers[0].capacity_blocks}
        cache["g3_offload"] = {"scope": "cluster_shared", "num_g3_blocks": setup.tiers[1].capacity_blocks}
    worker = {
        "parallelism": {"replicas": setup.replicas, "tensor": 1},
        "scheduler": {"max_batched_tokens": setup.max_num_batched_tokens, "max_sequences": setup.max_num_seqs},
        "kv_cache": cache,
    }
    return {
        "traffic": {
            "source": {"type": "trace", "paths": [trace], "format": "mooncake", "block_size": unit},
            "load": {"type": "trace_timestamps"},
        },
        "engine": {
            "mode": "aggregated",
            "model": "meta-llama/Meta-Llama-3.1-8B",
            "hardware": "h100_sxm",
            "backend": "vllm",
            "workers": {"aggregated": worker},
        },
    }
