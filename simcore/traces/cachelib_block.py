"""Block traces of Meta's warm storage (Tectonic): one I/O to a part of a block a line.

Source: facebook/CacheLib, cachebench trace replay (block_chunk); Wong et al., "Baleen", FAST 2024, describes such traces.

    op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,rs_shard_id
    1702511878,12ce23eaa5534a38-9e05ce05bc10d4d0,40,8388608,0,4235083322,3487869255,getChunkData.NotInitialized,1,518845025,4

Columns are found by name. `op_time` in seconds; the object is the block, the size `io_size` bytes; where in the block the I/O
lies is not read. `op_count` operations in one second are one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from simcore.traces._delimited import BYTES, SECONDS, TEXT, column_of, columns, head_rows, layout_of
from simcore.traces._operations import Operations
from simcore.traces.columns import Columns

suffixes = (".csv",)
_FIELDS = {"op_time": SECONDS, "block_id": TEXT, "io_size": BYTES, "op_name": TEXT, "op_count": BYTES}


def sniff(path: str | Path) -> bool:
    """Whether the header has all columns that are read."""
    rows = head_rows(path, 1)
    return bool(rows) and set(_FIELDS) <= set(rows[0])


def chunks(path: str | Path, *, ops: str | Sequence[str] | None = None, repeats: bool = False) -> Iterator[Columns]:
    """Read the operations in order.

    Args:
        ops: operations to keep, for example "getChunkData" or "putChunk.Permanent"; None: all.
        repeats: a line is `op_count` accesses in a row; otherwise one.

    Raises:
        InputError: unreadable file, a missing column, an operation that does not occur, or the first line that breaks a rule.
    """
    layout = layout_of(path)
    fields = {column_of(layout, path, name): field for name, field in _FIELDS.items()}
    operations = Operations(ops)
    for piece in columns(path, layout, fields):
        kept = np.flatnonzero(operations.kept(piece["op_name"]))
        if repeats:
            kept = np.repeat(kept, piece["op_count"][kept])
        yield Columns(piece["block_id"][kept], sizes=piece["io_size"][kept], time_s=piece["op_time"][kept])
    operations.refuse_missing(path)
