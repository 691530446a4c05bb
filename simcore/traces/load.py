"""Opening a trace file with the reader of its format."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from simcore.errors import InputError
from simcore.plugins import find, names
from simcore.traces.files import raw_bytes
from simcore.traces.trace import Trace

FAMILY = "simcore.traces"
_CONTRACT = ("suffixes", "sniff", "read")


def read_trace(
    path: str | Path, *, reader: str | None = None, granule_tokens: int | None = None, spread_ticks: bool = True
) -> Trace:
    """Read a recorded trace.

    Args:
        path: the file; compression is recognised by content.
        reader: name of the format; None: found by content, then by suffix.
        granule_tokens: tokens that one id of the file covers; None: as the format defines.
        spread_ticks: spread arrivals that share a time stamp evenly over the recorder's tick.

    Raises:
        InputError: unreadable file, unknown format or bad content.
    """
    module = find(FAMILY, reader, _CONTRACT) if reader is not None else reader_of(path)
    trace: Trace = module.read(path, granule_tokens=granule_tokens, spread_ticks=spread_ticks)
    return trace


def reader_of(path: str | Path) -> ModuleType:
    """The reader module for a file.

    Raises:
        InputError: none recognises it; the known ones are listed.
    """
    modules = {name: find(FAMILY, name, _CONTRACT) for name in names(FAMILY)}
    claiming = [m for m in modules.values() if str(path).endswith(tuple(m.suffixes))]
    for module in [*claiming, *(m for m in modules.values() if m not in claiming)]:
        if module.sniff(path):
            return module
    if len(claiming) == 1:
        return claiming[0]  # its errors say what is wrong with the content
    known = ", ".join(f"{name} ({' '.join(m.suffixes)})" for name, m in modules.items())
    raise InputError("no reader recognises this trace", file=str(path), hint=f"readers: {known}; name one with reader: NAME")


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file as it lies on disk; read again only when its size or time of change differs.

    Raises:
        InputError: missing, a folder, unreadable or empty.
    """
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return _sha256(path, 0, 0)  # says what is wrong
    return _sha256(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: str | Path, size: int, mtime_ns: int) -> str:
    return hashlib.sha256(raw_bytes(path)).hexdigest()
