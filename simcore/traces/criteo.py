"""Criteo display advertising: rows of 13 counts and 26 categorical values, each of which is looked up in a table of its own.

Source: the Criteo / Kaggle display advertising challenge, 2014 (research use).

    Id,Label,I1,...,I13,C1,...,C26          (comma separated, with this header)
    10000000,0,1,1,5,...,68fd1e64,80e26c9b

or, as first published, tab separated without a header: label, I1..I13, C1..C26. A C value is 8 hexadecimal digits or empty
(missing). Order is row by row, C1 to C26. The object is the pair of table and value, the category the number of the table
(C1: 0), a line one request. A missing value is looked up, too: models train a row of the table for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from simcore.errors import InputError, did_you_mean
from simcore.traces._delimited import Field, Layout, columns, head_rows, layout_of
from simcore.traces.columns import Columns

suffixes = (".csv", ".txt", ".tsv")
TABLES = tuple(f"C{i}" for i in range(1, 27))
_COUNTS = tuple(f"I{i}" for i in range(1, 14))
_HEADERLESS = Layout(("Label", *_COUNTS, *TABLES), "\t", header=False)
_DIGITS = 8


def sniff(path: str | Path) -> bool:
    """Whether the header names I1..I13 and C1..C26, or every line has 40 fields, the last 26 hexadecimal or empty."""
    rows = head_rows(path, 10)
    if rows and set(_COUNTS) | set(TABLES) <= {name.strip() for name in rows[0]}:
        return True
    rows = head_rows(path, 10, "\t")
    return bool(rows) and all(len(row) == 40 and all(map(_is_value, row[14:])) for row in rows)


def _is_value(text: str) -> bool:
    return not text or (len(text) == _DIGITS and set(text) <= set("0123456789abcdef"))


def chunks(path: str | Path, *, tables: str | Sequence[str] | None = None, skip_missing: bool = False) -> Iterator[Columns]:
    """Read the lookups in order.

    Args:
        tables: tables to look up, for example "C1,C3" (in this order within a row); None: all 26.
        skip_missing: missing values are not looked up, and rows without any value are left out.

    Raises:
        InputError: unreadable file, a missing column, or the first line that breaks a rule.
    """
    wanted = _wanted(tables)
    layout = layout_of(path, header=None)
    if not layout.header:
        layout = _HEADERLESS
    missing = [name for name in wanted if name not in layout.names]
    if missing:
        raise InputError(
            "is required", file=str(path), line=1, path=missing[0], hint=f"the columns are {', '.join(layout.names)}"
        )
    row = 0
    number = np.array([TABLES.index(name) for name in wanted], np.int64)
    for piece in columns(path, layout, dict.fromkeys(wanted, Field("hex"))):
        values = np.stack([piece[name] for name in wanted], axis=1)
        at, which = np.nonzero(values >= (0 if skip_missing else -1))
        keys = number[which] << 33 | values[at, which] + 1
        yield Columns(keys, category=number[which].astype(np.int32), request=row + at)
        row += len(values)


def _wanted(tables: str | Sequence[str] | None) -> list[str]:
    if tables is None:
        return list(TABLES)
    wanted = [name.strip() for name in (tables.split(",") if isinstance(tables, str) else tables)]
    for name in wanted:
        if name not in TABLES:
            raise InputError("no such table", path="tables", value=name, hint=did_you_mean(name, TABLES))
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError("must name tables, each once", path="tables", value=tables)
    return wanted
