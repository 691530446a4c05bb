"""The front of a study: its non-dominated feasible trials, and one number for how far the search has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import dse.pareto as pareto

if TYPE_CHECKING:
    from dse.space import Space
    from dse.trial import Trial
    from simcore import Metric


@dataclass(frozen=True)
class Target:
    """One number a sampler is told about a trial: an objective, over the scenario set or of one member."""

    metric: Metric
    member: str | None = None

    @property
    def name(self) -> str:
        """The exported key, with the member in brackets: "ttft_p99_s[friday]"."""
        return self.metric.key if self.member is None else f"{self.metric.key}[{self.member}]"

    def value(self, trial: Trial) -> float | None:
        """The number as measured, not negated; None if unknown."""
        values = trial.combined if self.member is None else trial.metrics.get(self.member, {})
        return values.get(self.metric.key)


def front_members(space: Space) -> tuple[str | None, ...]:
    """What a study has a front of: each member of the scenario set with `combine: each`, else only the combined set (None)."""
    if space.combine == "each" and len(space.members) > 1:
        return tuple(member.name for member in space.members)
    return (None,)


def targets(space: Space) -> tuple[Target, ...]:
    """What samplers are told; with `combine: each` the objectives of every member, so that no member's front is missed."""
    return tuple(Target(metric, member) for member in front_members(space) for metric in space.objectives)


def minimised(space: Space, trials: Sequence[Trial], member: str | None = None) -> pareto.Floats:
    """Objectives of complete trials, shape (n, m); those to be maximised are negated."""
    wanted = [Target(metric, member) for metric in space.objectives]
    rows = [[_signed(target, trial) for target in wanted] for trial in trials]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(wanted))


def _signed(target: Target, trial: Trial) -> float:
    value = target.value(trial)
    assert value is not None, f"{target.name} of complete trial {trial.number}"
    return -value if target.metric.direction == "max" else value


def front(space: Space, trials: Sequence[Trial], member: str | None = None) -> tuple[Trial, ...]:
    """Non-dominated feasible trials, ordered by the second objective (the first if there is one), best first.

    Of trials equal in every objective the first one found stands for all; `equals` gives the others.
    """
    feasible = [trial for trial in trials if trial.feasible]
    values = minimised(space, feasible, member)
    chosen: dict[tuple[float, ...], int] = {}
    for i in np.flatnonzero(pareto.non_dominated(values)):
        chosen.setdefault(tuple(values[i].tolist()), int(i))
    order = sorted(chosen, key=lambda row: (row[min(1, len(row) - 1)], row))
    return tuple(feasible[chosen[row]] for row in order)


def equals(space: Space, trials: Sequence[Trial], of: Trial, member: str | None = None) -> tuple[int, ...]:
    """Numbers of the other feasible trials with exactly the objectives of `of`."""
    wanted = minimised(space, [of], member)[0]
    same = [t for t in trials if t.feasible and t.number != of.number]
    return tuple(t.number for t, row in zip(same, minimised(space, same, member), strict=True) if (row == wanted).all())


class Meter:
    """Hypervolume and size of the front while trials come in.

    The hypervolume is measured in the unit box of `pareto.squeezed` with reference (1, ..., 1), scaled by the objectives of the
    base scenario: there the base lies in the middle of the box. So the number lies in 0 .. 1, never falls, grows with every new
    design on the front, and compares between searches of one space; with two objectives the base alone would have 0.25. With
    one front per member it is their mean, and the size is the number of trials on any of them.

    Args:
        space: what is searched.
        base: the base scenario as a trial. An objective it does not have, or that is 0, is scaled by 1.
    """

    def __init__(self, space: Space, base: Trial | None) -> None:
        self._space = space
        self._fronts: dict[str | None, tuple[Trial, ...]] = dict.fromkeys(front_members(space), ())
        self._scales = {member: _scales(space, base, member) for member in self._fronts}
        self._maximised = tuple(metric.direction == "max" for metric in space.objectives)
        self.hypervolume = 0.0

    @property
    def front_size(self) -> int:
        """Trials on the front (or on any of the members' fronts)."""
        return len({trial.number for found in self._fronts.values() for trial in found})

    def add(self, batch: Sequence[Trial]) -> float:
        """Take in the next trials; returns the hypervolume."""
        feasible = [trial for trial in batch if trial.feasible]
        if feasible:
            volumes = [self._add(member, feasible) for member in self._fronts]
            self.hypervolume = max(self.hypervolume, sum(volumes) / len(volumes))
        return self.hypervolume

    def _add(self, member: str | None, feasible: list[Trial]) -> float:
        pool = sorted([*self._fronts[member], *feasible], key=lambda trial: trial.number)
        self._fronts[member] = front(self._space, pool, member)
        points = minimised(self._space, self._fronts[member], member)
        boxed = pareto.squeezed(points, self._scales[member], self._maximised)
        return pareto.hypervolume(boxed, np.ones(boxed.shape[1]))


def _scales(space: Space, base: Trial | None, member: str | None) -> tuple[float, ...]:
    known = [Target(metric, member).value(base) if base is not None else None for metric in space.objectives]
    return tuple(abs(value) if value else 1.0 for value in known)
