"""`dse presets`: the numbers the simulator starts from, with their units, source and date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import simcore
from dse.analysis.labels import value_text
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import plain_number, scale_for, wrapped
from dse.commands.output import Output
from simcore.errors import InputError
from simcore.units import parse_quantity

KINDS = ("models", "gpus", "tiers", "workloads", "constants")
PLANNING = "planning value"
MARK = "*"
LONGEST_CELL = 16
_UNITS = {
    "bytes": "bytes",
    "seconds": "s",
    "bytes_per_second": "bytes/s",
    "flops": "FLOPS",
    "watts": "W",
    "usd": "USD",
    "usd_per_gib": "USD/GiB",
    "number": "",
}
_SAID_BY_UNIT = ("bandwidth", "latency", "capacity")
_PROSE = ("source", "name", "description", "planning_value", "date")


def run(kind: str | None, name: str | None, output: Output) -> int:
    """Print the kinds, the presets of a kind, or one preset."""
    if kind is None:
        names = {k: simcore.list_presets(k) for k in KINDS}
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
    return bool(data.get("planning_value")) and _parsed(data.get(key))[1] in ("usd", "usd_per_gib")


def _table(kind: str, found: Mapping[str, Mapping[str, Any]], width: int) -> str:
    """Presets of a kind as rows; the fields that most of them have as columns, as many as fit."""
    counts: dict[str, int] = {}
    for data in found.values():
        for key, value in data.items():
            if key not in _PROSE and not isinstance(value, (Mapping, list)) and len(value_text(value)) <= LONGEST_CELL:
                counts[key] = counts.get(key, 0) + 1
    columns = [Column("name", "", tuple(found), "left")]
    for key in (k for k, n in counts.items() if 2 * n >= len(found)):
        column = _column(key, list(found.values()))
        if table_width([*columns, column]) <= width:
            columns.append(column)
    lines = [*render(columns), ""]
    if any(is_planning(data, key) for data in found.values() for key in data):
        lines.append(f" {MARK} {PLANNING}: an assumption to plan with, not a quoted price")
    dates = sorted({str(d["date"]) for d in found.values() if d.get("date")})
    dated = f"dated {' to '.join(dict.fromkeys((dates[0], dates[-1])))}; " if dates else ""
    return "\n".join([*lines, f" {dated}every number, with its source: dse presets {kind} NAME"])


def _column(key: str, rows: list[Mapping[str, Any]]) -> Column:
    """A field of every preset, in one unit if all its values are numbers of one dimension."""
    words = key.replace("_usd_per_gib", "_price").replace("usd_per_gib", "price").split("_")
    parsed = [_parsed(data.get(key)) for data in rows if data.get(key) is not None]
    dimensions = {dimension for _, dimension in parsed}
    if len(dimensions) != 1 or "" in dimensions:
        return Column(" ".join(words), "", tuple(value_text(data.get(key)) for data in rows))
    unit = _UNITS.get(dimensions.pop(), "")
    label, divisor = _large(parsed) if unit in ("", "FLOPS") else _scale(unit, parsed)
    label = label.replace("FLOPS", "") + unit if unit == "FLOPS" else label
    cells = []
    for data in rows:
        value = data.get(key)
        text = value_text(None) if value is None else plain_number(_parsed(value)[0] / divisor)
        cells.append(text + (MARK if is_planning(data, key) else ""))
    short = [w for w in words if w not in _SAID_BY_UNIT] or words
    return Column(" ".join(short), label, tuple(cells))


def _scale(unit: str, parsed: list[tuple[float, str]]) -> tuple[str, float]:
    scale = scale_for(unit, [value for value, _ in parsed])
    return scale.label, scale.divisor


def _large(parsed: list[tuple[float, str]]) -> tuple[str, float]:
    """Thousands of millions as such: parameters in 1e9, FLOPS in TFLOPS."""
    largest = max(value for value, _ in parsed)
    if largest >= 1e13:
        return "T", 1e12
    return ("1e9", 1e9) if largest >= 1e9 else ("", 1.0)


def _parsed(value: Any) -> tuple[float, str]:
    try:
        number, dimension = parse_quantity(value)
    except InputError:
        return 0.0, ""
    return float(number), dimension


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
