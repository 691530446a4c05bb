"""A small space and a fast objective in place of the simulator: closed forms with a trade-off, a constraint and conditions."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from dse.objective import Result, Task, error_text
from simcore.units import GIB, parse_bytes

LOG = "FAKE_OBJECTIVE_LOG"
SLEEP = "FAKE_OBJECTIVE_SLEEP_S"


@dataclass(frozen=True)
class FakeMetric:
    name: str
    key: str
    direction: str = "min"


@dataclass(frozen=True)
class FakeConstraint:
    text: str


@dataclass(frozen=True)
class FakeMember:
    name: str
    weight: float = 1.0
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FakeDimension:
    """Choices, or whole GiB from low to high, or a continuous number."""

    path: str
    choices: tuple[Any, ...] | None = None
    low: int = 0
    high: int = 0
    unit: str | None = None
    continuous: bool = False

    def size(self) -> int | None:
        if self.continuous:
            return None
        return len(self.choices) if self.choices is not None else self.high - self.low + 1

    def distribution(self) -> BaseDistribution:
        if self.choices is not None:
            return CategoricalDistribution([str(choice) for choice in self.choices])
        if self.continuous:
            return FloatDistribution(self.low, self.high)
        return IntDistribution(self.low, self.high, log=True)

    def suggest(self, trial: Any) -> Any:
        if self.choices is not None:
            label = trial.suggest_categorical(self.path, [str(choice) for choice in self.choices])
            return next(choice for choice in self.choices if str(choice) == label)
        if self.continuous:
            return trial.suggest_float(self.path, self.low, self.high)
        return f"{trial.suggest_int(self.path, self.low, self.high, log=True)} GiB"


def dimensions(hbm_high: int = 12, policies: Sequence[str] = ("lru", "fifo", "sieve")) -> tuple[FakeDimension, ...]:
    return (
        FakeDimension("tiers.hbm.capacity", low=4, high=hbm_high, unit="bytes"),
        FakeDimension("tiers.dram.capacity", ("64 GiB", "128 GiB", "256 GiB"), unit="bytes"),
        FakeDimension("tiers.cxl.capacity", (0, "128 GiB", "512 GiB"), unit="bytes"),
        FakeDimension("tiers.cxl.policy", ("lru", "sieve")),
        FakeDimension("tiers.hbm.policy", tuple(policies)),
    )


@dataclass(frozen=True, eq=False)
class FakeSpace:
    """What a search needs of `dse.space.Space`, without a simulator behind it."""

    name: str = "fake"
    dimensions: tuple[FakeDimension, ...] = dimensions()
    members: tuple[FakeMember, ...] = (
        FakeMember("slow", overrides={"rate": 2.0}),
        FakeMember("fast", overrides={"rate": 4.0}),
    )
    combine: str = "worst"
    objectives: tuple[FakeMetric, ...] = (FakeMetric("ttft_p99", "ttft_p99_s"), FakeMetric("hbm_cost", "hbm_cost_usd"))
    metric_constraints: tuple[FakeConstraint, ...] = (FakeConstraint("tpot_p99 <= 62 ms"),)
    tpot_limit_s: float = 0.062
    hbm_share: float = 0.0
    trials: int = 40
    seed: int = 0
    replications: int = 1
    file: str = "fake.yaml"
    description: str = ""
    base: Mapping[str, Any] = field(
        default_factory=lambda: {
            "family": "fake",
            "tiers.hbm.capacity": "8 GiB",
            "tiers.dram.capacity": "128 GiB",
            "tiers.cxl.capacity": 0,
            "tiers.hbm.policy": "lru",
        }
    )
    base_dir: Path = Path()

    def suggest(self, trial: Any) -> dict[str, Any]:
        point: dict[str, Any] = {}
        for dimension in self.dimensions:
            if dimension.path == "tiers.cxl.policy" and point["tiers.cxl.capacity"] == 0:
                continue
            point[dimension.path] = dimension.suggest(trial)
        return point

    def distributions(self) -> dict[str, BaseDistribution]:
        return {dimension.path: dimension.distribution() for dimension in self.dimensions}

    def satisfies_paths(self, point: Mapping[str, Any]) -> bool:
        """HBM holds at most the given share of DRAM (0: any)."""
        hbm, dram = (parse_bytes(point[f"tiers.{tier}.capacity"]) for tier in ("hbm", "dram"))
        return not self.hbm_share or hbm <= self.hbm_share * dram

    def size(self) -> int | None:
        sizes = [dimension.size() for dimension in self.dimensions]
        if None in sizes:
            return None
        product = 1
        for size in sizes:
            product *= size or 1
        return product

    def scenario(self, point: Mapping[str, Any], member: FakeMember) -> dict[str, Any]:
        return {**self.base, **dict(point), **member.overrides, "tpot_limit_s": self.tpot_limit_s}

    def key(self, point: Mapping[str, Any]) -> str:
        """Policies of HBM other than lru make no difference on 4 GiB: two points, one canonical design."""
        known = {**self.base, **point}
        if known["tiers.hbm.capacity"] == "4 GiB" and known["tiers.hbm.policy"] == "fifo":
            known["tiers.hbm.policy"] = "lru"
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def judge(self, metrics: Mapping[str, Mapping[str, float | None]], statics: Any = None) -> dict[str, float]:
        worst = max(values["tpot_p99_s"] or 0.0 for values in metrics.values())
        return {c.text: worst / self.tpot_limit_s - 1 for c in self.metric_constraints}

    def combine_metrics(self, metrics: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
        rows = list(metrics.values())
        if self.combine == "each":
            return dict(rows[0])
        found: dict[str, float | None] = {}
        for key in rows[0]:
            known = [row[key] for row in rows]
            found[key] = None if None in known else max(known)  # type: ignore[type-var]
        return found

    def resolved(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "scenario": dict(self.base),
            "search": {d.path: list(d.choices or (d.low, d.high)) for d in self.dimensions},
            "budget": {"trials": self.trials, "seed": self.seed},
        }

    @property
    def sha256(self) -> str:
        data = {**self.resolved(), "name": "", "budget": {"seed": self.seed}}
        return hashlib.sha256(json.dumps(data).encode()).hexdigest()


def metrics_of(scenario: Mapping[str, Any]) -> dict[str, float | None]:
    """More memory is faster and dearer; sieve beats lru; the fast member is slower to answer."""
    hbm, dram, cxl = (parse_bytes(scenario[f"tiers.{tier}.capacity"]) / GIB for tier in ("hbm", "dram", "cxl"))
    policy = {"lru": 1.0, "fifo": 0.9, "sieve": 1.1}[scenario["tiers.hbm.policy"]]
    below = {"lru": 1.0, "sieve": 1.2, None: 1.0}[scenario.get("tiers.cxl.policy")]
    reach = hbm * policy + 0.02 * dram + 0.004 * cxl * below
    ttft = scenario["rate"] / reach
    return {
        "ttft_p99_s": ttft,
        "tpot_p99_s": 0.02 + 0.012 * scenario["rate"] / policy - 0.001 * hbm,
        "hbm_cost_usd": 20.0 * hbm,
        "memory_cost_usd": 20.0 * hbm + 4.0 * dram + 2.0 * cxl,
        "quality_loss": None,
    }


def evaluate(task: Task) -> Result:
    """The objective of `FakeSpace`. Designs whose HBM policy is "broken" fail, "deadly" kills its process, "blank" has no TTFT.

    With FAKE_OBJECTIVE_LOG every evaluation leaves a line there when it begins and one when it ends.
    """
    _note("begin", task)
    time.sleep(float(os.environ.get(SLEEP, "0")))
    started = time.time()
    policy = next(iter(task.members.values()))["tiers.hbm.policy"]
    try:
        if policy == "broken":
            raise ArithmeticError("this policy\ncannot be simulated")
        if policy == "deadly":
            os.kill(os.getpid(), 9)
        known = {
            name: metrics_of({**raw, "tiers.hbm.policy": "lru"} if policy == "blank" else raw)
            for name, raw in task.members.items()
        }
        if policy == "blank":
            known = {name: {**values, "ttft_p99_s": None} for name, values in known.items()}
    except Exception as error:
        return Result(task.number, task.key, "failed", error=error_text(error), started_s=started)
    _note("end", task)
    return Result(task.number, task.key, "complete", known, started_s=started, seconds=0.001)


def _note(what: str, task: Task) -> None:
    path = os.environ.get(LOG)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{what} {task.key}\n")


def log_lines(path: Path) -> Iterator[tuple[str, str]]:
    """(begin | end, key) of every evaluation noted so far."""
    if path.exists():
        for line in path.read_text().splitlines():
            what, key = line.split()
            yield what, key
