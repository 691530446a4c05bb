"""The numbers behind the report's figures, as one JSON-able mapping: scaled to the unit they are shown in, five digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dse.analysis.labels import amount, dimension_scale, heading, metric_label, value_text, word
from dse.analysis.values import Scale, scale_for
from dse.analysis.view import Front, fronts_of
from simcore import find_metric
from simcore.errors import InputError

if TYPE_CHECKING:
    from dse.space import Dimension, Space
    from dse.trial import Trial
    from simcore import Metric

MAX_TRIALS = 2000
"""Designs drawn; of a longer study the front and an even choice of the rest. Keeps the page small and quick."""


@dataclass(frozen=True)
class Study:
    """A study as the report sees it.

    Args:
        space: what was searched.
        trials: every trial, in order.
        base: the space's own scenario, evaluated as it stands, if that was done.
    """

    space: Space
    trials: tuple[Trial, ...]
    base: Trial | None = None

    @cached_property
    def fronts(self) -> tuple[Front, ...]:
        """One front, or one per member."""
        return tuple(fronts_of(self))

    @cached_property
    def complete(self) -> tuple[Trial, ...]:
        """Trials with figures."""
        return tuple(t for t in self.trials if t.state == "complete")

    @cached_property
    def drawn(self) -> tuple[Trial, ...]:
        """Complete trials that the figures show, in order."""
        if len(self.complete) <= MAX_TRIALS:
            return self.complete
        kept = {t.number for front in self.fronts for t in front.designs}
        step = len(self.complete) / MAX_TRIALS
        kept |= {self.complete[int(i * step)].number for i in range(MAX_TRIALS)}
        return tuple(t for t in self.complete if t.number in kept)

    @cached_property
    def constraints(self) -> tuple[str, ...]:
        """Constraints that were judged, as written, in order."""
        return tuple(dict.fromkeys(text for t in self.complete for text in t.violations))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Objectives first, then every other metric that some design has a number for."""
        found: dict[str, Metric | None] = {m.key: m for m in self.space.objectives}
        for trial in self.drawn:
            for values in (trial.combined, *trial.metrics.values()):
                for key, value in values.items():
                    if key not in found and value is not None:
                        found[key] = _metric(key)
        return tuple(m for m in found.values() if m is not None)

    def scale(self, metric: Metric) -> Scale:
        """The unit of a metric everywhere in the report: the one that suits the fronts, else all designs."""
        on_front = [f.value(t, metric.key) for f in self.fronts for t in f.designs]
        known = [v for v in on_front if v is not None]
        return scale_for(metric.unit, known or [t.combined.get(metric.key) for t in self.drawn])

    def dimension_scale(self, dimension: Dimension) -> Scale | None:
        """The unit of a dimension everywhere in the report; None for words."""
        return dimension_scale(dimension, [t.point.get(dimension.path) for t in self.drawn])


def missed_words(constraint: str) -> str:
    """How a design that misses a constraint is called; built-in constraints are names, not expressions."""
    return {"saturated": "saturated", "hbm_fit": "does not fit in HBM", "serves_all": "cannot hold every request"}.get(
        constraint, f"misses {constraint}"
    )


def _metric(key: str) -> Metric | None:
    try:
        return find_metric(key)
    except InputError:
        return None


def report_data(study: Study) -> dict[str, Any]:
    """Everything the figures need. Trials are columns of equal length; members and fronts refer to their positions."""
    drawn = study.drawn
    position = {t.number: i for i, t in enumerate(drawn)}
    return {
        "objectives": [m.key for m in study.space.objectives],
        "metrics": [_metric_entry(study, m) for m in study.metrics],
        "dimensions": [_dimension_entry(study, d) for d in study.space.dimensions],
        "constraints": [missed_words(text) for text in study.constraints],
        "trials": {
            "number": [t.number for t in drawn],
            "worst": [_worst(t, study.constraints) for t in drawn],
            "misses": [[] if t.feasible else list(study.space.misses(t.metrics).values()) for t in drawn],
        },
        "views": [_view(study, front, position) for front in study.fronts],
        "tiers": _tiers(study),
    }


