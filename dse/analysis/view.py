"""A study as a reader looks at it: its front in order, the knee, values by design, member and metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import dse.pareto as pareto
from dse.front import front, front_members, minimised

if TYPE_CHECKING:
    from dse.space import Dimension, Space
    from dse.trial import Trial
    from simcore import Metric


KNEE = "knee: the bend of the front, past which a step buys little"
"""What `Front.knee` is, wherever it is marked; how it is found: `dse.pareto.knee`."""


@dataclass(frozen=True)
class Front:
    """The non-dominated feasible designs of a study, cheapest first (by the last named of the first two objectives).

    Args:
        space: the study's space.
        trials: every trial of the study, in order.
        member: the scenario-set member this front belongs to (`combine: each`), None for the combined front.
        base: the base scenario of the space, evaluated as it stands, if that was done.
    """

    space: Space
    trials: tuple[Trial, ...]
    member: str | None = None
    base: Trial | None = None

    @property
    def objectives(self) -> tuple[Metric, ...]:
        return tuple(self.space.objectives)

    @property
    def cost(self) -> Metric:
        """The objective the front is sorted by."""
        return self.objectives[min(1, len(self.objectives) - 1)]

    def value(self, trial: Trial, key: str) -> float | None:
        """A metric of a design, combined over the scenario set or of this front's member. `key` is an exported key."""
        values = trial.combined if self.member is None else trial.metrics.get(self.member, {})
        return values.get(key)

    @cached_property
    def feasible(self) -> tuple[Trial, ...]:
        """Designs that meet every constraint, in order of evaluation."""
        return tuple(t for t in self.trials if t.feasible)

    @cached_property
    def designs(self) -> tuple[Trial, ...]:
        """The front, best of the second objective first; of designs equal in every objective the first one found."""
        return front(self.space, self.trials, self.member)

    @cached_property
    def knee(self) -> Trial | None:
        """The bend of the front, see `dse.pareto.knee`; None for fewer than three designs or two objectives."""
        if len(self.designs) < 3 or len(self.objectives) < 2:
            return None
        return self.designs[int(pareto.knee(minimised(self.space, self.designs, self.member)))]

    @cached_property
    def varying(self) -> tuple[Dimension, ...]:
        """Dimensions that differ along the front."""
        return tuple(d for d in self.space.dimensions if len({_frozen(t.point.get(d.path)) for t in self.designs}) > 1)

    @cached_property
    def constant(self) -> tuple[Dimension, ...]:
        """Dimensions with one value along the whole front."""
        return tuple(d for d in self.space.dimensions if d not in self.varying) if self.designs else ()

    @property
    def tiers(self) -> tuple[str, ...]:
        """Names of the tiers, top to bottom."""
        tiers = self.space.base.get("tiers")
        return tuple(tiers) if isinstance(tiers, Mapping) else ()

    def shares(self, trial: Trial) -> dict[str, float]:
        """Where prompt tokens come from: share by tier, top to bottom, then "prefill"; weighted mean over the members.

        Empty when the family has no such shares.
        """
        names = [m for m in (self.member,) if m is not None] or list(trial.metrics)
        total = sum(self.weight(name) for name in names)
        result: dict[str, float] = {}
        for name in names:
            for source in (*self.tiers, "prefill"):
                share = trial.metrics[name].get(f"prompt_share_{source}")
                if share is not None:
                    result[source] = result.get(source, 0.0) + share * self.weight(name) / total
        return result

    def mean(self, trial: Trial, key: str) -> float | None:
        """A metric's weighted mean over the members (the member's own value on a member's front)."""
        if self.member is not None:
            return self.value(trial, key)
        pairs = [(values.get(key), self.weight(name)) for name, values in trial.metrics.items()]
        known = [(value, weight) for value, weight in pairs if value is not None]
        return sum(v * w for v, w in known) / sum(w for _, w in known) if len(known) == len(pairs) and known else None

    def weight(self, member: str) -> float:
        """The weight of a member of the scenario set."""
        return next((m.weight for m in self.space.members if m.name == member), 1.0)


class Searched(Protocol):
    """A study, as far as its fronts are concerned."""

    @property
    def space(self) -> Space: ...
    @property
    def trials(self) -> tuple[Trial, ...]: ...
    @property
    def base(self) -> Trial | None: ...


def fronts_of(study: Searched) -> list[Front]:
    """The study's front, one per member with `combine: each`, each with the base scenario to hold it against."""
    return [Front(study.space, study.trials, member, study.base) for member in front_members(study.space)]


def _frozen(value: object) -> object:
    return repr(value) if isinstance(value, (dict, list)) else value
