"""A space file to a `Space`: every key read, every name looked up, every value tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import simcore
from dse.space import checks, paths
from dse.space.activity import decision_order, refuse_overlaps, vanishing
from dse.space.binding import bind
from dse.space.bound import Bound
from dse.space.constraints import Constraint, built_in, constraint, read_constraints, read_objectives
from dse.space.dimension import Dimension
from dse.space.domains import read_domain
from dse.space.expressions import parse
from dse.space.files import absolute, content_sha256
from dse.space.foreign import flow
from dse.space.locate import find_space
from dse.space.members import read_scenarios
from dse.space.names import Names, fixed_values
from dse.space.pins import Pin, pin_base, pin_scenarios, pin_search, read_pins
from dse.space.space import Space
from dse.space.toplevel import budget, check_name, count, flag, top_level
from simcore.errors import InputError, nearest
from simcore.yamlio import Document, load_yaml, read_text

Found = Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]


def load_space(name_or_path: str | Path, overrides: Sequence[str] = (), *, check: bool = True) -> Space:
    """Read a space.

    Args:
        name_or_path: a file, or the name of a packaged space ("kv_cxl", "spaces/kv_cxl.yaml").
        overrides: "path=value" texts of `--set`: the path is fixed, its dimension or axis dropped.
        check: build designs to try every value, the fit and the metrics. Without it (a stored study whose trace may be gone)
            only grammar and names are checked.

    Raises:
        InputError: one message with file, line, path, rule, value and the nearest right form.
    """
    file = find_space(name_or_path)
    document = load_yaml(file)
    try:
        return _Reader(document, file, str(name_or_path), read_pins(overrides)).space(check)
    except InputError as error:
        path = error.path or ""
        here = error.file is None and not path.startswith("--set")
        raise error.within(file=str(file), line=document.line(path) if here else None) from None


class _Reader:
    """One load, step by step; later steps use what earlier ones found."""

    def __init__(self, document: Document, file: Path, given: str, pins: Sequence[Pin]) -> None:
        self.data = top_level(document.data, given)
        self.file, self.given, self.pins = file, given, pins
        self.base_dir = file.resolve().parent
        self.places: dict[str, str] = {}

    def space(self, check: bool) -> Space:
        data = self.data
        name = check_name(data.get("name", self.file.stem))
        base = self._base()
        members, combine = read_scenarios(pin_scenarios(data.get("scenarios"), self.pins, base), base)
        members = tuple(replace(m, overrides=absolute(m.overrides, self.base_dir)) for m in members)
        defaults = self._defaults(base, check)
        found = self._matches(base)
        dimensions = self._dimensions(found)
        taken = {path: place.partition("[")[0] for member in members for path, place in member.places.items()}
        refuse_overlaps(dimensions, taken)
        fixed = fixed_values(base, defaults, self._words(base), members)
        tiers = tuple(base["tiers"]) if isinstance(base.get("tiers"), Mapping) else ()
        names = Names(dimensions, fixed, {**defaults, **base}, tiers)
        dimensions = self._conditions(dimensions, found, names, set(taken))
        decision_order(dimensions, vanishing(dimensions, fixed))
        allow_saturated = flag(data, "allow_saturated")
        constraints = read_constraints(data.get("constraints"), names)
        trials, seed = budget(data.get("budget"))
        space = Space(
            name=name,
            file=self.given,
            description=self._description(),
            base=base,
            base_dir=self.base_dir,
            dimensions=dimensions,
            members=members,
            combine=combine,
            objectives=read_objectives(data.get("objectives"), tiers),
            path_constraints=tuple(c for c in constraints if c.kind == "path"),
            metric_constraints=(*(c for c in constraints if c.kind == "metric"), *built_in(names, allow_saturated)),
            trials=trials,
            seed=seed,
            replications=count(data, "replications", 1, 1),
            allow_saturated=allow_saturated,
            fixed=fixed,
            recorded_files=self._recorded(check),
        )
        if check:
            self._try(space)
        return space

    def _base(self) -> dict[str, Any]:
        raw = self.data.get("scenario")
        if not isinstance(raw, Mapping):
            if "scenario" in self.data:
                raise InputError("must be a mapping", path="scenario", value=raw)
            raise InputError("is required", path="scenario", hint="it is the system and workload that `search` varies")
        try:
            base = pin_base(dict(raw), self.pins, simcore.expand_scenario)
        except InputError as error:
            raise self._in_scenario(error) from None
        result: dict[str, Any] = absolute(base, self.base_dir)
        return result

    def _in_scenario(self, error: InputError) -> InputError:
        """A mistake in the base: that of a pin if the file alone is fine, else the file's."""
        if (error.path or "").startswith("--set"):
            return error
        if self.pins and self._fine_without_pins():
            about = (error.path or "").partition("[")[0]
            pin = next((p for p in reversed(self.pins) if about and paths.overlap(p.path, about)), self.pins[-1])
            rule = error.rule if paths.overlap(pin.path, about) else f"{error.path} {error.rule}"
            return InputError(rule, path=pin.name, value=error.value, hint=error.hint)
        return error.within(prefix="scenario")

    def _fine_without_pins(self) -> bool:
        try:
            simcore.build_scenario(self.data["scenario"], base_dir=self.base_dir)
        except InputError:
            return False
        return True

    def _defaults(self, base: Mapping[str, Any], check: bool) -> dict[str, Any]:
        """Every field of the base scenario, defaults included."""
        try:
            built = simcore.build_scenario(base, base_dir=self.base_dir)
        except InputError as error:
            if check:
                raise self._in_scenario(error) from None
            return {}
        return simcore.yaml_dict(built)

    def _words(self, base: Mapping[str, Any]) -> dict[str, str]:
        """Short forms in the file: path -> word, where the scenario now has a mapping."""
        written = dict(paths.flatten(self.data["scenario"]))
        for pin in self.pins:
            written = {path: value for path, value in written.items() if not paths.overlap(path, pin.path)}
            written[pin.path] = pin.value
        return {p: v for p, v in written.items() if isinstance(v, str) and isinstance(paths.lookup(base, p), Mapping)}

    def _matches(self, base: Mapping[str, Any]) -> Found:
        search = self.data.get("search")
        if not isinstance(search, Mapping):
            if "search" in self.data:
                raise InputError("must be a mapping of paths", path="search", value=search)
            raise InputError("is required", path="search", hint="for example search: {tiers.dram.capacity: [64 GiB, 128 GiB]}")
        for pattern in search:
            try:
                matched = paths.matches(base, pattern)
            except InputError as error:
                raise InputError(error.rule, path=f"search.{pattern}", value=error.value, hint=error.hint) from None
            for target, _ in matched:
                _known_tier(base, target, pattern)
        return pin_search(search, self.pins, base)

    def _dimensions(self, found: Found) -> tuple[Dimension, ...]:
        """The dimensions without their conditions; remembers where each one's values stand."""
        dimensions: list[Dimension] = []
        for pattern, matched in found.items():
            raw = absolute(self.data["search"][pattern], self.base_dir)
            where = f"search.{pattern}"
            try:
                domain = read_domain(pattern, raw)
            except InputError as error:
                raise error.within(prefix=where) from None
            targets = tuple(target for target, _ in matched)
            if domain.tie and "*" not in pattern:
                raise InputError("ties the matches of a *, and there is none", path=f"{where}.tie", hint="leave tie out")
            made = [domain.dimension(pattern, targets)] if domain.tie else [domain.dimension(t, (t,)) for t in targets]
            dimensions += made
            long_form = isinstance(raw, Mapping) and "choices" in raw
            self.places |= {d.path: f"{where}.choices" if long_form else where for d in made}
        return tuple(dimensions)

    def _conditions(
        self, dimensions: Sequence[Dimension], found: Found, names: Names, varied: set[str]
    ) -> tuple[Dimension, ...]:
        """The dimensions with their `when` bound, stars standing for the same match."""
        bound: dict[str, Bound] = {}
        for pattern, matched in found.items():
            raw = self.data["search"][pattern]
            if not isinstance(raw, Mapping) or raw.get("when") is None:
                continue
            for target, keys in matched:
                path = pattern if raw.get("tie") else target
                try:
                    bound[path] = _condition(raw["when"], () if raw.get("tie") else keys, names, varied)
                except InputError as error:
                    raise error.within(prefix=f"search.{pattern}.when") from None
        return tuple(replace(d, when=bound.get(d.path)) for d in dimensions)

    def _description(self) -> str:
        """`description`, else the comment on the file's first line."""
        given = self.data.get("description")
        if given is not None:
            if not isinstance(given, str):
                raise InputError("must be text", path="description", value=given)
            return " ".join(given.split())
        first = read_text(self.file).lstrip().partition("\n")[0]
        return first.lstrip("# ").strip() if first.startswith("#") else ""

    def _recorded(self, check: bool) -> dict[str, str]:
        """The hashes a resolved space carries; a file that is not the recorded one any more is refused."""
        recorded = self.data.get("files") or {}
        if not isinstance(recorded, Mapping) or not all(isinstance(v, str) for v in recorded.values()):
            raise InputError("must map files to SHA-256", path="files", value=flow(recorded))
        if check:
            for path, digest in recorded.items():
                if Path(path).is_file() and content_sha256(path) != digest:
                    hint = "it is not the file this space was resolved with; restore it, or leave its line out"
                    raise InputError("the file has changed", path="files", value=path, hint=hint)
        return {str(path): digest for path, digest in recorded.items()}

    def _try(self, space: Space) -> None:
        checks.check_load(space)
        checks.check_replaced(space, self.places)
        checks.check_values(space, self.places)
        self._try_traces(space)
        checks.check_workloads(space, self.places)
        checks.check_paths(space)
        checks.check_needs(space)
        checks.check_statics(space, self.places)

    def _try_traces(self, space: Space) -> None:
        try:
            checks.check_traces(space, self.places)
        except InputError as error:
            where = (error.path or "").removeprefix("scenario.")
            pin = next((pin for pin in self.pins if paths.covers(pin.path, where)), None)
            if pin is not None:
                hint = "a path after --set is relative to the current folder"
                raise InputError(error.rule, path=pin.name, value=error.value, hint=hint) from None
            raise


