"""The objective: one design in, its metrics out. Picklable, so that it runs in any process."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import simcore
from dse.trial import MetricValues, State

EXCESS = "hbm_excess_bytes"


@dataclass(frozen=True)
class Task:
    """A design to evaluate.

    Args:
        number: of the trial.
        key: hash of the canonical design.
        members: member of the scenario set -> raw scenario, each complete in itself.
        base_dir: folder that relative paths in the scenarios start from.
        replications: simulations per member, on the workload's own seed and the ones that follow it; metrics are
            averaged. All designs see the same seeds (common random numbers), so they differ by their own merit only.
    """

    number: int
    key: str
    members: Mapping[str, Mapping[str, Any]]
    base_dir: str
    replications: int = 1


@dataclass(frozen=True)
class Result:
    """What evaluating a task gave.

    Args:
        number, key: of the task.
        state: "failed" if anything raised.
        metrics: member -> exported key -> value, None where unknown.
        error: type and message of what was raised.
        started_s: Unix time at which the evaluation started.
        seconds: wall time it took.
    """

    number: int
    key: str
    state: State
    metrics: Mapping[str, MetricValues] = field(default_factory=dict)
    error: str | None = None
    started_s: float = 0.0
    seconds: float = 0.0


def evaluate(task: Task) -> Result:
    """Simulate every member of the scenario set. Never raises for a design that fails: that is a failed result with its text.

    A member whose design does not fit the memory of its GPU has its closed forms only; there is nothing to simulate. Traces
    and compiled engines are kept by `simcore` for the life of the process, so a second design on the same workload pays for
    neither.
    """
    started, clock = time.time(), time.perf_counter()
    try:
        metrics = {name: _measured(raw, task) for name, raw in task.members.items()}
        seconds = time.perf_counter() - clock
        return Result(task.number, task.key, "complete", metrics, started_s=started, seconds=seconds)
    except Exception as error:
        seconds = time.perf_counter() - clock
        return Result(task.number, task.key, "failed", error=error_text(error), started_s=started, seconds=seconds)


def _measured(raw: Mapping[str, Any], task: Task) -> MetricValues:
    scenario = simcore.build_scenario(raw, base_dir=task.base_dir)
    statics = simcore.static_metrics(scenario)
    if (statics.get(EXCESS) or 0.0) > 0:
        return _known({metric.key: statics.get(metric.key) for metric in simcore.METRICS.values()})
    return _known(simcore.measure(scenario, replications=task.replications))


def error_text(error: BaseException) -> str:
    """Type and message of an exception, on one line and without its traceback."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _known(values: MetricValues) -> dict[str, float | None]:
    """Numbers that are not finite are as unknown as None."""
    return {key: float(v) if v is not None and math.isfinite(v) else None for key, v in values.items()}
