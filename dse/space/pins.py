"""`--set path=value`: what a user fixes on the command line, taken out of the search and of the scenario set."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.space import paths
from dse.space.files import looks_like_file
from simcore.errors import InputError
from simcore.yamlio import loads_yaml

SOURCES = ("trace", "preset", "kind")
"""Fields of a workload that say where its requests come from; one takes the place of another."""
KEPT = ("request_rate", "concurrency", "requests", "warmup", "seed")
"""Fields of a workload that stay when its source is replaced."""


@dataclass(frozen=True)
class Pin:
    """One assignment. `path` may hold `*`, then it sets every match."""

    path: str
    value: Any

    @property
    def replaces_workload(self) -> bool:
        parent, _, last = self.path.rpartition(".")
        return last in SOURCES and parent.rpartition(".")[2] == "workload"

    @property
    def name(self) -> str:
        """As the user wrote it, for messages."""
        return f"--set {self.path}"


def read_pins(assignments: Sequence[str]) -> list[Pin]:
    """Parse "path=value" texts; the value is YAML, a file of a trace is relative to the current folder.

    Raises:
        InputError: no "=", not a path of the scenario, or a value that is no YAML.
    """
    pins: list[Pin] = []
    for text in assignments:
        path, equals, value = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise InputError("must be path=value", path="--set", value=text, hint="for example --set tiers.hbm.capacity=24GiB")
        try:
            paths.check_path(path)
        except InputError as error:
            raise InputError(error.rule, path=f"--set {path}", value=text, hint=error.hint) from None
        pins.append(_located(Pin(path, _value(path, value))))
    return pins


def _value(path: str, text: str) -> Any:
    try:
        return loads_yaml(text, "--set").data
    except InputError as error:
        raise InputError(error.rule, path=f"--set {path}", value=text, hint="quote it for the shell") from None


def _located(pin: Pin) -> Pin:
    """A file named on the command line lies where the user stands, not where the space lies."""
    is_trace = pin.path.rpartition(".")[2] == "trace"
    if looks_like_file(pin.value) and (is_trace or Path(pin.value).is_file()):
        return Pin(pin.path, str(Path(pin.value).resolve()))
    return pin


def pin_base(base: dict[str, Any], pins: Sequence[Pin], expand: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The base scenario, expanded, with every pin set.

    Raises:
        InputError: a path that leads through a value, or a `*` without a match.
    """
    base = expand(copy.deepcopy(base))
    for pin in pins:
        try:
            for target in _targets(pin, base):
                _set(base, target, pin)
        except InputError as error:
            raise InputError(error.rule, path=pin.name, value=error.value, hint=error.hint) from None
        base = expand(base)
    return base


def _targets(pin: Pin, base: Mapping[str, Any]) -> list[str]:
    return [target for target, _ in paths.matches(base, pin.path)]


def _set(data: dict[str, Any], target: str, pin: Pin) -> None:
    """Set `target` in place; a new source of a workload takes the place of the old one and of its parameters."""
    parent, _, field = target.rpartition(".")
    workload = paths.lookup(data, parent) if parent else data
    if pin.replaces_workload and isinstance(workload, Mapping) and field not in workload:
        kept = {key: value for key, value in workload.items() if key in KEPT}
        if parent:
            paths.assign(data, parent, kept)
        else:
            data.clear()
            data.update(kept)
    paths.assign(data, target, copy.deepcopy(pin.value))


def pin_search(
    search: Mapping[str, Any], pins: Sequence[Pin], base: Mapping[str, Any]
) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """The paths of `search` that are left, each with its targets and the keys their stars stand for.

    A pinned match of a `*` is left out; a tied dimension goes as a whole.
    """
    left: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for pattern, domain in search.items():
        targets = paths.matches(base, pattern)
        kept = [match for match in targets if not _pinned(match[0], pins, base)]
        tied = isinstance(domain, Mapping) and domain.get("tie") is True
        if kept and not (tied and len(kept) < len(targets)):
            left[pattern] = kept
    return left


def pin_scenarios(raw: Any, pins: Sequence[Pin], base: Mapping[str, Any]) -> Any:
    """`scenarios` without the axes and fields that are pinned; None when nothing is left of them."""
    if not isinstance(raw, Mapping) or not pins:
        return raw
    if isinstance(raw.get("over"), Mapping):
        over = {path: values for path, values in raw["over"].items() if not _pinned(str(path), pins, base)}
        return {**raw, "over": over} if over else None
    if isinstance(raw.get("members"), Mapping):
        members = {name: _unpinned(fields, pins, base) for name, fields in raw["members"].items()}
        emptied = all(isinstance(fields, Mapping) and set(fields) <= {"weight"} for fields in members.values())
        return None if emptied else {**raw, "members": members}
    return raw


def _unpinned(fields: Any, pins: Sequence[Pin], base: Mapping[str, Any]) -> Any:
    """A member's fields without the pinned ones; a mapping that holds a pinned field takes the pin's value there."""
    if not isinstance(fields, Mapping):
        return fields
    left: dict[str, Any] = {}
    for path, value in fields.items():
        inside = [(t.removeprefix(f"{path}."), p) for p in pins for t in _targets(p, base) if t.startswith(f"{path}.")]
        if path != "weight" and inside and isinstance(value, Mapping):
            left[path] = copy.deepcopy(dict(value))
            for target, pin in inside:
                _set(left[path], target, pin)
        elif path == "weight" or not _pinned(str(path), pins, base):
            left[path] = value
    return left


def _pinned(path: str, pins: Sequence[Pin], base: Mapping[str, Any]) -> bool:
    """Whether a pin sets `path`, a part of it, or something it is part of."""
    for pin in pins:
        if any(paths.overlap(target, path) for target in (pin.path, *_targets(pin, base))):
            return True
        parent = pin.path.rpartition(".")[0]
        if pin.replaces_workload and paths.covers(parent, path) and path.rpartition(".")[2] not in KEPT:
            return True
    return False
