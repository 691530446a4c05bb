"""oracleGeneral, the binary format of libCacheSim: little-endian records of 24 bytes.

Source: Yang et al., libCacheSim, trace format documentation.

    uint32 time, uint64 object, uint32 size, int64 next access

`time` in seconds, `size` in bytes. The next access (its number in the file, -1 for none) is not needed and not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces._records import records
from simcore.traces.columns import Columns
from simcore.traces.files import head_bytes

suffixes = (".oracleGeneral", ".oracleGeneral.bin")
_RECORD = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
_NONE = (-1, np.iinfo(np.int64).max)


def sniff(path: str | Path) -> bool:
    """Whether the records of the head have times that never fall, sizes, and next accesses that lead to the same object."""
    head = head_bytes(path)
    if not {0, 255} & set(head):
        return False  # text; next accesses are small or -1
    found = np.frombuffer(head[: len(head) // _RECORD.itemsize * _RECORD.itemsize], _RECORD)
    if (
        not len(found)
        or b"\0" not in head
        or (np.diff(found["time"].astype(np.int64)) < 0).any()
        or (found["size"] > 1 << 31).any()
    ):
        return False
    here = np.arange(len(found))
    after = found["next"]
    none = np.isin(after, _NONE)
    if not (none | (after > here)).all() or not found["size"].any():
        return False
    return any(_leads_to_itself(found["object"], np.where(none, -1, after - base)) for base in (0, 1))


def _leads_to_itself(objects: NDArray[Any], after: NDArray[Any]) -> bool:
    """Whether `after` is the index of the next access to the same object, -1 or beyond the end if there is none."""
    n = len(objects)
    order = np.argsort(objects, kind="stable")
    expected = np.full(n, -1)
    same = objects[order[1:]] == objects[order[:-1]]
    expected[order[:-1][same]] = order[1:][same]
    return bool((np.where(after < n, after, -1) == expected).all())


def chunks(path: str | Path, *, skip_empty: bool = False) -> Iterator[Columns]:
    """Read the requests in order.

    Args:
        skip_empty: leave out records of size 0, as libCacheSim does; otherwise they are refused.

    Raises:
        InputError: unreadable file, one that ends within a record, or a size of 0.
    """
    done = 0
    for part in records(path, _RECORD):
        empty = part["size"] == 0
        if empty.any() and not skip_empty:
            at = done + int(np.argmax(empty))
            hint = "skip_empty: true leaves such records out, as libCacheSim does"
            raise InputError("must be at least 1", file=str(path), path=f"record {at}.size", value=0, hint=hint)
        done += len(part)
        kept = part[~empty]
        yield Columns(kept["object"].astype(np.uint64), kept["size"].astype(np.int64), kept["time"].astype(np.float64))
