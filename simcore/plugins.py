"""Finding one member of a family by its name: one module, one name, no registry.

A member is a module of the family's package (`simcore.policies.lru`), or of a distribution that declares an entry point of the
same name in the group called like the package (`[project.entry-points."simcore.policies"] mine = "my_pkg.mine"`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

from simcore.errors import InputError, SimcoreError, did_you_mean


@lru_cache
def _outside(family: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=family)}


def names(family: str) -> list[str]:
    """The members of a family, sorted: modules of package `family` plus entry points of that group. Imports none of them."""
    package = importlib.import_module(family)
    inside = {m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")}
    helpers = set(getattr(package, "NOT_MEMBERS", ()))
    return sorted((inside - helpers) | set(_outside(family)))


def find(family: str, name: str, required: Sequence[str] = ()) -> ModuleType:
    """The module of member `name`.

    Args:
        family: dotted package of the family, for example "simcore.policies".
        name: the member's module or entry-point name.
        required: attributes the family's contract asks for.

    Raises:
        InputError: no member has that name; the nearest one is in the hint.
        SimcoreError: the module breaks the family's contract.
    """
    label = family.rsplit(".", 1)[-1]
    if name not in names(family):
        raise InputError(f"unknown name in {label}", value=name, hint=did_you_mean(name, names(family)))
    entry = _outside(family).get(name)
    module = importlib.import_module(entry.module if entry else f"{family}.{name}")
    missing = [attribute for attribute in required if not hasattr(module, attribute)]
    if missing:
        raise SimcoreError(f"{module.__name__} must define {', '.join(missing)} to be a member of {label}")
    return module
