"""CSV traces of libCacheSim: time, object and size in columns, with a header or by number.

    version,time,op,size,lbn            (the CloudPhysics block traces)
    1,5633898,2a,512,42932745

Columns are found by the names of the header (time, timestamp, ...; obj_id, object, key, lbn, ...; size, obj_size, ...) or, as
in libCacheSim's own options time-col, obj-id-col and obj-size-col, by number from 1. `time` in seconds, `size` in bytes. Other
columns, operations among them, are not read: reads and writes are accesses alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcore.errors import InputError
from simcore.traces._delimited import BYTES, ID, SECONDS, TEXT, Field, Layout, column_of, columns, head_rows, layout_of
from simcore.traces.columns import Columns

suffixes = (".csv",)
_TIMES = ("time", "timestamp", "real_time", "clock_time")
_OBJECTS = ("obj_id", "object_id", "obj", "object", "lbn", "key", "id")
_SIZES = ("size", "obj_size", "object_size")


def sniff(path: str | Path) -> bool:
    """Whether the header names a time, an object and a size as libCacheSim's traces do."""
    rows = head_rows(path, 1)
    return bool(rows) and all(len({n.strip() for n in rows[0]} & set(names)) == 1 for names in (_TIMES, _OBJECTS, _SIZES))


def chunks(
    path: str | Path,
    *,
    time_col: int | None = None,
    obj_id_col: int | None = None,
    obj_size_col: int | None = None,
    delimiter: str | None = None,
    has_header: bool | None = None,
    text_ids: bool = False,
    skip_empty: bool = False,
) -> Iterator[Columns]:
    """Read the requests in order.

    Args:
        time_col, obj_id_col, obj_size_col: numbers of the columns, from 1. Of those left out, time and size are not read if
            another number is given; if none is, all are found by the header.
        delimiter: what separates the fields; None: found in the first line.
        has_header: whether the first line is a header; None: if none of its fields is a number.
        text_ids: take object ids as texts even if they look like numbers.
        skip_empty: leave out requests of size 0, as libCacheSim does; otherwise they are refused.

    Raises:
        InputError: unreadable file, a column that does not exist, or the first line that breaks a rule.
    """
    layout = layout_of(path, delimiter, has_header)
    time: str | None
    size: str | None
    if time_col is None and obj_id_col is None and obj_size_col is None:
        time, key, size = (column_of(layout, path, *known) for known in (_TIMES, _OBJECTS, _SIZES))
    elif obj_id_col is None:
        raise InputError("is required if columns are given by number", path="obj_id_col")
    else:
        key = _numbered(layout, path, "obj_id_col", obj_id_col)
        time = None if time_col is None else _numbered(layout, path, "time_col", time_col)
        size = None if obj_size_col is None else _numbered(layout, path, "obj_size_col", obj_size_col)
    fields = {key: TEXT if text_ids else ID}
    if time is not None:
        fields[time] = SECONDS
    if size is not None:
        fields[size] = Field("int", 0) if skip_empty else BYTES
    for piece in columns(path, layout, fields):
        kept = piece[size] > 0 if size is not None else np.ones(len(piece[key]), np.bool_)
        yield Columns(
            piece[key][kept],
            sizes=None if size is None else piece[size][kept],
            time_s=None if time is None else piece[time][kept],
        )


def _numbered(layout: Layout, path: str | Path, option: str, number: int) -> str:
    if not 1 <= number <= len(layout.names):
        raise InputError(f"must be between 1 and the {len(layout.names)} columns of the file", path=option, value=number)
    return column_of(layout, path, layout.names[number - 1], option=option)
