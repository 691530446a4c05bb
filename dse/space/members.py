"""The scenario set: what the world may do, on which every design is tried."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from dse.space import paths
from dse.space.dimension import choice_label
from dse.space.domains import same_value
from dse.space.files import looks_like_file
from dse.space.foreign import flow, right_line
from simcore.errors import InputError, did_you_mean

Combine = Literal["worst", "mean", "each"]
COMBINE = ("worst", "mean", "each")
MAX_MEMBERS = 64
ALONE = "base"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ,._=+/-]*")


@dataclass(frozen=True)
class Member:
    """One scenario of the set.

    Args:
        name: as it appears in columns: "request_rate=4", or the given name.
        weight: its share in a mean.
        overrides: concrete dotted path -> YAML value, set on the base scenario.
        places: the same paths -> where in the space file the value stands, for messages.
    """

    name: str
    weight: float = 1.0
    overrides: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


def read_scenarios(raw: Any, base: Mapping[str, Any]) -> tuple[tuple[Member, ...], Combine]:
    """Read `scenarios`: the members and how their metrics are combined; None gives one member that is the base itself.

    Raises:
        InputError: not of the grammar; its path starts at `scenarios`.
    """
    if raw is None:
        return (Member(ALONE),), "worst"
    if not isinstance(raw, Mapping):
        hint = "write over: {path: [value, value]}, or members: {name: {path: value}}"
        raise InputError("must be a mapping", path="scenarios", value=raw, hint=hint)
    for key in raw:
        if key not in ("over", "members", "combine"):
            known = ("over", "members", "combine")
            hint = f"write over: {{{key}: {flow(raw[key])}}}" if "." in str(key) else did_you_mean(str(key), known)
            raise InputError("unknown key", path=f"scenarios.{key}", hint=hint)
    if ("over" in raw) == ("members" in raw):
        raise InputError("must have over (a product) or members (by name), one of them", path="scenarios")
    combine = raw.get("combine", "worst")
    if combine not in COMBINE:
        raise InputError("must be worst, mean or each", path="scenarios.combine", value=combine)
    members = _product(raw["over"], base) if "over" in raw else _named(raw["members"], base, combine)
    return members, cast(Combine, combine)


def _product(over: Any, base: Mapping[str, Any]) -> tuple[Member, ...]:
    where = "scenarios.over"
    if not isinstance(over, Mapping) or not over:
        raise InputError("must be a mapping", path=where, value=over, hint="for example {workload.request_rate: [2, 4, 8]}")
    axes: list[list[Member]] = []
    taken: dict[str, str] = {}
    shorts = [str(path).rpartition(".")[2] for path in over]
    for path, short in zip(over, shorts, strict=True):
        here = f"{where}.{path}"
        targets = _targets(base, path, where)
        _no_overlap(targets, taken, here)
        taken |= dict.fromkeys(targets, here)
        values = _values(path, over[path], here)
        label = short if shorts.count(short) == 1 else path
        axis = [
            Member(f"{label}={text}", 1.0, dict.fromkeys(targets, value), dict.fromkeys(targets, f"{here}[{i}]"))
            for i, (text, value) in enumerate(zip(_labels(values), values, strict=True))
        ]
        axes.append(axis)
    count = math.prod(len(axis) for axis in axes)
    if count > MAX_MEMBERS:
        raise InputError(f"makes {count} members, at most {MAX_MEMBERS} are possible", path=where, hint="shorten the lists")
    return tuple(_joined(parts) for parts in itertools.product(*axes))


def _joined(parts: tuple[Member, ...]) -> Member:
    overrides = {path: value for part in parts for path, value in part.overrides.items()}
    places = {path: place for part in parts for path, place in part.places.items()}
    return Member(", ".join(part.name for part in parts), 1.0, overrides, places)


def _labels(values: list[Any]) -> list[str]:
    """Short distinct names of an axis' values; a file by its name without folders."""
    texts = [Path(v).name if looks_like_file(v) and Path(v).is_absolute() else choice_label(v) for v in values]
    plain = [re.sub(r"[^A-Za-z0-9 ,._+/-]+", "-", text).strip("-") for text in texts]
    return [text if plain.count(text) == 1 else f"{text}-{i}" for i, text in enumerate(plain)]


