"""A study whose figures are closed forms of the design: consistent in themselves, known without simulating."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.objective import Result, Task
from dse.seams import Settings
from dse.space import Space, load_space
from dse.study import Study
from dse.trial import Trial
from simcore.units import GIB, parse_bytes

SPACE = """\
# How little HBM can a chat service buy if DRAM and CXL back it up?
name: toy
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: h100-sxm
  replicas: 2
  engine: {block_size: 16, load: cheaper}
  tiers:
    hbm:  {capacity: 40 GiB}
    dram: {preset: ddr5-host, capacity: 128 GiB}
    cxl:  {preset: cxl2-x8, capacity: 0}
  workload: {preset: chat-multi-tenant, request_rate: 4}
search:
  tiers.hbm.capacity:  {range: [4 GiB, 48 GiB], step: 1 GiB, log: true}
  tiers.dram.capacity: [64 GiB, 128 GiB, 256 GiB]
  tiers.cxl.capacity:  [0, 128 GiB, 256 GiB, 512 GiB]
  tiers.*.policy:      [lru, fifo, sieve]
  tiers.cxl.placement: [exclusive, inclusive]
  engine.load:         [cheaper, always]
  kv_format:           [bf16, fp8_e4m3]
scenarios:
  over: {workload.request_rate: [2, 4, 8]}
  combine: COMBINE
objectives: [OBJECTIVES]
constraints:
  - tpot_p99 <= LIMIT
  - quality_loss <= 0.02
budget: {trials: 200, seed: 0}
"""
CEILING = 0.83
LIKING = {"lru": 1.0, "fifo": 0.9, "sieve": 0.96}


def toy_space(folder: Path, limit: str = "80 ms", combine: str = "worst", objectives: str = "ttft_p99, hbm_cost_usd") -> Space:
    """The space, as if it had been read from search_spaces/toy.yaml."""
    file = folder / "toy.yaml"
    file.write_text(SPACE.replace("LIMIT", limit).replace("COMBINE", combine).replace("OBJECTIVES", objectives))
    return dataclasses.replace(load_space(file, check=False), file="search_spaces/toy.yaml")


def figures(raw: Mapping[str, Any]) -> dict[str, float | None]:
    """Figures of a scenario: more and faster memory finds more, sooner."""
    tiers, rate = raw["tiers"], raw["workload"]["request_rate"]
    hbm, dram, cxl = (parse_bytes(tiers[t]["capacity"]) / GIB for t in ("hbm", "dram", "cxl"))
    half = "fp8" in str(raw.get("kv_format", "bf16"))
    scale = 2.0 if half else 1.0
    first = CEILING * scale * hbm / (scale * hbm + 12) * LIKING[tiers["hbm"].get("policy", "lru")]
    deep = scale * (hbm + dram + cxl)
    found = max(first, CEILING * deep / (deep + 60))
    second = (found - first) * dram / (dram + cxl)
    third = found - first - second
    stall = 0.9 * third + 0.25 * second + (0.1 if raw["engine"]["load"] == "always" else 0.0)
    return {
        "ttft_p99_s": 0.2 + 3.0 * (1 - found) * (0.6 + rate / 20) + stall,
        "tpot_p99_s": 0.03 + 0.0045 * rate * (1 + 4 / (scale * hbm)),
        "throughput_tokens_per_s": 300.0 * rate,
        "utilisation": 0.08 * rate,
        "saturated": 0.0,
        "rejected_requests": 0.0,
        "hit_ratio": found,
        "hit_ceiling": CEILING,
        "hbm_bytes": 2 * GIB * (16 + hbm),
        "hbm_cost_usd": 15 * 2 * (16 + hbm),
        "hbm_excess_bytes": (hbm - 56) * GIB,
        "quality_loss": 0.003 if half else 0.0,
        "hit_ratio_hbm": first,
        "hit_ratio_dram": second / (1 - first),
        "hit_ratio_cxl": third / (1 - first - second),
        "prompt_share_hbm": first,
        "prompt_share_dram": second,
        "prompt_share_cxl": third,
        "prompt_share_prefill": 1 - found,
    }


def toy_evaluate(task: Task) -> Result:
    """Stands in for the simulator in a search."""
    found = {name: figures(raw) for name, raw in task.members.items()}
    return Result(task.number, task.key, "complete", found)


def judged(space: Space, number: int, point: Mapping[str, Any]) -> Trial:
    """The trial of a design."""
    found = {m.name: figures(space.scenario(point, m)) for m in space.members}
    combined = space.combine_metrics(found)
    return Trial(number, dict(point), f"{number:04d}", "complete", found, combined, space.judge(found))


def toy_trials(space: Space, count: int = 200) -> tuple[Trial, ...]:
    """Designs drawn uniformly; every fiftieth failed inside."""
    rng = random.Random(7)
    trials = []
    for number in range(count):
        choices = {d.path: d.values() or () for d in space.dimensions}
        point = space.active({path: values[int(rng.random() * len(values))] for path, values in choices.items()})
        if number % 50 == 49:
            trials.append(Trial(number, point, f"{number:04d}", "failed", error="MemoryError: no blocks left"))
        else:
            trials.append(judged(space, number, point))
    return tuple(trials)


def toy_study(folder: Path, count: int = 200, **options: str) -> Study:
    """The study, complete."""
    space = toy_space(folder, **options)
    settings = Settings("toy", Path("studies/toy"), "nsga2", 0, 10, count)
    return Study(space, settings, toy_trials(space, count), "complete", judged(space, -1, {}))
