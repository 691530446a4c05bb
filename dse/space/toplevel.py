"""The top-level keys of a space file, and the plain values among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simcore.errors import InputError, did_you_mean

KEYS = (
    "name", "description", "scenario", "search", "scenarios", "objectives", "constraints", "allow_saturated", "budget",
    "replications", "files",
)  # fmt: skip
TRIALS = 200
MAX_NAME = 100
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def check_name(name: Any, path: str = "name") -> str:
    """`name`, if it is safe as a folder under studies/.

    Raises:
        InputError: it is not.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        rule = f"must be a plain name: letters, digits and . _ -, first a letter or digit, at most {MAX_NAME} long"
        raise InputError(rule, path=path, value=name)
    return name


def top_level(data: Any, given: str) -> Mapping[str, Any]:
    """The file's mapping, if it is a space.

    Args:
        data: what the loader gave.
        given: the file as the user named it, for hints.

    Raises:
        InputError: a scenario, a design, or an unknown key.
    """
    if not isinstance(data, Mapping):
        raise InputError("must be a mapping with scenario, search and objectives", value=data)
    if "scenario" not in data and "family" in data:
        hint = f"run: dse simulate {given}; a space has scenario: and search:"
        raise InputError("this is a scenario, not a space", hint=hint)
    if "members" in data and "search" not in data:
        raise InputError("this is one design with its scenario set, not a space", hint=f"run: dse simulate {given}")
    for key in data:
        if key not in KEYS:
            raise InputError("unknown key", path=str(key), hint=did_you_mean(str(key), [k for k in KEYS if k != "files"]))
    return data


def flag(data: Mapping[str, Any], key: str) -> bool:
    """A boolean, false when absent."""
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise InputError("must be true or false", path=key, value=value)
    return value


def count(data: Mapping[str, Any], key: str, default: int, least: int, prefix: str = "") -> int:
    """A whole number of at least `least`."""
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"must be a whole number of at least {least}", path=prefix + key, value=value)
    return value


def budget(raw: Any) -> tuple[int, int]:
    """(trials, seed).

    Raises:
        InputError: not of the grammar.
    """
    if raw is None:
        return TRIALS, 0
    if not isinstance(raw, Mapping):
        raise InputError("must be a mapping", path="budget", value=raw, hint="write budget: {trials: 200, seed: 0}")
    for key in raw:
        if key not in ("trials", "seed"):
            raise InputError("unknown key", path=f"budget.{key}", hint=did_you_mean(str(key), ("trials", "seed")))
    return count(raw, "trials", TRIALS, 1, "budget."), count(raw, "seed", 0, 0, "budget.")