def _values(path: str, values: Any, here: str) -> list[Any]:
    if not isinstance(values, list):
        line = right_line(path, values)
        choices = None if line is None or "range" in line else line
        hint = f"write {choices or f'{path}: [value, value]'}"
        raise InputError("must be a list of values", path=here, value=values, hint=hint)
    if not values:
        raise InputError("must have at least one value", path=here, value="[]")
    seen = [same_value(v) for v in values]
    for i, value in enumerate(seen):
        if value in seen[:i]:
            raise InputError("has a value twice", path=f"{here}[{i}]", value=values[i], hint="keep one of them")
    return values


def _named(raw: Any, base: Mapping[str, Any], combine: str) -> tuple[Member, ...]:
    where = "scenarios.members"
    if not isinstance(raw, Mapping) or not raw:
        hint = "for example {friday: {workload.request_rate: 8}}"
        raise InputError("must be a mapping of names", path=where, value=raw, hint=hint)
    if len(raw) > MAX_MEMBERS:
        raise InputError(f"has {len(raw)} members, at most {MAX_MEMBERS} are possible", path=where)
    members: list[Member] = []
    for name, fields in raw.items():
        here = f"{where}.{name}"
        if not _NAME.fullmatch(str(name)):
            raise InputError("a member's name is letters, digits, blanks and , . _ = + / -", path=here, value=str(name))
        if not isinstance(fields, Mapping):
            hint = "for example {workload.request_rate: 8}"
            raise InputError("must be a mapping of paths", path=here, value=fields, hint=hint)
        overrides: dict[str, Any] = {}
        places: dict[str, str] = {}
        for path, value in fields.items():
            if path != "weight":
                targets = _targets(base, path, here)
                _no_overlap(targets, places, f"{here}.{path}")
                places |= dict.fromkeys(targets, f"{here}.{path}")
                overrides |= dict.fromkeys(targets, value)
        members.append(Member(str(name), _weight(fields, here, combine), overrides, places))
    return tuple(members)


def _weight(fields: Mapping[str, Any], here: str, combine: str) -> float:
    if "weight" not in fields:
        return 1.0
    weight = fields["weight"]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
        raise InputError("must be a number above 0", path=f"{here}.weight", value=weight)
    if combine != "mean":
        hint = "write combine: mean, or leave weight out"
        raise InputError(f"has no effect with combine: {combine}", path=f"{here}.weight", value=weight, hint=hint)
    return float(weight)


def _targets(base: Mapping[str, Any], path: Any, here: str) -> list[str]:
    try:
        return [target for target, _ in paths.matches(base, path)]
    except InputError as error:
        raise InputError(error.rule, path=f"{here}.{path}", value=error.value, hint=error.hint) from None


def _no_overlap(targets: list[str], others: Mapping[str, str], here: str) -> None:
    for target in targets:
        clash = next((other for other in others if paths.overlap(target, other)), None)
        if clash is not None:
            raise InputError(f"sets what {others[clash]} sets as well", path=here, hint="name it once")


def combined(
    metrics: Mapping[str, Mapping[str, float | None]],
    members: tuple[Member, ...],
    combine: Combine,
    direction: Mapping[str, str],
) -> dict[str, float | None]:
    """Each metric over the set: its worst, its weighted mean, or (`each`) the first member's.

    A metric unknown in one member is unknown.

    Args:
        metrics: member name -> exported key -> value; must hold every member.
        members: the set.
        combine: how.
        direction: exported key -> "min" or "max", for `worst`.
    """
    rows = [metrics[member.name] for member in members]
    if combine == "each" or len(rows) == 1:
        return dict(rows[0])
    keys = dict.fromkeys(key for row in rows for key in row)
    result: dict[str, float | None] = {}
    for key in keys:
        values = [row.get(key) for row in rows]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            result[key] = None
        elif combine == "mean":
            weights = [member.weight for member in members]
            result[key] = math.fsum(v * w for v, w in zip(known, weights, strict=True)) / math.fsum(weights)
        else:
            result[key] = min(known) if direction[key] == "max" else max(known)
    return result
