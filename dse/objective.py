"""The objective: one design in, its metrics out. Picklable, so that it runs in any process."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import simcore
from dse.trial import MetricValues, State
from simcore.errors import InputError, InternalError

if TYPE_CHECKING:
    from dse.space import Space

EXCESS = "hbm_excess_bytes"
BASE = -1
"""The number of the base scenario, which is none of the trials."""


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
        mistake: an `InputError` by its fields, and the member it was raised for.
        started_s: Unix time at which the evaluation started.
        seconds: wall time it took.
    """

    number: int
    key: str
    state: State
    metrics: Mapping[str, MetricValues] = field(default_factory=dict)
    error: str | None = None
    mistake: Mapping[str, Any] | None = None
    started_s: float = 0.0
    seconds: float = 0.0


def make_task(space: Space, number: int, key: str, point: Mapping[str, Any]) -> Task:
    """The task of evaluating a design of a space."""
    members = {member.name: space.scenario(point, member) for member in space.members}
    return Task(number, key, members, str(space.base_dir), space.replications)


@dataclass(frozen=True)
class Preparation:
    """Gets a process ready for every design of a space: the simulator is compiled once for all of them. Picklable.

    Args:
        scenarios: raw, of `Space.probe_scenarios`; one that cannot be built is left out.
        base_dir: folder that relative paths in them start from.
    """

    scenarios: tuple[Mapping[str, Any], ...]
    base_dir: str

    def __call__(self) -> None:
        built = []
        for raw in self.scenarios:
            with suppress(InputError):
                built.append(simcore.build_scenario(raw, base_dir=self.base_dir))
        simcore.prepare(built)


def preparation(space: Space) -> Preparation:
    """What `evaluate` needs done once per process before it evaluates designs of a space."""
    return Preparation(tuple(space.probe_scenarios()), str(space.base_dir))


def evaluate(task: Task) -> Result:
    """Simulate every member of the scenario set. A design that fails does not raise: that is a failed result with its text.

    A member whose design does not fit the memory of its GPU has its closed forms only; there is nothing to simulate. Traces
    and compiled engines are kept by `simcore` for the life of the process, so a second design on the same workload pays for
    neither.

    Raises:
        InternalError: a law of the simulator is broken; no figure can be believed any more.
    """
    started, clock = time.time(), time.perf_counter()
    metrics: dict[str, MetricValues] = {}
    about: dict[str, Any] = {}
    for name, raw in task.members.items():
        try:
            metrics[name] = _measured(raw, task)
        except InternalError as error:
            what = "the base scenario" if task.number == BASE else f"design {task.number}"
            raise InternalError(f"{what}: {error}") from error
        except Exception as error:
            mistake = {**error.as_dict()["error"], "member": name} if isinstance(error, InputError) else None
            about, metrics = {"error": error_text(error), "mistake": mistake}, {}
            break
    seconds = time.perf_counter() - clock
    state: State = "failed" if about else "complete"
    return Result(task.number, task.key, state, metrics, started_s=started, seconds=seconds, **about)


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
