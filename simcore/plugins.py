"""Finding one member of a family by its name: one module, one name, no registry.

A member is a module of the family's package (`simcore.policies.lru`), or of a distribution that declares an entry point of the
same name in the group called like the package (`[project.entry-points."simcore.policies"] mine = "my_pkg.mine"`).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from simcore.errors import MISSING, InputError, SimcoreError, did_you_mean


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
        InputError: no such file or not a regular one, it fails when it runs, or it breaks the family's contract.
    """
    label = family.rsplit(".", 1)[-1]
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError("must be a regular file", file=str(path))
        source = path.read_bytes()
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from None
    digest = hashlib.sha256(os.fsencode(path.name) + b"\0" + source).hexdigest()[:12]
    stem = re.sub(r"\W", "_", path.stem, flags=re.ASCII)  # the name becomes part of source text
    name = f"{family.replace('.', '_')}_{stem}_{digest}"
    module = sys.modules.get(name)
    if module is None:
        module = ModuleType(name)
        module.__file__ = str(path.resolve())
        vars(module)["__source__"] = source  # see `simcore.edited`
        sys.modules[name] = module
        try:
            exec(compile(source, module.__file__, "exec"), module.__dict__)
        except BaseException as error:
            sys.modules.pop(name, None)
            if not isinstance(error, (Exception, SystemExit)):
                raise
            rule = " ".join(f"fails when it is loaded: {type(error).__name__}: {error}".split())
            raise InputError(rule, file=str(path)) from error
    missing = [attribute for attribute in required if not hasattr(module, attribute)]
    if missing:
        rule = f"must define {', '.join(missing)} to be a member of {label}"
        raise InputError(rule, file=str(path), hint=f"the contract is the docstring of {family}")
    return module


def outside(module: ModuleType) -> bool:
    """Whether a member is no part of this package: of a file, or of another distribution."""
    return not module.__name__.startswith(f"{__package__}.")


def broken(module: ModuleType, rule: str, *, value: Any = MISSING, hint: str | None = None) -> SimcoreError:
    """The error of a member that breaks its family's contract: the user's if it is outside the package, otherwise ours."""
    error = InputError(rule, file=str(module.__file__), value=value, hint=hint)
    return error if outside(module) else SimcoreError(str(error))
