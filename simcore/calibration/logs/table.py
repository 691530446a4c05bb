"""A CSV of runs: columns as named in `records.FIELDS`, one run a line; empty cells are as if the column were not there."""

from __future__ import annotations

import csv
import io
from typing import Any

from simcore.calibration.checks import field
from simcore.calibration.records import FIELDS, Measured, Reading
from simcore.errors import InputError, did_you_mean

_TIMES = {"ttft_ms", "tpot_ms"}


def sniff(text: str) -> bool:
    """Whether the first line names columns, among them one of the times."""
    return bool(_TIMES & {name.strip() for name in next(iter(text.splitlines()), "").split(",")})


def read(text: str, file: str) -> Reading:
    """Every line.

    Raises:
        InputError: an unknown or repeated column, a line with more cells than columns, or a cell that is not of its
            column's type and bounds.
    """
    rows = csv.DictReader(io.StringIO(text, newline=None), skipinitialspace=True)
    columns = list(rows.fieldnames or ())
    for name in columns:
        if name not in FIELDS:
            raise InputError("unknown column", file=file, line=1, path=name, hint=did_you_mean(name, FIELDS))
        if columns.count(name) > 1:
            raise InputError("is there twice", file=file, line=1, path=name, hint="keep one of the columns")
    runs = []
    for row in rows:
        surplus = row.get(None) or []
        if surplus:
            rule = f"has {len(columns) + len(surplus)} cells for {len(columns)} columns"
            raise InputError(rule, file=file, line=rows.line_num, hint="quote cells with a comma")
        cells = {name: value.strip() for name, value in row.items() if name in FIELDS and value and value.strip()}
        fields = {name: _cell(name, value, file, rows.line_num) for name, value in cells.items()}
        runs.append(Measured(fields, f"{file}:{rows.line_num}"))
    return Reading(runs=tuple(runs))


def _cell(name: str, value: str, file: str, line: int) -> Any:
    kind = FIELDS[name]
    if kind is str:
        return value
    if kind is not bool:
        return field(name, value, file=file, path=name, line=line)
    words = {"true": True, "1": True, "false": False, "0": False}
    if value.lower() not in words:
        raise InputError("must be true or false", file=file, line=line, path=name, value=value)
    return words[value.lower()]
