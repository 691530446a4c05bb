"""A trial as Optuna stores it, and back: everything needed to go on with the search, and to show it in Optuna's own tools."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optuna.trial import FrozenTrial, TrialState, create_trial

from dse.asking.asker import DUPLICATES, KEY, Asked
from dse.front import Target, targets
from dse.objective import BASE, Result, error_text
from dse.trial import Trial
from simcore.errors import InputError

if TYPE_CHECKING:
    from dse.space import Space

FAILED_EXCESS = 1.0
"""What a failed trial has as excess of every constraint: Optuna takes a trial without constraints for a feasible one."""


def make_trial(space: Space, asked: Asked, result: Result) -> Trial:
    """The trial of an evaluated design. One that violates nothing and still has an unknown objective has failed."""
    return _judged(space, result, number=asked.number, point=dict(asked.proposal.point), duplicates=asked.duplicates)


def base_trial(space: Space, result: Result) -> Trial:
    """The base scenario, number -1, as a trial to compare with; it is none of the study's."""
    return _judged(space, result, number=BASE, point={})


def _judged(space: Space, result: Result, **about: Any) -> Trial:
    about |= {"key": result.key, "started_s": result.started_s, "seconds": result.seconds}
    if result.state == "failed":
        return Trial(state="failed", error=result.error, **about)
    try:
        combined = space.combine_metrics(result.metrics)
        violations = space.judge(result.metrics)
    except Exception as error:
        return Trial(state="failed", error=error_text(error), **about)
    trial = Trial(state="complete", metrics=result.metrics, combined=combined, violations=violations, **about)
    unknown = [target.name for target in targets(space) if target.value(trial) is None]
    if unknown and trial.feasible:
        return Trial(state="failed", error=f"objective {', '.join(unknown)} is unknown for this design", **about)
    return trial


def to_optuna(space: Space, asked: Asked, trial: Trial) -> FrozenTrial:
    """The trial for Optuna: parameters as evaluated, values and constraints, and in its attributes all that is ours."""
    complete = trial.state == "complete"
    excess = trial.violations if complete else {c.text: FAILED_EXCESS for c in space.metric_constraints}
    ours = {
        "point": dict(trial.point),
        "metrics": {member: dict(values) for member, values in trial.metrics.items()},
        "combined": dict(trial.combined),
        "error": trial.error,
        "started_s": trial.started_s,
        "seconds": trial.seconds,
    }
    frozen = create_trial(
        state=TrialState.COMPLETE if complete else TrialState.FAIL,
        values=[_value(target, trial) for target in targets(space)] if complete else None,
        params=dict(asked.proposal.params),
        distributions=dict(asked.proposal.distributions),
        user_attrs={**asked.attrs, **ours},
        system_attrs=dict(asked.system_attrs),
        constraints={text: float(value) for text, value in excess.items()},
    )
    frozen.datetime_start = datetime.fromtimestamp(trial.started_s)
    frozen.datetime_complete = datetime.fromtimestamp(trial.started_s + trial.seconds)
    return frozen


def _value(target: Target, trial: Trial) -> float:
    """What samplers see. An objective that an infeasible design does not have is as bad as can be."""
    value = target.value(trial)
    if value is None:
        return -math.inf if target.metric.direction == "max" else math.inf
    return float(value)


def from_optuna(frozen: FrozenTrial) -> Trial:
    """The trial that `to_optuna` stored.

    Raises:
        InputError: something else wrote it.
    """
    attrs, complete = frozen.user_attrs, frozen.state == TrialState.COMPLETE
    try:
        assert frozen.state.is_finished()
        return Trial(
            number=frozen.number,
            point=attrs["point"],
            key=attrs[KEY],
            state="complete" if complete else "failed",
            metrics=attrs["metrics"],
            combined=attrs["combined"],
            violations=dict(frozen.constraints) if complete else {},
            error=attrs["error"],
            started_s=attrs["started_s"],
            seconds=attrs["seconds"],
            duplicates=attrs[DUPLICATES],
        )
    except (KeyError, AssertionError):
        raise InputError(f"trial {frozen.number} was not written by a search of dse", hint="use another --study NAME") from None
