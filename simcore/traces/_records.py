"""Binary files of records of fixed length, and how to tell what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.files import head_bytes, open_stream

_AT_ONCE = 1 << 20
_FEW = 64


def records(path: str | Path, dtype: Any) -> Iterator[NDArray[Any]]:
    """The records of a file, a million at a time.

    Raises:
        InputError: unreadable file, or one that ends within a record.
    """
    kind = np.dtype(dtype)
    done = 0
    with open_stream(path) as stream:
        while content := stream.read(_AT_ONCE * kind.itemsize):
            whole, rest = divmod(len(content), kind.itemsize)
            if rest:
                rule = f"must be whole records of {kind.itemsize} bytes, the last one is cut off after {rest}"
                raise InputError(rule, file=str(path), path=f"record {done + whole}")
            yield np.frombuffer(content, kind)
            done += whole


def key_bytes(path: str | Path) -> int | None:
    """Length of the keys if the file is one key after the other: 8 or 4 bytes; None if that cannot be told.

    Judged from the first 64 KiB, read as records of 8 bytes in two halves. The keys are of 8 bytes if one half is 0 everywhere
    (small numbers), or if halves repeat, one determines the other but for 1 % of the repetitions, and nearly all have a bit
    set in their top byte (hashes). They are of 4 bytes if most halves on the left are also found on the right and the other
    way round, and a fifth or more of those that repeat have another neighbour: left and right are two draws of the same keys.
    Everything else stays undecided, as do files of few records or few keys.
    """
    head = head_bytes(path)
    head = head[: len(head) // 8 * 8]
    if len(head) < 8 * _FEW or not _is_binary(head):
        return None
    left, right = np.frombuffer(head, ">u4").reshape(-1, 2).T
    pairs = len(np.unique(np.frombuffer(head, ">u8")))
    if pairs < _FEW:
        return None
    if not (left.any() and right.any()):
        return 8
    distinct = np.array([len(np.unique(left)), len(np.unique(right))])
    if (distinct == len(left)).any():
        return None
    unlike = (pairs - distinct) / (len(left) - distinct)  # of the repetitions, the share with another neighbour
    spread = min((half >= 1 << 24).mean() for half in (left, right))
    if (unlike <= 0.01).all() and spread > 0.95:
        return 8
    alike = min(np.isin(left, right).mean(), np.isin(right, left).mean())
    return 4 if alike > 0.5 and (unlike >= 0.2).all() else None


def _is_binary(head: bytes) -> bool:
    """Whether it is not text, and not of a format with a magic number that could be mistaken for keys."""
    if head.startswith(
        (b"PAR1", b"\x93NUMPY", b"PK\x03\x04", b"\x89HDF", b"ARROW1", b"\x80", b"SQLite", b"\x7fELF", b"Obj\x01")
    ):
        return False
    if head[257:262] == b"ustar":
        return False
    return sum(byte < 9 or byte > 126 for byte in head[:4096]) > len(head[:4096]) / 16
