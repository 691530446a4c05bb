"""A CSV of runs: columns as named in `records.FIELDS`, one run a line; empty cells are as if the column were not there."""

from __future__ import annotations

import csv
import io
from typing import Any

from simcore.calibration.records import FIELDS, Measured, Reading
from simcore.errors import InputError, did_you_mean

_TIMES = {"ttft_ms", "tpot_ms"}


def sniff(text: str) -> bool:
    """Whether the first line names columns, among them one of the times."""
    return bool(_TIMES & {name.strip() for name in text.split("\n", 1)[0].split(",")})


def read(text: str, file: str) -> Reading:
    """Every line.

    Raises:
        InputError: an unknown column, or a cell that is not of its column's type.
    """
    rows = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    for name in rows.fieldnames or ():
        if name not in FIELDS:
            raise InputError("unknown column", file=file, line=1, path=name, hint=did_you_mean(name, FIELDS))
    runs = []
    for row in rows:
        cells = {name: value.strip() for name, value in row.items() if name in FIELDS and value and value.strip()}
        fields = {name: _cell(name, value, file, rows.line_num) for name, value in cells.items()}
        runs.append(Measured(fields, f"{file}:{rows.line_num}"))
    return Reading(runs=tuple(runs))


def _cell(name: str, value: str, file: str, line: int) -> Any:
    kind = FIELDS[name]
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        number = kind(value)
    except (ValueError, KeyError):
        words = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise InputError(f"must be {words}", file=file, line=line, path=name, value=value) from None
    if kind is not str and not 0 < number < 1e12:
        raise InputError("must be more than 0", file=file, line=line, path=name, value=value)
    return number
