"""The options of a trace format as a command line gives them: texts `key=value`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from simcore.errors import InputError, did_you_mean

_BOOLS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


def format_options(module: ModuleType) -> dict[str, Any]:
    """The options of a reader's format with their defaults."""
    return {name: option.default for name, option in _parameters(module).items()}


def parse_options(module: ModuleType, texts: Iterable[str]) -> dict[str, Any]:
    """Values by option, each of the type that the reader's signature states.

    Raises:
        InputError: no "=", an option the format does not have or that is given twice, or a value of another type.
    """
    known = _parameters(module)
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise InputError("must be key=value", path="option", value=text)
        if name not in known:
            hint = did_you_mean(name, known) if known else "the format has no options"
            rule = f"is not an option of the {module.__name__.rpartition('.')[2]} format"
            raise InputError(rule, path=name, hint=hint)
        if name in values:
            raise InputError("is given twice", path=name, value=value)
        values[name] = _value(name, value, known[name].annotation)
    return values


def _parameters(module: ModuleType) -> dict[str, inspect.Parameter]:
    function = module.read if hasattr(module, "read") else module.chunks
    return {name: p for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY}


def _value(name: str, text: str, annotation: Any) -> Any:
    kinds = set(re.findall(r"\w+", annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)))
    if "None" in kinds and text.lower() in ("none", "null"):
        return None
    if "str" in kinds:
        return text
    rule = "must be true or false" if "bool" in kinds else "must be a whole number" if "int" in kinds else "must be a number"
    try:
        if "bool" in kinds:
            return _BOOLS[text.lower()]
        return int(text) if "int" in kinds else float(text) if "float" in kinds else text
    except (KeyError, ValueError):
        raise InputError(rule, path=name, value=text) from None
