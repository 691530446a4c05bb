"""What the module of an eviction policy or admission filter declares, as fields and sizes of an engine's arrays.

The contract is the docstring of `simcore.policies`.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from simcore.errors import InputError
from simcore.plugins import broken
from simcore.specs.base import Spec, validate

Fields = list[tuple[str, Any]]
KINDS: dict[Any, type[np.generic]] = {float: np.float64, int: np.int64, bool: np.uint8}


class NoParams(Spec):
    """Nothing to choose."""


def params_model(module: ModuleType) -> type[Spec]:
    """The model of its parameters."""
    model: type[Spec] = getattr(module, "Params", NoParams)
    return model


def put_params(store: Any, module: ModuleType, given: Mapping[str, Any], path: str) -> None:
    """Write its parameters, checked by its own model, into the fields of store records.

    Raises:
        InputError: an unknown parameter, or a value out of range; paths begin with `path`.
    """
    model = params_model(module)
    params = _defaults(model) if not given else None
    if params is None:
        params = validate(model, dict(given), prefix=path, context={"yaml": False})
    for name in model.model_fields:
        value = getattr(params, name)
        try:
            store[name] = value
        except (OverflowError, TypeError, ValueError):
            raise InputError("must be a number of 64 bits", path=f"{path}.{name}", value=value) from None


@cache
def _defaults(model: type[Spec]) -> Spec | None:
    """The parameters if none is given; None where one must be."""
    required = any(field.is_required() for field in model.model_fields.values())
    return None if required else validate(model, {}, context={"yaml": False})


def store_fields(modules: Iterable[ModuleType]) -> Fields:
    """Fields of a store: what the modules keep there, and their parameters."""
    fields: Fields = []
    for module in modules:
        fields += getattr(module, "STORE_FIELDS", ())
        fields += [(name, KINDS[field.annotation]) for name, field in params_model(module).model_fields.items()]
    return fields


def slot_fields(modules: Iterable[ModuleType]) -> Fields:
    """Fields of a slot."""
    return [field for module in modules for field in getattr(module, "FIELDS", ())]


def object_fields(modules: Iterable[ModuleType]) -> Fields:
    """Fields of an object, present or absent."""
    return [field for module in modules for field in getattr(module, "OBJECT_FIELDS", ())]


_BYTES = {"SPARE_NODES": 12, "WORDS": 4, "REALS": 8}  # at least, of each


def asked(module: ModuleType, name: str, slots: int, n_objects: int) -> int:
    """What it asks for by SPARE_NODES, WORDS or REALS, for a store of so many slots.

    Raises:
        InputError: a module outside the package asks for what is no number, or for more than the machine has.
        SimcoreError: one of the package does.
    """
    ask = getattr(module, name, None)
    if ask is None:
        return 0
    try:
        given = ask(slots, n_objects)
    except Exception as error:
        text = " ".join(f"{name} fails: {type(error).__name__}: {error}".split())
        raise broken(module, text) from error
    try:
        count = operator.index(given)
    except TypeError:
        count = -1
    if count < 0:
        raise broken(module, f"{name} must return a whole number of at least 0", value=given)
    if count * _BYTES[name] > _memory_bytes():
        raise broken(module, f"{name} asks for more than the memory of this machine", value=given)
    return count


@cache
def _memory_bytes() -> int:
    known = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else 1 << 40


def record(base: Fields, more: Fields, *, shared: bool = False) -> np.dtype[Any]:
    """A record of an engine's own fields and the declared ones; never empty.

    Args:
        shared: several modules may use one name, since no two of them have the same record in use; the wider type is taken.
    """
    fields = dict(base)
    assert len(fields) == len(base)
    for name, kind in more:
        assert name not in dict(base), f"field {name} is the engine's own"
        assert shared or name not in fields, f"field {name} is declared twice"
        fields[name] = np.promote_types(fields[name], kind) if name in fields else kind
    return np.dtype(list(fields.items()) or [("unused", np.uint8)], align=True)
