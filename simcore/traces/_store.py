"""Accesses on disk: each column a .npy file, mapped into memory when used.

An entry is a folder named like what it was made from. It is built aside and renamed into place, so nobody ever reads half of
one; one whose checksums differ is replaced. Where nothing can be written there is no entry; none of this is ever an error.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.accesses import DTYPES, Accesses

KEPT_BYTES = 16 << 30  # of all entries; those used longest ago go first
_ABANDONED_S = 86400.0
_ABOUT = "about.json"
_HEADER_BYTES = 128
_READ_BYTES = 1 << 24


class Column(Protocol):
    """A column that grows."""

    def append(self, values: NDArray[Any]) -> None: ...


Fill = Callable[[Callable[[str], Column]], dict[str, Any]]


def root() -> Path:
    """The folder of all entries."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "simcore", "traces")


def kept(name: str, fill: Fill) -> Accesses:
    """What `fill` writes, kept as entry `name` and mapped; held in memory where nothing can be written.

    Args:
        fill: is given a function that opens a column by its name, appends to columns and returns all attributes of `Accesses`
            that are not columns. Called a second time if the first could not be written.
    """
    with suppress(OSError), _building() as folder, ExitStack() as stack:
        files: dict[str, _File] = {}

        def open_file(column: str) -> _File:
            files[column] = stack.enter_context(closing(_File(folder / f"{column}.npy", DTYPES[column])))
            return files[column]

        about = fill(open_file)
        about["columns"] = {column: file.finish() for column, file in files.items()}
        found = _publish(folder, name, about)
        if found is not None:
            return found
    lists: dict[str, _List] = {}

    def open_list(column: str) -> _List:
        lists[column] = _List(DTYPES[column])
        return lists[column]

    about = fill(open_list)
    about.update({column: held.joined() for column, held in lists.items()})
    return Accesses(**about)


def stored(name: str) -> Accesses | None:
    """The accesses of entry `name`; None if there is none, or it is damaged."""
    folder = root() / name
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        columns: dict[str, Any] = {
            column: _mapped(folder / f"{column}.npy", crc) for column, crc in about.pop("columns").items()
        }
        accesses = Accesses(**columns, **about)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, InputError):
        return None
    with suppress(OSError):
        os.utime(folder / _ABOUT)
    return accesses


class _List:
    """A column in memory that grows."""

    def __init__(self, dtype: Any) -> None:
        self._parts = [np.zeros(0, dtype)]

    def append(self, values: NDArray[Any]) -> None:
        self._parts.append(values.astype(self._parts[0].dtype))

    def joined(self) -> NDArray[Any]:
        return np.concatenate(self._parts)


class _File:
    """A .npy file that grows. Its header, which tells the length, is written last."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._stream: BinaryIO = path.open("wb")
        self._stream.write(b"\0" * _HEADER_BYTES)
        self._length = 0
        self._crc = 0

    def append(self, values: NDArray[Any]) -> None:
        content = np.ascontiguousarray(values, self._dtype).view(np.uint8).data
        self._stream.write(content)
        self._crc = zlib.crc32(content, self._crc)
        self._length += len(values)

    def finish(self) -> int:
        """Write the header and close. Returns the CRC-32 of the file, taken over the content and then the header."""
        text = repr({"descr": self._dtype.str, "fortran_order": False, "shape": (self._length,)}).encode("latin1")
        size = _HEADER_BYTES - 10
        header = b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + text.ljust(size - 1) + b"\n"
        self._stream.seek(0)
        self._stream.write(header)
        self._stream.close()
        return zlib.crc32(header, self._crc)

    def close(self) -> None:
        """Close the file, finished or not."""
        with suppress(OSError):
            self._stream.close()


@contextmanager
def _building() -> Iterator[Path]:
    """A folder to build an entry in, gone afterwards.

    Raises:
        OSError: nothing can be written.
    """
    root().mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep()
    with tempfile.TemporaryDirectory(prefix=".building.", dir=root(), ignore_cleanup_errors=True) as aside:
        folder = Path(aside, "entry")
        folder.mkdir()
        yield folder


def _sweep() -> None:
    """Take away what a killed process left half built: folders in which nothing was written for a day."""
    for folder in root().glob(".building.*"):
        with suppress(OSError):
            written_s = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
            if written_s < time.time() - _ABANDONED_S:
                shutil.rmtree(folder, ignore_errors=True)


def _publish(folder: Path, name: str, about: dict[str, Any]) -> Accesses | None:
    """Put a finished folder in place as entry `name` and return what it holds; None if that did not work.

    Args:
        about: `columns`, the CRC-32 of each by name, and all attributes of `Accesses` that are not columns.
    """
    with suppress(OSError):
        (folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")
        place = root() / name
        if place.exists() and stored(name) is None:
            os.rename(place, folder.parent / "replaced")
        if not place.exists():
            os.rename(folder, place)
        _make_room(name)
    return stored(name)


def _make_room(name: str) -> None:
    entries = []
    for about in root().glob(f"*/{_ABOUT}"):
        with suppress(OSError):
            size = sum(path.stat().st_size for path in about.parent.iterdir())
            entries.append((about.stat().st_mtime, size, about.parent))
    room = KEPT_BYTES
    for _, size, folder in sorted(entries, reverse=True):
        room -= size
        if room < 0 and folder.name != name:
            shutil.rmtree(folder, ignore_errors=True)


def _mapped(path: Path, crc: int) -> NDArray[Any]:
    found = 0
    with path.open("rb") as stream:
        head = stream.read(_HEADER_BYTES)
        while piece := stream.read(_READ_BYTES):
            found = zlib.crc32(piece, found)
    if zlib.crc32(head, found) != crc:
        raise ValueError("damaged")
    column: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return column
