"""The .lis files of the ARC paper: one run of pages a line.

Source: Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003; whoever uses the traces cites it.

    first_page page_count ignored request_number

A line of count c is c accesses, to the pages first_page, first_page + 1, ..., and one request. Pages are not negative, counts
at least 1; the last two columns are not read beyond being whole numbers. Pages have no sizes (512 bytes each in most of the
traces).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcore.traces._delimited import Field, Layout, columns, head_rows
from simcore.traces.columns import Columns

suffixes = (".lis",)
_LAYOUT = Layout(("first_page", "page_count", "ignored", "request_number"), " ", header=False)
_FIELDS = {
    "first_page": Field("int", 0, 1 << 62),
    "page_count": Field("int", 1, 1 << 31),
    "ignored": Field("int"),
    "request_number": Field("int"),
}
_MOST_AT_ONCE = 1 << 22


def sniff(path: str | Path) -> bool:
    """Whether the name ends in .lis and every line of the head is four whole numbers."""
    rows = head_rows(path, 50, " ")
    return ".lis" in Path(path).name and bool(rows) and all(len(row) == 4 and all(x.isdecimal() for x in row) for row in rows)


def chunks(path: str | Path) -> Iterator[Columns]:
    """Read the pages in order. The format has no options.

    Raises:
        InputError: unreadable file, or the first line that breaks a rule.
    """
    request = 0
    for piece in columns(path, _LAYOUT, _FIELDS):
        first, count = piece["first_page"], piece["page_count"]
        ends = np.cumsum(count)
        at = 0
        while at < len(count):  # a piece of few lines may stand for many pages
            upto = max(at + 1, int(np.searchsorted(ends, (ends[at - 1] if at else 0) + _MOST_AT_ONCE, side="right")))
            runs = count[at:upto]
            within = np.arange(runs.sum()) - np.repeat(np.cumsum(runs) - runs, runs)
            requests = np.repeat(np.arange(request + at, request + upto), runs)
            yield Columns(np.repeat(first[at:upto], runs) + within, request=requests)
            at = upto
        request += len(count)
