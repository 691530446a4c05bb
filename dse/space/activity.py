"""Which dimensions of a design count: conditions, tiers of capacity 0, and the order in which that can be decided."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dse.space import paths
from dse.space.dimension import Dimension
from simcore.errors import InputError

_IN_TIER = re.compile(r"(?P<tier>(?:.+\.)?tiers\.[^.]+)\.(?P<field>.+)")


def capacity_path(target: str) -> str | None:
    """The capacity that must not be 0 for `target` to count; None outside tiers and for a capacity itself."""
    match = _IN_TIER.fullmatch(target)
    return None if match is None or match["field"] == "capacity" else f"{match['tier']}.capacity"


def parents(dimension: Dimension, dimensions: Sequence[Dimension]) -> list[int]:
    """Indices of the dimensions that decide whether this one counts."""
    names = [symbol.name for symbol in dimension.when.symbols()] if dimension.when else []
    names += [path for path in map(capacity_path, dimension.targets) if path is not None]
    return [i for i, d in enumerate(dimensions) if any(name in (d.path, *d.targets) for name in names)]


def decision_order(dimensions: Sequence[Dimension]) -> tuple[int, ...]:
    """An order in which every dimension comes after those that decide about it; the file's order otherwise.

    Raises:
        InputError: conditions in a circle.
    """
    needed = [parents(d, dimensions) for d in dimensions]
    order: list[int] = []
    done = [False] * len(dimensions)

    def visit(index: int, trail: tuple[int, ...]) -> None:
        if done[index]:
            return
        if index in trail:
            circle = [dimensions[i].path for i in (*trail[trail.index(index) :], index)]
            last = circle[0]
            raise InputError("conditions go in a circle", path=f"search.{last}.when", value=" -> ".join(circle))
        for parent in needed[index]:
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
