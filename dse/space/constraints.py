"""Objectives and constraints: names looked up, expressions bound, excesses measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import simcore
from dse.space.binding import Scope, bind
from dse.space.bound import Bound, Lookup
from dse.space.expressions import parse
from dse.space.foreign import flow
from simcore.errors import InputError, did_you_mean
from simcore.units import GIB, format_value

if TYPE_CHECKING:
    from simcore import Metric

HBM_FIT = "hbm_fit"
SATURATED = "saturated"
SERVES_ALL = "serves_all"


@dataclass(frozen=True)
class Constraint:
    """One constraint.

    Args:
        text: as written, or the name of a built-in one; the key of its violation.
        bound: its meaning.
        kind: "path": checked before a design costs anything; "metric": judged after simulating.
        metrics: those it names.
        built_in: whether every space has it.
        place: where in the space file it stands, for messages.
    """

    text: str
    bound: Bound
    kind: Literal["path", "metric"]
    metrics: tuple[Metric, ...] = ()
    built_in: bool = False
    place: str = ""

    @property
    def static(self) -> bool:
        """Whether it is a closed form of the design, known without simulating."""
        return all(metric.static for metric in self.metrics)

    @property
    def paths(self) -> tuple[str, ...]:
        """The scenario paths it names."""
        return tuple(s.name for s in self.bound.symbols() if s.kind == "path")

    def holds(self, lookup: Lookup) -> bool:
        """Whether it holds for values in base units."""
        return self.bound.holds(lookup)

    def violation(self, values: Mapping[str, float | None]) -> float | None:
        """Scaled excess for exported metric keys: 0 or less when satisfied; None when a metric is unknown.

        `(value - limit) / |limit|`; for `hbm_fit` the excess over the HBM that the design asks for.
        """
        excess = self.bound.violation(values.get)
        if self.text == HBM_FIT and excess is not None:
            return _hbm_excess(values)
        return excess

    def describe(self, values: Mapping[str, float | None]) -> str:
        """How it is missed, with units: "tpot_p99 86 ms > 80 ms"."""
        if self.text == SATURATED and self.built_in:
            return "saturated: the load exceeds what the system sustains"
        if self.text == SERVES_ALL and self.built_in:
            rejected = values.get("rejected_requests") or 0
            return f"serves_all {rejected:.0f} requests are longer than the HBM pool or engine.max_model_len"
        if self.text == HBM_FIT:
            return f"hbm_fit {format_value(values.get('hbm_excess_bytes'), 'bytes')} per GPU too much"
        return self.bound.describe(values.get)


def _hbm_excess(values: Mapping[str, float | None]) -> float:
    excess, used = values.get("hbm_excess_bytes"), values.get("hbm_bytes")
    assert excess is not None
    return excess / used if used else excess / GIB


def constraint(text: Any, scope: Scope) -> Constraint:
    """Read one constraint.

    Raises:
        InputError: grammar, unknown name, units, or paths and metrics in one expression.
    """
    expression = parse(text)
    bound = bind(expression, scope)
    kinds = {symbol.kind for symbol in bound.symbols()}
    if len(kinds) > 1:
        rule = "a constraint names paths (checked before) or metrics (judged after simulating), not both"
        raise InputError(rule, value=str(expression), hint="split it in two")
    kind: Literal["path", "metric"] = "metric" if "metric" in kinds else "path"
    metrics = tuple(simcore.find_metric(s.name) for s in bound.symbols()) if kind == "metric" else ()
    return Constraint(str(expression), bound, kind, metrics)


def read_constraints(raw: Any, scope: Scope) -> tuple[Constraint, ...]:
    """Read the list `constraints`.

    Raises:
        InputError: with the path of the entry.
    """
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise InputError("must be a list of expressions", path="constraints", value=raw, hint="write - tpot_p99 <= 80 ms")
    found: list[Constraint] = []
    for i, text in enumerate(raw):
        try:
            found.append(replace(constraint(text, scope), place=f"constraints[{i}]"))
        except InputError as error:
            raise error.within(prefix=f"constraints[{i}]") from None
        if found[-1].text in [c.text for c in found[:-1]]:
            raise InputError("is there twice", path=f"constraints[{i}]", value=text, hint="keep one of them")
    return tuple(found)


def built_in(scope: Scope, allow_saturated: bool) -> tuple[Constraint, ...]:
    """The constraints of every space: it fits the GPU, holds every request and (unless allowed) sustains the load."""
    written = {HBM_FIT: "hbm_excess_bytes <= 0", SERVES_ALL: "rejected_requests == 0"} | (
        {} if allow_saturated else {SATURATED: "saturated == 0"}
    )
    found = []
    for name, text in written.items():
        read = constraint(text, scope)
        found.append(Constraint(name, read.bound, "metric", read.metrics, built_in=True))
    return tuple(found)


def read_objectives(raw: Any, tiers: tuple[str, ...]) -> tuple[Metric, ...]:
    """Read the list `objectives`.

    Raises:
        InputError: not a list of metric names, unknown, twice, or with a direction of its own.
    """
    if not isinstance(raw, list) or not raw:
        hint = "for example objectives: [ttft_p99, hbm_cost_usd]"
        if isinstance(raw, str):
            hint = f"write objectives: [{raw}]"
        value = "[]" if raw == [] else raw
        raise InputError("must be a list of at least one metric", path="objectives", value=value, hint=hint)
    found: list[Metric] = []
    for i, name in enumerate(raw):
        metric = _objective(name, f"objectives[{i}]", tiers)
        if metric.key in [m.key for m in found]:
            raise InputError("is there twice", path=f"objectives[{i}]", value=name, hint="keep one of them")
        found.append(metric)
    return tuple(found)


def _objective(name: Any, path: str, tiers: tuple[str, ...]) -> Metric:
    if isinstance(name, Mapping):
        metric = next((v for k, v in name.items() if str(k).lower() in ("metric", "name", "objective")), None)
        metric = metric if metric is not None else next(iter(name), None)
        hint = f"write {metric}; its direction is known"
        raise InputError("must be the name of a metric", path=path, value=flow(dict(name)), hint=hint)
    if not isinstance(name, str):
        raise InputError("must be the name of a metric", path=path, value=name)
    words = name.replace(":", " ").split()
    directions = {"min", "max", "minimize", "maximize", "minimise", "maximise", "-"}
    if len(words) == 2 and directions & set(words):
        metric = next(word for word in words if word not in directions)
        raise InputError("must be the name of a metric", path=path, value=name, hint=f"write {metric}; its direction is known")
    try:
        return simcore.find_metric(name, tiers)
    except InputError as error:
        hint = error.hint or did_you_mean(name, simcore.METRICS)
        raise InputError(error.rule, path=path, value=name, hint=hint) from None
