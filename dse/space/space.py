"""A search space: the base scenario, what may vary, what the world may do, and what is wanted."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simcore
from dse.space import activity, paths
from dse.space.bound import Lookup, Value
from dse.space.constraints import Constraint
from dse.space.dimension import Dimension
from dse.space.members import Combine, Member, combined
from dse.space.quantities import base_value
from dse.space.resolved import identity, resolved
from simcore.errors import InputError

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution

    from simcore import Metric

Point = dict[str, Any]
"""Searched path -> YAML value, active dimensions only."""
_POLICY_KEYS = ("policy", "preset")
COUNTED = 20_000
"""Up to this many combinations, designs are counted one by one."""


@dataclass(frozen=True, eq=False)
class Space:
    """What `load_space` read. Never changes; `dataclasses.replace` gives one with another budget or seed.

    Args:
        name: of the study, unless another is given.
        file: as the user named it.
        description: what it asks, in a line.
        base: the base scenario: plain data, short forms expanded, files absolute.
        base_dir: folder the space file lies in.
        dimensions: what may vary, in file order.
        members: the scenario set; one member named "base" without one.
        combine: how objectives are taken over the set: worst, mean, or each (one front per member).
        objectives: metrics; their direction is their own.
        path_constraints: checked before a design costs anything.
        metric_constraints: judged after simulating; the built-in ones are among them.
        trials, seed: the budget, and the seed of the sampler.
        replications: workload seeds per design.
        allow_saturated: whether the built-in constraint `saturated` is switched off.
        fixed: per member: path -> value of everything that is not searched.
        recorded_files: file -> SHA-256 as a resolved space recorded it.
    """

    name: str
    file: str
    description: str
    base: Mapping[str, Any]
    base_dir: Path
    dimensions: tuple[Dimension, ...]
    members: tuple[Member, ...]
    combine: Combine
    objectives: tuple[Metric, ...]
    path_constraints: tuple[Constraint, ...]
    metric_constraints: tuple[Constraint, ...]
    trials: int
    seed: int
    replications: int
    allow_saturated: bool
    fixed: tuple[Mapping[str, Any], ...] = field(repr=False)
    recorded_files: Mapping[str, str] = field(default_factory=dict, repr=False)

    # -- designs -------------------------------------------------------------------------------------------------------

    @cached_property
    def _order(self) -> tuple[int, ...]:
        return activity.decision_order(self.dimensions, self._needed)

    @cached_property
    def _needed(self) -> dict[str, tuple[str, ...]]:
        return activity.vanishing(self.dimensions, self.fixed)

    @cached_property
    def _owner(self) -> dict[str, str]:
        """Every searched name -> the path of its dimension."""
        return {name: d.path for d in self.dimensions for name in (d.path, *d.targets)}

    def lookup(self, point: Mapping[str, Any], member: int = 0) -> Lookup:
        """Path -> value in base units, as the scenario of this design and member has it; None when unknown."""
        owner, fixed = self._owner, self.fixed[member]

        def value(name: str) -> Value:
            path = owner.get(name)
            return base_value(point[path] if path is not None and path in point else fixed.get(name))

        return value

    def is_active(self, dimension: Dimension, point: Mapping[str, Any]) -> bool:
        """Whether the dimension counts, given the values of those that decide about it."""
        capacities = self._needed[dimension.path]
        members = range(len(self.members))
        if capacities and not any(self.lookup(point, m)(path) != 0 for m in members for path in capacities):
            return False
        return dimension.when is None or dimension.when.holds(self.lookup(point))

    def active(self, point: Mapping[str, Any]) -> Point:
        """The point without dimensions that do not count; an inactive path keeps the value of the base scenario.

        Raises:
            InputError: a dimension that counts has no value.
        """
        kept: Point = {}
        for index in self._order:
            dimension = self.dimensions[index]
            if not self.is_active(dimension, kept):
                continue
            if dimension.path not in point:
                raise InputError("the design has no value for it", path=dimension.path)
            kept[dimension.path] = point[dimension.path]
        return self._in_file_order(kept)

    def _in_file_order(self, point: Point) -> Point:
        return {d.path: point[d.path] for d in self.dimensions if d.path in point}

    def satisfies_paths(self, point: Mapping[str, Any]) -> bool:
        """Whether every constraint on paths holds, in every member."""
        lookups = [self.lookup(point, m) for m in range(len(self.members))]
        return all(c.holds(lookup) for c in self.path_constraints for lookup in lookups)

    def product(self) -> int | None:
        """The product of the sizes of all dimensions, as if none was conditional; None when one is continuous."""
        sizes = [d.size() for d in self.dimensions]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None

    def size(self) -> int | None:
        """The number of designs; None when a dimension is continuous.

        Exact (inactive dimensions not varied, constraints on paths kept) where the dimensions that depend on each other have up
        to 20,000 combinations; beyond that the product of all sizes, an upper bound.
        """
        return self._size

    @cached_property
    def _size(self) -> int | None:
        product = self.product()
        core = self.entangled()
        combinations = core.product()
        if product is None or combinations is None or combinations > COUNTED:
            return product
        return product // combinations * sum(1 for _ in core.enumerate()) if combinations else 0

    def entangled(self) -> Space:
        """The space of those dimensions alone that can be inactive, decide about others, or stand in a constraint on paths."""
        kept = {path for constraint in self.path_constraints for path in constraint.paths}
        for dimension in reversed([self.dimensions[i] for i in self._order]):  # those that decide come after
            names = {dimension.path, *dimension.targets}
            if dimension.when is not None or self._needed[dimension.path] or names & kept:
                kept |= names | {path for t in dimension.targets if (path := activity.capacity_path(t)) is not None}
                kept |= {symbol.name for symbol in dimension.when.symbols()} if dimension.when is not None else set()
        return replace(self, dimensions=tuple(d for d in self.dimensions if kept & {d.path, *d.targets}))

    def enumerate(self) -> Iterator[Point]:
        """Every distinct design that satisfies the constraints on paths, in the order of the choices.

        Raises:
            InputError: a dimension is continuous.
        """
        for dimension in self.dimensions:
            if dimension.continuous:
                hint = f"give it a step: {dimension.path}: {{range: [...], step: ...}}"
                raise InputError("a continuous range has no list of designs", path=f"search.{dimension.path}", hint=hint)
        yield from (self._in_file_order(p) for p in self._walk(0, {}) if self.satisfies_paths(p))

    def _walk(self, depth: int, point: Point) -> Iterator[Point]:
        if depth == len(self._order):
            yield point
            return
        dimension = self.dimensions[self._order[depth]]
        if not self.is_active(dimension, point):
            yield from self._walk(depth + 1, point)
            return
        for value in dimension.values() or ():
            yield from self._walk(depth + 1, {**point, dimension.path: value})

    # -- Optuna --------------------------------------------------------------------------------------------------------

    def suggest(self, trial: Trial) -> Point:
        """Ask the trial's sampler for a design, dimension by dimension; only those that count are asked for."""
        point: Point = {}
        for index in self._order:
            dimension = self.dimensions[index]
            if self.is_active(dimension, point):
                point[dimension.path] = dimension.suggest(trial)
        return self._in_file_order(point)

    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna parameter -> distribution of every dimension, conditions aside."""
        return {d.parameter: d.distribution() for d in self.dimensions}

    def parameters(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """A design as Optuna parameters."""
        return {d.parameter: d.encode(point[d.path]) for d in self.dimensions if d.path in point}

    def point(self, parameters: Mapping[str, Any]) -> Point:
        """Optuna parameters as a design; the inverse of `parameters`."""
        return {d.path: d.decode(parameters[d.parameter]) for d in self.dimensions if d.parameter in parameters}

    # -- scenarios -----------------------------------------------------------------------------------------------------

    def scenario(self, point: Mapping[str, Any], member: Member | str | int = 0) -> dict[str, Any]:
        """The raw scenario of a design on a member of the set: plain data, complete in itself."""
        raw = copy.deepcopy(dict(self.base))
        for path, value in self.member(member).overrides.items():
            paths.assign(raw, path, copy.deepcopy(value))
        for dimension in self.dimensions:
            if dimension.path in point:
                for target in dimension.targets:
                    paths.assign(raw, target, copy.deepcopy(point[dimension.path]))
        return raw

    def probe_scenarios(self) -> Iterator[dict[str, Any]]:
        """Raw scenarios that together name every eviction policy of the space: the base with each member of the set, and with
        each choice that names a policy or may bring one along."""
        yield from (self.scenario({}, member) for member in self.members)
        for dimension in self.dimensions:
            for choice in dimension.choices or ():
                if isinstance(choice, Mapping) or any(t.rpartition(".")[2] in _POLICY_KEYS for t in dimension.targets):
                    yield self.scenario({dimension.path: choice})

    def member(self, which: Member | str | int) -> Member:
        """A member of the set by itself, its name or its position."""
        if isinstance(which, Member):
            return which
        if isinstance(which, int):
            return self.members[which]
        return next(m for m in self.members if m.name == which)

    def key(self, point: Mapping[str, Any]) -> str:
        """SHA-256 of the canonical scenarios of all members: equal for designs that simulate equally.

        A design that cannot be built is told apart by its own values.
        """
        try:
            built = [simcore.build_scenario(self.scenario(point, m), base_dir=self.base_dir) for m in self.members]
            data: Any = [simcore.canonical(scenario) for scenario in built]
        except InputError:
            data = {"point": dict(point)}
        return _digest(data)

    # -- results -------------------------------------------------------------------------------------------------------

    def judge(
        self, metrics: Mapping[str, Mapping[str, float | None]], statics: Mapping[str, float | None] | None = None
    ) -> dict[str, float]:
        """Violation of every metric constraint, the worst over the members; satisfied when 0 or less.

        A constraint whose metric is unknown in a member counts as violated by 1, unless another one is violated already (a
        design that does not fit is not simulated; its latency is then no news).

        Args:
            metrics: member name -> exported key -> value.
            statics: closed forms of the design, used where `metrics` has no value.
        """
        found: dict[str, float | None] = {}
        for constraint in self.metric_constraints:
            excesses = [constraint.violation(values) for values in self._values(metrics, statics)]
            known = [excess for excess in excesses if excess is not None]
            found[constraint.text] = max(known) if known and len(known) == len(excesses) else None
        missed = any(excess is not None and excess > 0 for excess in found.values())
        return {text: (0.0 if missed else 1.0) if excess is None else excess for text, excess in found.items()}

    def misses(
        self, metrics: Mapping[str, Mapping[str, float | None]], statics: Mapping[str, float | None] | None = None
    ) -> dict[str, str]:
        """Violated constraint -> how it is missed, with units and the member: "tpot_p99 86 ms > 80 ms (request_rate=8)"."""
        texts: dict[str, str] = {}
        for constraint in self.metric_constraints:
            rows = zip(metrics, self._values(metrics, statics), strict=True)
            excesses = [(constraint.violation(values), name, values) for name, values in rows]
            missed = [row for row in excesses if row[0] is None or row[0] > 0]
            if missed:
                _, name, values = max(missed, key=lambda row: row[0] if row[0] is not None else -1.0)
                where = f" ({name})" if len(self.members) > 1 and not constraint.static else ""
                texts[constraint.text] = constraint.describe(values) + where
        return texts

    @staticmethod
    def _values(
        metrics: Mapping[str, Mapping[str, float | None]], statics: Mapping[str, float | None] | None
    ) -> list[dict[str, float | None]]:
        return [{**(statics or {}), **values} for values in metrics.values()]

    def combine_metrics(self, metrics: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
        """Each metric over the scenario set: worst or weighted mean; with `each` the first member's."""
        keys = dict.fromkeys(key for values in metrics.values() for key in values)
        return combined(metrics, self.members, self.combine, {key: simcore.find_metric(key).direction for key in keys})

    # -- identity ------------------------------------------------------------------------------------------------------

    def resolved(self) -> dict[str, Any]:
        """Everything needed to reproduce the search, as plain YAML data; loads back to a space of the same `sha256`."""
        return resolved(self)

    @cached_property
    def sha256(self) -> str:
        """Identifies the space by what decides its trials: the content of files and presets counts; name and number of trials
        do not."""
        return identity(self.resolved(), [self._written_out(raw) for raw in self._telling()])

    def _telling(self) -> Iterator[dict[str, Any]]:
        """Raw scenarios that name every preset: the base with each member, and with each choice that is no number."""
        yield from (self.scenario({}, member) for member in self.members)
        for dimension in self.dimensions:
            if dimension.unit is None:
                yield from (self.scenario({dimension.path: choice}) for choice in dimension.choices or ())

    def _written_out(self, raw: Mapping[str, Any]) -> dict[str, Any] | None:
        """A scenario with the numbers of its presets; None if it cannot be built by itself."""
        try:
            return simcore.yaml_dict(simcore.build_scenario(raw, base_dir=self.base_dir))
        except InputError:
            return None


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
