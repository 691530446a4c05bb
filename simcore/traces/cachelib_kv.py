"""Key-value traces of Meta's CacheLib: one operation a line.

Source: facebook/CacheLib, cachebench trace replay (kvcache); McAllister et al., "Kangaroo", SOSP 2021, describes such traces.

    op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase
    604038471,82131353f9ddc8c6,48,GET,1,87,1,0,366387042,3003229276

Columns are found by name. `op_time` in seconds, missing in the traces of 2022; `op_count` operations in one second are one
line. The size of an object is that of its key and its value together, in bytes; the value of a GET that found nothing is 0
bytes, as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from simcore.traces._delimited import BYTES, SECONDS, TEXT, Field, column_of, columns, head_rows, layout_of
from simcore.traces._operations import Operations
from simcore.traces.columns import Columns

suffixes = (".csv",)
_FIELDS = {"key": TEXT, "key_size": BYTES, "op": TEXT, "op_count": BYTES, "size": Field("int", 0)}


def sniff(path: str | Path) -> bool:
    """Whether the header has all columns that are needed."""
    rows = head_rows(path, 1)
    return bool(rows) and set(_FIELDS) <= set(rows[0])


def chunks(path: str | Path, *, ops: str | Sequence[str] | None = None, repeats: bool = False) -> Iterator[Columns]:
    """Read the operations in order.

    Args:
        ops: operations to keep, for example "GET,SET"; None: all.
        repeats: a line is `op_count` accesses in a row; otherwise one.

    Raises:
        InputError: unreadable file, a missing column, an operation that does not occur, or the first line that breaks a rule.
    """
    layout = layout_of(path)
    fields = {column_of(layout, path, name): field for name, field in _FIELDS.items()}
    timed = "op_time" in layout.names
    if timed:
        fields["op_time"] = SECONDS
    operations = Operations(ops)
    for piece in columns(path, layout, fields):
        kept = np.flatnonzero(operations.kept(piece["op"]))
        if repeats:
            kept = np.repeat(kept, piece["op_count"][kept])
        size = piece["key_size"] + piece["size"]
        yield Columns(piece["key"][kept], sizes=size[kept], time_s=piece["op_time"][kept] if timed else None)
    operations.refuse_missing(path)
