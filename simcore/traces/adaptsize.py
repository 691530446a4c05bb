"""The request trace of AdaptSize: an object and its size a line.

Source: Berger, Sitaraman and Harchol-Balter, "AdaptSize: Orchestrating the Hot Object Memory Cache in a CDN", NSDI 2017.

    sequence object size

`sequence` counts the requests and is not read beyond being a whole number; `size` in bytes, at least 1, may change from one
request for an object to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simcore.traces._delimited import BYTES, ID, Field, Layout, columns, head_rows
from simcore.traces.columns import Columns

suffixes = (".trace", ".tr")
_LAYOUT = Layout(("sequence", "object", "size"), " ", header=False)


def sniff(path: str | Path) -> bool:
    """Whether the head has at least three lines, of three whole numbers each, the first of which counts up by one."""
    rows = head_rows(path, 50, " ")
    if len(rows) < 3 or not all(len(row) == 3 and all(x.isdecimal() and len(x) < 20 for x in row) for row in rows):
        return False
    first = int(rows[0][0])
    return [int(row[0]) for row in rows] == list(range(first, first + len(rows)))


def chunks(path: str | Path) -> Iterator[Columns]:
    """Read the requests in order. The format has no options.

    Raises:
        InputError: unreadable file, or the first line that breaks a rule.
    """
    for piece in columns(path, _LAYOUT, {"sequence": Field("int"), "object": ID, "size": BYTES}):
        yield Columns(piece["object"], sizes=piece["size"])
