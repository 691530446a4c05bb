"""One id a line, in the order of access: row indices of an embedding table (DLRM), page numbers, names.

    31650
    359284

Ids are whole numbers of 64 bits (007 is 7) or texts: the beginning of the file decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from simcore.traces._delimited import ID, TEXT, Layout, columns, head_rows
from simcore.traces.columns import Columns

suffixes = (".txt", ".ids", ".list")
_LAYOUT = Layout(("id",), " ", header=False)
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_NAME = re.compile(r"[\w.:/@%+=~-]+")


def sniff(path: str | Path) -> bool:
    """Whether every line of the head is a whole number, or the name ends in a suffix of the format and every line is a word."""
    rows = head_rows(path, 1000)
    if not rows or any(len(row) != 1 for row in rows):
        return False
    named = any(suffix in Path(path).name for suffix in suffixes)
    return all(_NUMBER.fullmatch(row[0].strip()) or (named and _NAME.fullmatch(row[0])) for row in rows)


def chunks(path: str | Path, *, text_ids: bool = False) -> Iterator[Columns]:
    """Read the ids in order.

    Args:
        text_ids: take ids as texts even if they look like numbers (007 is not 7).

    Raises:
        InputError: unreadable file, or the first line that is not one id, or not of the kind of those before it.
    """
    for piece in columns(path, _LAYOUT, {"id": TEXT if text_ids else ID}):
        yield Columns(piece["id"])