def _metric_entry(study: Study, metric: Metric) -> dict[str, Any]:
    scale = study.scale(metric)
    return {
        "key": metric.key,
        "label": metric_label(metric),
        "unit": scale.label,
        "decimals": scale.decimals,
        "direction": metric.direction,
        "definition": metric.definition,
    }


def _dimension_entry(study: Study, dimension: Dimension) -> dict[str, Any]:
    values = [t.point.get(dimension.path) for t in study.drawn]
    scale = study.dimension_scale(dimension)
    head, sub = heading(dimension.path, scale.label if scale else "")
    entry: dict[str, Any] = {"path": dimension.path, "label": f"{head} {sub}".strip(), "unit": scale.label if scale else ""}
    if scale is not None:
        numbers = [amount(v) for v in values]
        return entry | {"log": dimension.log, "values": [_short(n, scale.divisor) for n in numbers]}
    texts = [None if v is None else value_text(v) for v in values]
    listed = [value_text(v) for v in dimension.choices or ()]
    words = [w for w in dict.fromkeys(listed + sorted({t for t in texts if t is not None})) if w in texts]
    return entry | {"words": words, "values": [None if t is None else words.index(t) for t in texts]}


def _view(study: Study, front: Front, position: Mapping[int, int]) -> dict[str, Any]:
    values = {}
    for metric in study.metrics:
        divisor = study.scale(metric).divisor
        values[metric.key] = [_short(front.value(t, metric.key), divisor) for t in study.drawn]
    return {
        "member": front.member,
        "front": [position[t.number] for t in front.designs],
        "knee": None if front.knee is None else position[front.knee.number],
        "values": values,
        "base": _base(study, front),
    }


def _base(study: Study, front: Front) -> dict[str, Any] | None:
    """The space's own scenario by metric, to be drawn beside the designs."""
    base = study.base
    if base is None or base.state != "complete":
        return None
    return {m.key: _short(front.value(base, m.key), study.scale(m).divisor) for m in study.metrics}


def _tiers(study: Study) -> list[dict[str, Any]]:
    """Per tier that has hit ratios: each design's capacity in GiB, and the hit ratio on each member in percent."""
    tiers = study.space.base.get("tiers")
    result = []
    for name, spec in tiers.items() if isinstance(tiers, Mapping) else ():
        key = f"hit_ratio_{name}"
        default = spec.get("capacity") if isinstance(spec, Mapping) else None
        capacities = [amount(t.point.get(f"tiers.{name}.capacity", default)) for t in study.drawn]
        present = [c is not None and c > 0 for c in capacities]
        hits = {
            member.name: [
                _short(t.metrics.get(member.name, {}).get(key), 0.01) if here else None
                for t, here in zip(study.drawn, present, strict=True)
            ]
            for member in study.space.members
        }
        if not any(v is not None for column in hits.values() for v in column):
            continue
        result.append(
            {
                "name": word(name),
                "searched": any(f"tiers.{name}.capacity" in d.targets for d in study.space.dimensions),
                "capacity": [_short(c, 2**30) if here else None for c, here in zip(capacities, present, strict=True)],
                "absent": present.count(False),
                "hits": hits,
            }
        )
    return result


def _worst(trial: Trial, constraints: Sequence[str]) -> int:
    """The constraint missed by most, -1 when all hold."""
    excess = [trial.violations.get(c, 0.0) for c in constraints]
    worst = max(range(len(excess)), key=lambda i: excess[i], default=-1)
    return worst if worst >= 0 and excess[worst] > 0 else -1


def _short(value: float | None, divisor: float = 1.0) -> float | int | None:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value / divisor:.5g}")
    return int(short) if short == int(short) else short
