"""Which dimensions of a design count: conditions, tiers of capacity 0, and the order in which that can be decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dse.space import paths
from dse.space.dimension import Dimension
from dse.space.quantities import base_value
from simcore.errors import InputError

_IN_TIER = re.compile(r"(?P<tier>(?:.+\.)?tiers\.[^.]+)\.(?P<field>.+)")


def capacity_path(target: str) -> str | None:
    """The capacity that must not be 0 for `target` to count; None outside tiers and for a capacity itself."""
    match = _IN_TIER.fullmatch(target)
    return None if match is None or match["field"] == "capacity" else f"{match['tier']}.capacity"


def vanishing(dimensions: Sequence[Dimension], fixed: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Path of each dimension -> the capacities of which one must not be 0 for it to count.

    Empty where that is always so: some target is outside any tier, or in a tier that is never of capacity 0.

    Args:
        dimensions: in file order.
        fixed: per member: path -> value of what is not searched, of searched paths their value while inactive.
    """
    owners = {name: d for d in dimensions for name in (d.path, *d.targets)}

    def may_be_zero(path: str) -> bool:
        owner = owners.get(path)
        values = list(owner.ends()) if owner is not None else []
        if owner is None or owner.when is not None:
            values += [member.get(path) for member in fixed]
        return any(base_value(value) == 0 for value in values)

    found: dict[str, tuple[str, ...]] = {}
    for dimension in dimensions:
        capacities = [capacity_path(target) for target in dimension.targets]
        needed = tuple(path for path in capacities if path is not None and may_be_zero(path))
        found[dimension.path] = needed if len(needed) == len(capacities) else ()
    return found


def parents(dimension: Dimension, dimensions: Sequence[Dimension], needed: Mapping[str, tuple[str, ...]]) -> list[int]:
    """Indices of the dimensions that decide whether this one counts. `needed` is that of `vanishing`."""
    names = [symbol.name for symbol in dimension.when.symbols()] if dimension.when else []
    names += needed[dimension.path]
    return [i for i, d in enumerate(dimensions) if any(name in (d.path, *d.targets) for name in names)]


def decision_order(dimensions: Sequence[Dimension], needed: Mapping[str, tuple[str, ...]]) -> tuple[int, ...]:
    """An order in which every dimension comes after those that decide about it; the file's order otherwise.

    Raises:
        InputError: conditions in a circle.
    """
    deciding = [parents(d, dimensions, needed) for d in dimensions]
    order: list[int] = []
    done = [False] * len(dimensions)

    def visit(index: int, trail: tuple[int, ...]) -> None:
        if done[index]:
            return
        if index in trail:
            circle = [dimensions[i].path for i in (*trail[trail.index(index) :], index)]
            last = circle[0]
            raise InputError("conditions go in a circle", path=f"search.{last}.when", value=" -> ".join(circle))
        for parent in deciding[index]:
            visit(parent, (*trail, index))
        done[index] = True
        order.append(index)

    for index in range(len(dimensions)):
        visit(index, ())
    return tuple(order)


def refuse_overlaps(dimensions: Sequence[Dimension], taken: dict[str, str]) -> None:
    """Refuse two places that set the same path.

    Args:
        dimensions: in file order.
        taken: path -> where `scenarios` sets it.

    Raises:
        InputError: naming both.
    """
    owners: dict[str, str] = {}
    for dimension in dimensions:
        here = f"search.{dimension.path}"
        for target in dimension.targets:
            for other, where in [*owners.items(), *taken.items()]:
                if not paths.overlap(target, other):
                    continue
                if where.startswith("scenarios"):
                    hint = "what the user may choose belongs in search, what the world decides in scenarios"
                else:
                    hint = "name it once"
                raise InputError(f"sets what {where} sets as well", path=here, hint=hint)
        owners |= dict.fromkeys(dimension.targets, here)
