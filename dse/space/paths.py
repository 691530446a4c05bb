"""Dotted paths in plain nested mappings: read, write, match `*`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simcore.errors import MISSING, InputError


def lookup(data: Any, path: str) -> Any:
    """The value at `path`, or MISSING."""
    for key in path.split("."):
        if not isinstance(data, Mapping) or key not in data:
            return MISSING
        data = data[key]
    return data


def assign(data: dict[str, Any], path: str, value: Any) -> None:
    """Set `path` in place, making the mappings on the way.

    Raises:
        InputError: something on the way is not a mapping.
    """
    *parents, last = path.split(".")
    for depth, key in enumerate(parents, start=1):
        child = data.setdefault(key, {})
        if not isinstance(child, dict):
            raise InputError(f"{'.'.join(parents[:depth])} is {child}, it has no fields", path=path)
        data = child
    data[last] = value


def flatten(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf as (dotted path, value)."""
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{path}.")
        else:
            yield path, value


def matches(data: Any, pattern: str) -> list[tuple[str, tuple[str, ...]]]:
    """The concrete paths of `pattern` and the keys its stars stand for; a path without stars is its own match.

    Raises:
        InputError: a star that is not a whole segment, or stands where there is no mapping; lists the keys there are.
    """
    check_path(pattern)
    found: list[tuple[str, tuple[str, ...]]] = [("", ())]
    for segment in pattern.split("."):
        if segment != "*":
            found = [(f"{path}.{segment}" if path else segment, keys) for path, keys in found]
            continue
        found = [
            (f"{path}.{key}" if path else str(key), (*keys, str(key))) for path, keys in found for key in _keys(data, path)
        ]
        if not found:
            raise _no_match(data, pattern)
    return found


def _keys(data: Any, path: str) -> Iterable[Any]:
    value = lookup(data, path) if path else data
    return value if isinstance(value, Mapping) else ()


def _no_match(data: Any, pattern: str) -> InputError:
    parent = pattern.partition("*")[0].rstrip(".")
    while parent and not isinstance(lookup(data, parent), Mapping):
        parent = parent.rpartition(".")[0]
    keys = ", ".join(str(key) for key in (lookup(data, parent) if parent else data))
    where = f"keys of {parent}" if parent else "keys of the scenario"
    return InputError("nothing in the scenario matches *", path=pattern, hint=f"{where}: {keys}")


def check_path(path: Any) -> str:
    """`path`, if it is a usable dotted path.

    Raises:
        InputError: it is not text, has empty segments, or uses `*` as part of a segment.
    """
    if not isinstance(path, str) or not path or any(not segment for segment in path.split(".")):
        raise InputError("must be a dotted path in the scenario", value=path, hint="for example tiers.hbm.capacity")
    if path.partition(".")[0] == "scenario":
        inside = path.partition(".")[2] or "tiers.hbm.capacity"
        raise InputError("paths start inside scenario", path=path, hint=f"write {inside}")
    for segment in path.split("."):
        if "*" in segment and segment != "*":
            raise InputError("* stands for a whole key", path=path, hint=f"write {path.replace(segment, '*')}")
    return path


def covers(outer: str, inner: str) -> bool:
    """Whether setting `outer` also sets `inner`: equal, or a parent of it."""
    return outer == inner or inner.startswith(f"{outer}.")


def overlap(one: str, other: str) -> bool:
    """Whether setting one changes what the other sets."""
    return covers(one, other) or covers(other, one)
