"""Finding one member of a family by its name: one module, one name, no registry.

A member is a module of the family's package (`simcore.policies.lru`), or of a distribution that declares an entry point of the
same name in the group called like the package (`[project.entry-points."simcore.policies"] mine = "my_pkg.mine"`).
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from simcore.errors import InputError, SimcoreError, did_you_mean


@lru_cache
def _installed() -> Any:
    return entry_points()  # reads the metadata of every distribution: once for all families


@lru_cache
def _outside(family: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in _installed().select(group=family)}


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


def from_file(family: str, path: Path, required: Sequence[str] = ()) -> ModuleType:
    """The member of a family that a file outside the package defines. The file is run: it is code, and its user knows it.

    Raises:
        InputError: no such file, it fails when it runs, or it breaks the family's contract.
    """
    label = family.rsplit(".", 1)[-1]
    try:
        source = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from None
    name = f"{family.replace('.', '_')}_{path.stem}_{hashlib.sha256(source).hexdigest()[:12]}"
    module = sys.modules.get(name)
    if module is None:
        module = ModuleType(name)
        module.__file__ = str(path.resolve())
        sys.modules[name] = module
        try:
            exec(compile(source, module.__file__, "exec"), module.__dict__)
        except Exception as error:
            del sys.modules[name]
            raise InputError(f"fails when it is loaded: {type(error).__name__}: {error}", file=str(path)) from error
    missing = [attribute for attribute in required if not hasattr(module, attribute)]
    if missing:
        rule = f"must define {', '.join(missing)} to be a member of {label}"
        raise InputError(rule, file=str(path), hint=f"the contract is the docstring of {family}")
    return module
