"""A space file damaged at random loads, or gives one message on one line; what loads survives being written and read."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dse.space import load_space
from simcore.errors import InputError
from simcore.yamlio import dump_yaml, loads_yaml

RICH = """\
name: rich
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: {preset: h100-sxm, count: 2}
  kv_format: bf16
  tiers:
    hbm:  {capacity: 16 GiB}
    dram: {preset: ddr5-host, capacity: 64 GiB}
    cxl:  {preset: cxl2-x8, capacity: 0}
  workload: {preset: chat-multi-tenant, request_rate: 4}
search:
  tiers.hbm.capacity: {range: [4 GiB, 24 GiB], step: 1 GiB, log: true}
  tiers.dram.capacity: {range: [16 GiB, 64 GiB]}
  tiers.cxl.capacity: [0, 64 GiB]
  tiers.*.policy: {choices: [lru, fifo], tie: true}
  engine.load: [cheaper, threshold]
  engine.min_load_tokens: {range: [256, 1024], step: 256, when: engine.load == threshold}
  kv_format: [bf16, {default: {k: fp8_e4m3, v: fp8_e4m3}}]
scenarios:
  members: {a: {workload.request_rate: 2, weight: 3}, b: {workload.request_rate: 8 /s}}
  combine: mean
objectives: [ttft_p99_s, hbm_cost_usd, hit_ratio_dram]
constraints:
  - tpot_p99 <= 80 ms
  - quality_loss <= 2 %
  - tiers.dram.capacity >= 2 * tiers.hbm.capacity
allow_saturated: true
budget: {trials: 7, seed: 11}
replications: 2
"""
VALUES: list[Any] = [
    None, [], {}, "", 5, -1, 0, 1.5, True, "x", "4 GiB", "80 ms", "lru", ["a"], [None], [[1]], {"a": 1}, {"range": [1, 2]},
    {"range": ["1 GiB", "2 GiB"]}, "a.b", "*", "tiers.*", "a <= b", "tiers.hbm.capacity", "choice(1,2)", 10**30, -(10**30),
    1e300, "1e999 GiB", [0, "0 GiB"], {"choices": [1, 2], "when": "x"}, {"preset": "x"}, "../x", "\u2603", {"trace": "x"},
    {"trace": 5}, [{}], "nan", "inf", ["4 GiB", ["x"]], {"k": "bf16"}, {"default": 5},
]  # fmt: skip
KEYS = [
    "a", "tiers.hbm.capacity", "tiers.*.capacity", "*", "", "a.", "weight", "when", "tie", "range", "step", "log", "choices",
    "over", "members", "combine", "preset", "count", "x.y.z", "engine", "workload", "workload.trace", "workload.request_rate",
    "kv_format", "gpu.count", "gpu", "model",
]  # fmt: skip
PINS = ["5", "x", "[", "{a: 1}", "4GiB", "", "null"]


def places(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*here, key)
        yield from places(value, (*here, key))


def damage(data: dict[str, Any], rng: random.Random) -> None:
    """Replace, drop, rename or extend one node, in place."""
    *parents, last = rng.choice(list(places(data)))
    owner: Any = data
    for key in parents:
        owner = owner[key]
    action = rng.choice(["replace", "replace", "drop", "grow"])
    if action == "replace":
        owner[last] = copy.deepcopy(rng.choice(VALUES))
    elif action == "drop":
        del owner[last]
    elif isinstance(owner[last], dict):
        owner[last][rng.choice(KEYS)] = copy.deepcopy(rng.choice(VALUES))
    elif isinstance(owner, dict):
        owner[rng.choice(KEYS)] = owner.pop(last)
    else:
        owner.append(copy.deepcopy(rng.choice(VALUES)))


@pytest.mark.parametrize("seed", range(120))
def test_damaged_space(seed: int, write: Callable[..., Path], small_text: str) -> None:
    rng = random.Random(seed)
    data = loads_yaml(rng.choice([RICH, small_text])).data
    for _ in range(rng.choice([1, 1, 2, 3])):
        damage(data, rng)
    pins = [f"{rng.choice(KEYS)}={rng.choice(PINS)}"] if rng.random() < 0.2 else []
    try:
        space = load_space(write(dump_yaml(data)), pins)
    except InputError as error:
        assert "\n" not in str(error)
        assert "small.yaml" in str(error) or "--set" in str(error)
        return
    again = load_space(write(dump_yaml(space.resolved()), name="resolved.yaml"))
    assert again.sha256 == space.sha256 and again.dimensions == space.dimensions
