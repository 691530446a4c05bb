"""The options of a trace format as a command line gives them: texts `key=value`."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from simcore.errors import InputError, did_you_mean

_INT_MAX = 2**63 - 1
_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (int, float, np.number),
    "str": (str,),
}
_BOOLS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


def format_options(module: ModuleType) -> dict[str, Any]:
    """The options of a reader's format with their defaults."""
    return {name: option.default for name, option in parameters(module).items()}


def parse_options(module: ModuleType, texts: Iterable[str]) -> dict[str, Any]:
    """Values by option, each of the type that the reader's signature states. A name may be written with - for _.

    Raises:
        InputError: no "=", an option the format does not have or that is given twice, or a value of another type.
    """
    known = parameters(module)
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        name, value = key.strip().replace("-", "_"), value.strip() or value  # a delimiter may be a blank
        if not equals or not name:
            raise InputError("must be key=value", path="option", value=text)
        _refuse_unknown(module, name, known)
        if name in values:
            raise InputError("is given twice", path=name, value=value)
        values[name] = _value(name, value, _kinds(known[name]))
    return values


def check_options(module: ModuleType, values: Mapping[str, Any]) -> None:
    """Raises InputError for an option the format does not have, or a value that is not of the option's type."""
    known = parameters(module)
    for name, value in values.items():
        _refuse_unknown(module, name, known)
        kinds = _kinds(known[name])
        if not kinds & set(_TYPES) or (value is None and "None" in kinds):
            continue
        several = "Sequence" in kinds and isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value)
        if not several and not any(_is_of(value, kind) for kind in kinds):
            raise InputError(_rule(kinds), path=name, value=value)


def parameters(module: ModuleType) -> dict[str, inspect.Parameter]:
    """The options of a reader's format as its signature has them."""
    function = module.read if hasattr(module, "read") else module.chunks
    return {name: p for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY}


def _refuse_unknown(module: ModuleType, name: str, known: Mapping[str, Any]) -> None:
    if name not in known:
        hint = did_you_mean(name, known) if known else "the format has no options"
        raise InputError(f"is not an option of the {module.__name__.rpartition('.')[2]} format", path=name, hint=hint)


def _kinds(option: inspect.Parameter) -> set[str]:
    """The names in an option's annotation: of int | None, int and None."""
    noted = option.annotation
    return set(re.findall(r"\w+", noted if isinstance(noted, str) else inspect.formatannotation(noted)))


def _rule(kinds: set[str]) -> str:
    if "str" in kinds:
        return "must be a text"
    if "bool" in kinds:
        return "must be true or false"
    return "must be a whole number below 2^63" if "int" in kinds else "must be a number"


def _is_of(value: Any, kind: str) -> bool:
    right = isinstance(value, _TYPES.get(kind, ())) and isinstance(value, (bool, np.bool_)) == (kind == "bool")
    if right and kind in ("int", "float"):
        return abs(value) <= _INT_MAX if kind == "int" else math.isfinite(value)
    return right


def _value(name: str, text: str, kinds: set[str]) -> Any:
    if "None" in kinds and text.lower() in ("none", "null"):
        return None
    if "str" in kinds or not kinds & set(_TYPES):
        return text
    try:
        value = _BOOLS[text.lower()] if "bool" in kinds else int(text) if "int" in kinds else float(text)
    except (KeyError, ValueError):
        raise InputError(_rule(kinds), path=name, value=text) from None
    if not any(_is_of(value, kind) for kind in kinds):
        raise InputError(_rule(kinds), path=name, value=text)
    return value


def option_names(module: ModuleType) -> list[str]:
    """Names of the options of a reader's format."""
    return list(parameters(module))
