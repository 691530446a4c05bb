"""`dse presets`: the numbers the simulator starts from, with their units, source and date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import simcore
from dse.analysis.labels import value_text
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import wrapped
from dse.commands.output import Output
from simcore.errors import InputError
from simcore.units import parse_quantity

PLANNING = "planning value"
MARK = "*"
LONGEST_CELL = 16
_PROSE = ("source", "name", "description", "planning_value", "date")


def run(kind: str | None, name: str | None, output: Output) -> int:
    """Print the kinds, the presets of a kind, or one preset."""
    if kind is None:
        names = {k: simcore.list_presets(k) for k in simcore.PRESET_KINDS}
        output.answer(_kinds(names, output.width), {"presets": names})
    elif name is None:
        found = {n: simcore.load_preset(kind, n) for n in simcore.list_presets(kind)}
        output.answer(_table(kind, found, output.width), {"kind": kind, "presets": found})
    else:
        data = simcore.load_preset(kind, name)
        output.answer(_one(kind, name, data, output.width), {"kind": kind, "name": name, "preset": data})
    return 0


def _kinds(names: Mapping[str, list[str]], width: int) -> str:
    lines: list[str] = []
    for kind, found in names.items():
        lines += wrapped(f"{kind:<11}{', '.join(found)}", width, " " * 11)
    return "\n".join([*lines, "", "Numbers: dse presets KIND     with their sources: dse presets KIND NAME"])


def is_planning(data: Mapping[str, Any], key: str) -> bool:
    """Whether a value of a preset is a planning value: the prices of one that is marked so."""
    return bool(data.get("planning_value")) and _dimension(data.get(key)) in ("usd", "usd_per_gib")


def _dimension(value: Any) -> str:
    try:
        return parse_quantity(value)[1]
    except InputError:
        return ""


def _table(kind: str, found: Mapping[str, Mapping[str, Any]], width: int) -> str:
    """Presets of a kind as rows; the fields that most of them have as columns, as many as fit."""
    counts: dict[str, int] = {}
    for data in found.values():
        for key, value in data.items():
            if key not in _PROSE and not isinstance(value, (Mapping, list)) and len(value_text(value)) <= LONGEST_CELL:
                counts[key] = counts.get(key, 0) + 1
    columns = [Column("name", "", tuple(found), "left")]
    date = Column("date", "", tuple(value_text(d.get("date")) for d in found.values()), "left")
    for key in (k for k, n in counts.items() if 2 * n >= len(found)):
        head, _, sub = key.replace("_per_", "_/").partition("_")
        cells = tuple(_cell(data, key) for data in found.values())
        column = Column(head, sub.replace("_", " "), cells)
        if table_width([*columns, column, date]) <= width:
            columns.append(column)
    lines = render([*columns, date])
    if any(is_planning(data, key) for data in found.values() for key in data):
        lines.append(f" {MARK} {PLANNING}: an assumption to plan with, not a quoted price; set your own in the scenario.")
    return "\n".join([*lines, f" Everything, with sources: dse presets {kind} NAME"])


def _cell(data: Mapping[str, Any], key: str) -> str:
    text = value_text(data.get(key))
    return text + MARK if is_planning(data, key) else text


def _one(kind: str, name: str, data: Mapping[str, Any], width: int) -> str:
    lines = [f"{kind} {name}"]
    for key, value in _flat(data):
        if key == "planning_value":
            continue
        note = f"   {PLANNING}" if is_planning(data, key) else ""
        lines += wrapped(f"  {key:<26}{value_text(value)}{note}", width, " " * 28)
    return "\n".join(lines)


def _flat(data: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in data.items():
        inner = isinstance(value, Mapping) and value
        pairs += _flat(value, f"{prefix}{key}.") if inner else [(f"{prefix}{key}", value)]
    return pairs
