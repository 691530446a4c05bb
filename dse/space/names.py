"""The names an expression of a space may use: searched paths, fixed paths, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import simcore
from dse.space import paths
from dse.space.bound import Symbol
from dse.space.dimension import Dimension, choice_label
from dse.space.members import Member
from dse.space.quantities import dimension_of
from simcore.errors import MISSING, InputError


class Names:
    """What every name stands for.

    Args:
        dimensions: the searched paths.
        fixed: one flat mapping per member: path -> YAML value of everything that is not searched.
        tree: the scenario as nested mappings, to tell a mapping from an unknown path.
        tiers: names of its tiers, for metrics per tier.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        fixed: Sequence[Mapping[str, Any]],
        tree: Mapping[str, Any],
        tiers: tuple[str, ...],
    ) -> None:
        self._searched = {path: d for d in dimensions for path in (d.path, *d.targets)}
        self._fixed, self._tree, self._tiers = fixed, tree, tiers

    def symbol(self, name: str) -> Symbol | None:
        """The meaning of `name`; searched paths first, then fixed ones, then metrics."""
        if name in self._searched:
            return _searched(name, self._searched[name])
        whole = next((target for target in self._searched if paths.covers(target, name)), None)
        if whole is not None:
            raise InputError(f"{whole} is searched as a whole", value=name, hint=f"compare {whole} itself")
        found = [member[name] for member in self._fixed if name in member]
        if found:
            dimension = dimension_of(found)
            return Symbol(name, "path", dimension if dimension is not None else "word")
        inside = paths.lookup(self._tree, name)
        if isinstance(inside, Mapping) and inside:
            raise InputError("is a mapping", value=name, hint=f"name one of its fields: {', '.join(map(str, inside))}")
        return self._metric(name)

    def _metric(self, name: str) -> Symbol | None:
        try:
            metric = simcore.find_metric(name, self._tiers)
        except InputError:
            return None
        return Symbol(metric.key, "metric", metric_dimension(metric.unit), unit=metric.unit)

    def names(self) -> Iterable[str]:
        """Every path and metric, for hints."""
        fixed = {path for member in self._fixed for path in member}
        metrics = [name for metric in simcore.METRICS.values() for name in (metric.name, metric.key)]
        return [*self._searched, *fixed, *metrics, *(f"hit_ratio_{tier}" for tier in self._tiers)]


def _searched(name: str, dimension: Dimension) -> Symbol:
    if dimension.choices is None:
        return Symbol(name, "path", dimension.unit or "number")
    found = dimension_of(dimension.choices) or "word"
    words = tuple(choice_label(choice) for choice in dimension.choices) if found == "word" else None
    return Symbol(name, "path", found, words)


def metric_dimension(unit: str) -> str:
    """The dimension a metric's values are compared in."""
    known = {"s": "seconds", "bytes": "bytes", "bytes/s": "bytes_per_second", "USD": "usd", "ratio": "fraction"}
    rates = {"tokens/s": "tokens_per_second", "requests/s": "per_second", "1/s": "per_second", "J/token": "joules_per_token"}
    return known.get(unit) or rates.get(unit, "number")


def fixed_values(
    expanded: Mapping[str, Any], defaults: Mapping[str, Any], words: Mapping[str, str], members: Sequence[Member]
) -> tuple[Mapping[str, Any], ...]:
    """Flat path -> value for each member: defaults, then the scenario, then short forms as words, then the member's own."""
    base = {**dict(paths.flatten(defaults)), **dict(_leaves(expanded)), **words}
    return tuple(_overridden(base, member.overrides) for member in members)


def _overridden(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for path, value in overrides.items():
        result = {known: old for known, old in result.items() if not paths.covers(path, known)}
        result |= dict(_leaves({path: value}))
    return result


def _leaves(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves, and each mapping with a preset under its own path as that word."""
    for key, value in data.items():
        path = f"{prefix}{key}"
        if not isinstance(value, Mapping):
            yield path, value
            continue
        preset = value.get("preset", MISSING)
        if isinstance(preset, str):
            yield path, preset
        yield from _leaves(value, f"{path}.")