def read_expression(space: Space, text: str) -> Constraint:
    """An expression over this space's paths and metrics, for filters such as `--where "hbm_cost_usd <= 800"`.

    Raises:
        InputError: grammar, unknown name, units.
    """
    tiers = tuple(space.base["tiers"]) if isinstance(space.base.get("tiers"), Mapping) else ()
    return constraint(text, Names(space.dimensions, space.fixed, space.base, tiers))


def _known_tier(base: Mapping[str, Any], target: str, pattern: str) -> None:
    """A tier has a place between the others, so `search` cannot add one."""
    head, tiers, rest = target.rpartition("tiers.") if target.startswith("tiers.") else target.partition(".tiers.")
    names = paths.lookup(base, f"{head}{tiers}".rstrip(".")) if tiers else None
    tier = rest.partition(".")[0]
    if isinstance(names, Mapping) and tier not in names:
        near = nearest(tier, names)
        hint = f"did you mean {near}?" if near else f"tiers: {', '.join(names)}; a new one goes into scenario.tiers first"
        raise InputError(f"unknown tier {tier}", path=f"search.{pattern}", hint=hint)


def _condition(text: Any, keys: tuple[str, ...], names: Names, varied: set[str]) -> Bound:
    bound = bind(parse(text).with_stars(keys), names)
    for symbol in bound.symbols():
        if symbol.kind == "metric":
            raise InputError("a condition names paths; a metric is not known before simulating", value=text)
        if any(paths.overlap(symbol.name, path) for path in varied):
            raise InputError(f"{symbol.name} varies over the scenario set, the design must not depend on it", value=text)
    return bound
