"""The base scenario of a space, evaluated before anything is written: a yardstick for the search, and its first alarm.

A base that misses a constraint is fine. One that cannot be evaluated ends the search, unless some other design of the space
can be: then only the base is at fault, and the search goes on without a yardstick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.objective import BASE, Result, make_task
from dse.seams import Executor, Stopping
from dse.space.paths import covers
from dse.storage.records import base_trial
from simcore.errors import MISSING, InputError

if TYPE_CHECKING:
    from dse.space import Space

PROBES = 24
"""Designs at most that are evaluated to tell whether only the base is at fault: those that differ from it in one value."""


def measured_base(space: Space, executor: Executor, stopping: Stopping) -> Result | None:
    """The base scenario's result; None if the search was asked to stop before.

    Raises:
        InputError: neither the base nor a design that differs from it in one value can be evaluated.
    """
    result = _evaluated(space, {}, executor, stopping)
    if result is None:
        return None
    error = _mistake(space, result)
    if error is None:
        return result
    for point in _probes(space):
        probe = _evaluated(space, point, executor, stopping)
        if probe is None:
            return None
        if _mistake(space, probe) is None:
            return result
    raise error


def _evaluated(space: Space, point: Mapping[str, Any], executor: Executor, stopping: Stopping) -> Result | None:
    return next(iter(list(executor.run([make_task(space, BASE, space.key(point), point)], stopping))), None)


def _mistake(space: Space, result: Result) -> InputError | None:
    """What the user got wrong, if the design failed for that: an `InputError`, or an objective nobody can know."""
    if result.state == "failed":
        return _placed(space, result.mistake) if result.mistake is not None else None
    trial = base_trial(space, result)
    if trial.state == "complete":
        return None
    for i, metric in enumerate(space.objectives):
        if any(values.get(metric.key) is None for values in result.metrics.values()):
            hint = "choose another objective, or a workload that has this one"
            return InputError(
                f"{metric.name} is unknown for this scenario", file=space.file, path=f"objectives[{i}]", hint=hint
            )
    return None


def _placed(space: Space, mistake: Mapping[str, Any]) -> InputError:
    """The error where the user reads it: at the scenario set's value if that is the cause, else in the scenario."""
    value = MISSING if mistake["value"] is None else mistake["value"]
    path, file, line = mistake["path"], mistake["file"], mistake.get("line")
    if file is None:
        member = next((m for m in space.members if m.name == mistake["member"]), None)
        overrides = member.places.items() if member is not None else ()
        place = next((place for target, place in overrides if path and covers(target, path)), None)
        file, path = space.file, place or ".".join(part for part in ("scenario", path) if part)
    return InputError(mistake["rule"], file=file, path=path, value=value, hint=mistake["hint"], line=line)


def _probes(space: Space) -> Sequence[Mapping[str, Any]]:
    """Designs that differ from the base in one value, the ends of every dimension in turn."""
    return [{d.path: value} for d in space.dimensions for value in d.ends()][:PROBES]
