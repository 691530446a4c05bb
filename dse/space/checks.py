"""What is checked by building designs: every value on its own, the fit to the GPU, and metrics that nobody can know."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simcore
from dse.space import paths
from dse.space.dimension import Dimension, choice_label
from dse.space.space import COUNTED, Point, Space
from simcore.errors import MISSING, InputError
from simcore.units import format_bytes

if TYPE_CHECKING:
    from simcore import Metric

COMBINATIONS = 2048
"""Designs at most that are built to find one that fits."""
_RATES = ("throughput", "goodput", "request_rate", "sustainable_rate")

_NEEDS = {"goodput": ("slo.ttft", "slo.tpot")}
"""Metrics that exist only when one of these paths is set."""
_FOLLOWS = {"cost_usd_per_million_tokens": "system_cost_usd"}
"""Metrics that are unknown whenever a closed form is."""

Places = Mapping[str, str]
"""Path of a dimension -> where its values stand in the file: "search.tiers.*.policy" or "search.engine.load.choices"."""


def check_values(space: Space, places: Places) -> None:
    """Build the base with each member of the scenario set and each value of each dimension.

    Raises:
        InputError: with the path of the value: "search.tiers.cxl.capacity[2]".
    """
    for member in space.members:
        try:
            _build(space, space.scenario({}, member))
        except InputError as error:
            raise _at_override(error, member.places) or _beside(error, "scenarios", member.name) from None
    for dimension in space.dimensions:
        for i, value in enumerate(dimension.ends()):
            where = places[dimension.path]
            place = f"{where}[{i}]" if dimension.choices is not None else f"{where}.range[{i}]"
            try:
                _build(space, space.scenario({dimension.path: value}))
            except InputError as error:
                found = _at_value(error, dimension, place, value)
                if found is not None or not _elsewhere(error, space.dimensions):
                    raise found or _beside(error, place, value) from None


def _build(space: Space, raw: dict[str, Any]) -> Any:
    return simcore.build_scenario(raw, base_dir=space.base_dir)


def _at_override(error: InputError, places: Mapping[str, str]) -> InputError | None:
    for path, place in places.items():
        found = moved(error, path, place)
        if found is not None:
            return found
    return None


def _at_value(error: InputError, dimension: Dimension, place: str, value: Any) -> InputError | None:
    for target in dimension.targets:
        found = moved(error, target, place)
        if found is not None:
            several = "*" in place
            rule = f"{found.rule} (at {target})" if several else found.rule
            return InputError(rule, path=found.path, value=found.value, hint=found.hint)
    return None


def moved(error: InputError, target: str, place: str) -> InputError | None:
    """An error about `target` (or a part of it, or a parent that should not be there) as an error about `place`."""
    path = error.path or ""
    if path and not paths.overlap(path.partition("[")[0], target):
        return None
    rest = path.removeprefix(target) if paths.covers(target, path) or path.startswith(f"{target}[") else ""
    if not rest and error.value is MISSING:
        place = place.rpartition("[")[0] or place  # the path is wrong, whatever its value
    return InputError(error.rule, path=place + rest, value=error.value, hint=error.hint)


def _beside(error: InputError, place: str, value: Any) -> InputError:
    """A value that makes something else wrong."""
    rule = f"{error.path} {error.rule}" if error.path else error.rule
    return InputError(rule, path=place, value=value, hint=error.hint)


def _elsewhere(error: InputError, dimensions: Sequence[Dimension]) -> bool:
    """Whether the mistake is about a path that is searched as well: then it is the combination that is wrong."""
    path = (error.path or "").partition("[")[0]
    return bool(path) and any(paths.overlap(path, target) for d in dimensions for target in d.targets)


def check_traces(space: Space, places: Places) -> None:
    """Refuse traces that are not there.

    Raises:
        InputError: where the trace is named.
    """
    _traces_exist(space.base, "scenario", space.base_dir)
    for member in space.members:
        for path, value in member.overrides.items():
            _traces_exist({path.rpartition(".")[2]: value}, member.places[path], space.base_dir)
    for dimension in space.dimensions:
        for i, value in enumerate(dimension.choices or ()):
            if dimension.path.endswith(".trace") or isinstance(value, Mapping):
                _traces_exist({"trace": value}, f"{places[dimension.path]}[{i}]", space.base_dir)


def _traces_exist(data: Mapping[str, Any], place: str, base_dir: Path) -> None:
    for key, value in data.items():
        here = f"{place}.{key}" if place == "scenario" or place.startswith("scenario.") else place
        if isinstance(value, Mapping):
            _traces_exist(value, here, base_dir)
        elif key == "trace" and isinstance(value, str) and not (base_dir / value).is_file():
            raise InputError("no such file", path=here, value=value, hint=f"looked for it in {base_dir}")


def check_workloads(space: Space, places: Places) -> None:
    """Read each trace and generate each workload: of the base with each member, and of every choice that names a trace or
    changes how one is read. Nothing is simulated.

    Raises:
        InputError: a trace is damaged, or lacks what the scenario asks of it; the file and line are the trace's own.
    """
    for member in space.members:
        try:
            simcore.check_workload(_build(space, space.scenario({}, member)))
        except InputError as error:
            raise (_at_override(error, member.places) if error.file is None else None) or error from None
    for dimension in space.dimensions:
        place = places[dimension.path]
        for i, value in enumerate(dimension.ends()):
            raw = space.scenario({dimension.path: value})
            if any(_trace_beside(raw, target, value) for target in dimension.targets):
                _check_choice(space, dimension, raw, f"{place}[{i}]" if dimension.choices is not None else place)


def _trace_beside(raw: Mapping[str, Any], target: str, value: Any) -> bool:
    """Whether a value set at `target` names a trace, or is a field of a workload that is one."""
    if isinstance(value, Mapping):
        return "trace" in value
    beside = paths.lookup(raw, target.rpartition(".")[0])
    return isinstance(beside, Mapping) and isinstance(beside.get("trace"), str)


def _check_choice(space: Space, dimension: Dimension, raw: dict[str, Any], place: str) -> None:
    try:
        scenario = _build(space, raw)
    except InputError:
        return  # only together with other values: `check_values` has judged it
    try:
        simcore.check_workload(scenario)
    except InputError as error:
        if error.file is not None:
            raise
        found = _at_value(error, dimension, place, MISSING)
        if found is not None or not _elsewhere(error, space.dimensions):
            raise found or error from None


def check_replaced(space: Space, places: Places) -> None:
    """Refuse a short form that would silently drop what the base says beside it (`gpu: h100-sxm` over {preset, count: 2}).

    Raises:
        InputError: naming the path of the preset alone.
    """
    for dimension in space.dimensions:
        for target in dimension.targets:
            for value in dimension.choices or ():
                _keeps_fields(space, target, value, places[dimension.path])
    for member in space.members:
        for path, value in member.overrides.items():
            _keeps_fields(space, path, value, member.places[path])


def _keeps_fields(space: Space, target: str, value: Any, place: str) -> None:
    old = paths.lookup(space.base, target)
    if isinstance(value, str) and isinstance(old, Mapping) and "preset" in old and len(old) > 1:
        lost = ", ".join(key for key in old if key != "preset")
        raise InputError(f"would drop {lost} of {target}", path=place, value=value, hint=f"write {target}.preset")


def check_paths(space: Space) -> None:
    """Refuse constraints on paths that no design satisfies.

    Raises:
        InputError: none does.
    """
    core = space.entangled()
    combinations = core.product()
    if not space.path_constraints or combinations is None or combinations > COUNTED:
        return
    if next(core.enumerate(), None) is None:
        texts = " and ".join(c.text for c in space.path_constraints)
        raise InputError("no design satisfies the constraints on paths", path="constraints", value=texts)


def check_load(space: Space) -> None:
    """Refuse a searched load without an objective that grows with it: the search would only choose the lightest load.

    Raises:
        InputError: with the `scenarios:` lines ready to copy.
    """
    if any(m.direction == "max" and m.name.rpartition(".")[2].startswith(_RATES) for m in space.objectives):
        return
    for dimension in space.dimensions:
        if not any("workload" in target.split(".") for target in dimension.targets):
            continue
        few = dimension.ends()
        if dimension.low is not None and dimension.high is not None:
            few = (few[0], dimension.value_at((dimension.low + dimension.high) / 2), few[-1])
        lines = f"scenarios: {{over: {{{dimension.path}: [{', '.join(map(choice_label, few))}]}}, combine: worst}}"
        rule = "the load is searched without a throughput or goodput objective"
        hint = f"what the world decides belongs in scenarios; instead of this line write {lines}"
        raise InputError(rule, path=f"search.{dimension.path}", hint=hint)


def check_needs(space: Space) -> None:
    """Refuse metrics that the scenario lacks something for.

    Raises:
        InputError: with what to add.
    """
    searched = {target for d in space.dimensions for target in d.targets}
    for metric, place in _used(space):
        needed = _NEEDS.get(metric.name, ())
        if needed and not all(searched.union(fixed).intersection(needed) for fixed in space.fixed):
            hint = f"add to scenario: slo: {{ttft: 2 s, tpot: 80 ms}} (either or both of {', '.join(needed)})"
            raise InputError(f"{metric.name} needs limits to count requests under", path=place, hint=hint)


def _used(space: Space) -> Iterator[tuple[Metric, str]]:
    """Every metric of the objectives and of the constraints in the file, and where it is named."""
    for i, metric in enumerate(space.objectives):
        yield metric, f"objectives[{i}]"
    for constraint in space.metric_constraints:
        if not constraint.built_in:
            yield from ((metric, constraint.place) for metric in constraint.metrics)


def check_statics(space: Space, places: Places) -> None:
    """Refuse objectives and constraints on closed forms that are unknown, and a space in which no design fits the GPU.

    Raises:
        InputError: naming the design.
    """
    probe = _Probe(space)
    for metric, place in _used(space):
        key = metric.key if metric.static else _FOLLOWS.get(metric.name)
        unknown = probe.first(key, lambda value: value is None) if key else None
        if unknown is not None:
            _refuse_unknown(metric.name, place, unknown, places)
    _check_fit(probe)


def _refuse_unknown(name: str, place: str, point: Point, places: Places) -> None:
    if not point:
        hint = "give what it needs (a price, a published accuracy), or take it out"
        raise InputError(f"{name} is unknown for this scenario", path=place, hint=hint)
    shown = ", ".join(f"{path} {choice_label(value)}" for path, value in point.items())
    where = " or ".join(places[path].removesuffix(".choices") for path in point)
    hint = f"take that choice out of {where}, or take {name} out"
    raise InputError(f"{name} is unknown for some designs", path=place, value=shown, hint=hint)


def _check_fit(probe: _Probe) -> None:
    best = probe.lowest("hbm_excess_bytes")
    if best is None or best[0] <= 0:
        return
    excess, point = best
    design = ", ".join(f"{path} {choice_label(value)}" for path, value in point.items()) or "every design"
    rule = f"no design of this space fits the GPU: the smallest excess is {format_bytes(excess)} per GPU"
    hint = "allow a smaller tiers.hbm.capacity, more GPUs (gpu.count) or a larger gpu"
    raise InputError(rule, path="search", value=design, hint=hint)


class _Probe:
    """Closed forms of designs, each built once."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._known: dict[str, Mapping[str, float | None] | None] = {}
        self._members = self._different_members()

    def _different_members(self) -> list[int]:
        """The members whose closed forms differ; mostly one stands for all."""
        seen: list[tuple[int, Mapping[str, float | None] | None]] = []
        for i in range(len(self.space.members)):
            statics = self._statics({}, i)
            if all(statics != other for _, other in seen):
                seen.append((i, statics))
        return [i for i, _ in seen]

    def _statics(self, point: Point, member: int) -> Mapping[str, float | None] | None:
        """None for a design that cannot be built."""
        name = repr((sorted(point.items(), key=lambda item: item[0]), member))
        if name not in self._known:
            try:
                scenario = _build(self.space, self.space.scenario(point, member))
                self._known[name] = simcore.static_metrics(scenario)
            except InputError:
                self._known[name] = None
        return self._known[name]

    def values(self, metric: str, point: Point) -> list[float | None]:
        """One value per member that differs; empty when the design cannot be built."""
        found = [self._statics(point, member) for member in self._members]
        return [statics.get(metric) for statics in found if statics is not None]

    def influential(self, metric: str) -> list[Dimension]:
        """The dimensions that move the metric, one at a time from the base."""
        base = self.values(metric, {})
        return [d for d in self.space.dimensions if any(self.values(metric, {d.path: v}) not in (base, []) for v in d.ends())]

    def combinations(self, dimensions: Sequence[Dimension]) -> Iterator[Point]:
        """Every combination of their ends or choices that can occur, up to COMBINATIONS."""
        ends = [d.ends() for d in dimensions]
        names = [d.path for d in dimensions]
        for values in itertools.islice(itertools.product(*ends), COMBINATIONS):
            yield dict(zip(names, values, strict=True))

    def first(self, metric: str, wrong: Callable[[float | None], bool]) -> Point | None:
        """A design, as few values as possible, for which the metric is wrong."""
        for dimension in self.space.dimensions:
            for value in dimension.ends():
                if any(map(wrong, self.values(metric, {dimension.path: value}))) and not any(
                    map(wrong, self.values(metric, {}))
                ):
                    return {dimension.path: value}
        for point in self.combinations(self.influential(metric)):
            if any(map(wrong, self.values(metric, point))):
                return point
        return None

    def lowest(self, metric: str) -> tuple[float, Point] | None:
        """The lowest value over all designs and a design that has it; stops at 0. None when that cannot be told."""
        dimensions = self.influential(metric)
        greedy: Point = {}
        for d in dimensions:
            greedy[d.path] = min(d.ends(), key=lambda v, path=d.path: self._worst(metric, {path: v}))  # type: ignore[misc]
        best = (self._worst(metric, greedy), greedy)
        if best[0] > 0:
            if math.prod(len(d.ends()) for d in dimensions) > COMBINATIONS:
                return None
            best = min(((self._worst(metric, p), p) for p in self.combinations(dimensions)), key=lambda pair: pair[0])
        return best if math.isfinite(best[0]) else None

    def _worst(self, metric: str, point: Point) -> float:
        known = [value for value in self.values(metric, point) if value is not None]
        return max(known, default=math.inf)
