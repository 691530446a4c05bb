"""What a search and the designs of its front look like in MLflow: names, parameters, metrics, descriptions. Pure functions."""

from __future__ import annotations

import getpass
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.tracking.links import STUDY_TAG
from dse.versions import own_version
from simcore.units import GIB, parse_quantity

if TYPE_CHECKING:
    from dse.seams import Settings
    from dse.space import Space
    from dse.tracking.searched import Searched
    from dse.trial import Trial

EXPERIMENT_NOTE = """Every top-level run is one search of this space. Its curves *hypervolume*, *front_size* and
*feasible_share* run over the designs evaluated; its artifacts hold the report, the front and every trial.

The runs nested under it are the designs on its front, one run each, named after the design's number in the study.
Capacities are numbers with the unit in the name (`tiers.hbm.capacity_gib`), and so are metrics (`ttft_p99_s`).
To compare designs: tick them, *Compare*, then pick the axes."""
MAX_KEY, MAX_VALUE = 250, 6000
MAX_CHILDREN = 200
CURVE = "hypervolume"
"""The metric that every point of a search's curves has."""
_SUFFIXES: dict[str, tuple[str, float]] = {
    "bytes": ("_gib", float(GIB)),
    "seconds": ("_s", 1.0),
    "bytes_per_second": ("_gb_per_s", 1e9),
    "usd": ("_usd", 1.0),
    "per_second": ("_per_s", 1.0),
}


@dataclass(frozen=True)
class Step:
    """One point of the parent run's curves. Its time is part of its identity: recorded twice, it is stored once."""

    step: int
    time_ms: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class ChildRun:
    """One design of the front as it is recorded, with the times of its evaluation (Unix, ms).

    Args:
        number: of the trial.
        params: the design.
        metrics: over the scenario set, or of each member with `combine: each`.
        start_ms, end_ms: of the evaluation.
        members: those whose fronts it is on; empty when there is one front for all.
    """

    number: int
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    start_ms: int
    end_ms: int
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Short, because run lists show about twenty characters."""
        return f"design {self.number}"


def key_name(text: str) -> str:
    """`text` with what MLflow refuses in a key replaced; the member "rate=4" becomes "rate 4"."""
    return re.sub(r"[^\w\-. :/]", " ", text).strip()[:MAX_KEY]


def design_params(point: Mapping[str, Any], paths: Mapping[str, str | None]) -> dict[str, str]:
    """A design's active dimensions. Quantities become plain numbers with the unit in the key, so that plots have a scale.

    Args:
        point: values by path.
        paths: every searched path with the dimension of its unit ("bytes", None for words). A 0 of a size is "0" of that size.
    """
    params = {}
    for path, dimension in paths.items():
        value = point.get(path)
        if value is None:
            continue
        suffix, text = _param(value, dimension)
        params[key_name(path + suffix)] = text[:MAX_VALUE]
    return params


def _param(value: Any, dimension: str | None) -> tuple[str, str]:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return "", str(value)
    try:
        number, found = parse_quantity(value)
    except ValueError:
        return "", str(value)
    suffix, divisor = _SUFFIXES.get(dimension if found == "number" and dimension else found, ("", 1.0))
    return suffix, f"{number / divisor:.10g}" if suffix else f"{number:.10g}"


def child_runs(study: Searched) -> list[ChildRun]:
    """The designs of the front, or of the members' fronts; at most `MAX_CHILDREN`."""
    return [_child_run(study, trial) for trial in thinned(study.front)]


def _child_run(study: Searched, trial: Trial) -> ChildRun:
    space = study.space
    members = tuple(name for name, front in study.fronts.items() if name is not None and trial in front)
    if members:
        values = {metric_name(name, key): v for name, found in trial.metrics.items() for key, v in found.items()}
    else:
        values = dict(trial.combined)
    params = design_params(trial.point, {d.path: d.unit for d in space.dimensions})
    return ChildRun(trial.number, params, _finite(values), start_ms(trial), end_ms(trial), members)


def metric_name(member: str | None, key: str) -> str:
    """A metric's key in a child run; those of a member of the scenario set are grouped under its name."""
    return key if member is None else f"{key_name(member)}/{key}"[:MAX_KEY]


def start_ms(trial: Trial) -> int:
    """When the evaluation of a design began."""
    return round(trial.started_s * 1000)


def end_ms(trial: Trial) -> int:
    """When it ended: a millisecond later at least, since MLflow shows no shorter run."""
    return max(start_ms(trial) + 1, round((trial.started_s + trial.seconds) * 1000))


def step_of(trials: Sequence[Trial], step: int, feasible: int, hypervolume: float, front_size: int) -> Step:
    """The point of the curves after `step` of `trials`, `feasible` of which are."""
    values = {CURVE: hypervolume, "front_size": float(front_size), "feasible_share": feasible / step}
    return Step(step, end_ms(trials[step - 1]), values)


def steps_of(study: Searched) -> list[Step]:
    """Every point of the study's curves."""
    result, feasible, seen = [], 0, 0
    for step, hypervolume, front_size in study.history:
        feasible += sum(t.feasible for t in study.trials[seen:step])
        seen = step
        result.append(step_of(study.trials, step, feasible, hypervolume, front_size))
    return result


def _finite(values: Mapping[str, float | None]) -> dict[str, float]:
    return {k: float(v) for k, v in values.items() if v is not None and math.isfinite(v)}


def thinned(front: Sequence[Trial], limit: int = MAX_CHILDREN) -> list[Trial]:
    """At most `limit` designs, evenly along the front with both ends: MLflow's pages grow slow with more."""
    if len(front) <= limit:
        return list(front)
    return [front[round(i * (len(front) - 1) / (limit - 1))] for i in range(limit)]


def search_params(space: Space, settings: Settings) -> dict[str, str]:
    """The parent run's parameters; what a later `--resume` may change is a tag instead."""
    return {
        "space": space.name,
        "sampler": settings.sampler,
        "sampler_seed": str(settings.seed),
        "batch_size": str(settings.batch_size),
        "space_sha256": space.sha256,
        "objectives": ", ".join(m.name for m in space.objectives),
    }


def run_tags(space: Space, settings: Settings) -> dict[str, str]:
    """The parent run's tags."""
    return {
        STUDY_TAG: settings.name,
        "dse.budget_trials": str(settings.trials),
        "dse.backend": settings.backend,
        "dse.version": own_version(),
        "mlflow.source.name": f"dse search {Path(space.file).name}" if space.file else "dse search",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": _user(),
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def search_note(study: Searched) -> str:
    """The parent run's description, in Markdown."""
    space, counts = study.space, study.counts
    infeasible = counts["complete"] - counts["feasible"]
    objectives = " against ".join(f"`{m.key}`" for m in space.objectives)
    lines = [space.description] if space.description else []
    lines.append(
        f"{objectives}: {len(study.front)} designs on the front. {len(study.trials)} evaluated, "
        f"{counts['feasible']} feasible, {infeasible} infeasible, {counts['failed']} failed."
    )
    if len(space.members) > 1:
        names = ", ".join(m.name for m in space.members)
        lines.append(f"Every design was tried on {names}; combined by: {space.combine}.")
    if len(study.front) > MAX_CHILDREN:
        lines.append(f"{MAX_CHILDREN} of them are runs here, evenly along the front; all are in front.csv.")
    return "\n\n".join(lines)
