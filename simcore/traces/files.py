"""Reading trace files: plain, gzip or Zstandard, told apart by content."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import zstandard

from simcore.errors import InputError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_HEAD_BYTES = 1 << 16


def read_bytes(path: str | Path) -> bytes:
    """The content of `path`, decompressed.

    Raises:
        InputError: missing, a folder, unreadable, empty, not what its suffix says, or a damaged or truncated compressed file.
    """
    raw = raw_bytes(path)
    file = str(path)
    if raw.startswith(_GZIP):
        return _gunzip(raw, file)
    if raw.startswith(_ZSTD):
        return _unzstd(raw, file)
    for suffix, name in ((".gz", "gzip"), (".zst", "Zstandard")):
        if file.endswith(suffix):
            raise InputError(f"is not a {name} file, although its name ends in {suffix}", file=file)
    return raw


def read_text(path: str | Path) -> str:
    """`read_bytes` as UTF-8 text.

    Raises:
        InputError: as `read_bytes`; also for binary content and other encodings.
    """
    content = read_bytes(path)
    if b"\x00" in content[:_HEAD_BYTES]:
        raise InputError("must be a text file, this is binary", file=str(path))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("must be UTF-8 text, this is binary or in another encoding", file=str(path), line=line) from None


def head_text(path: str | Path) -> str:
    """The first lines of the decompressed content, for sniffing; damaged bytes are replaced, a truncated end is no error.

    Raises:
        InputError: missing, a folder, unreadable or empty.
    """
    raw = raw_bytes(path, limit=_HEAD_BYTES)
    try:
        if raw.startswith(_GZIP):
            raw = zlib.decompressobj(wbits=31).decompress(raw, _HEAD_BYTES)
        elif raw.startswith(_ZSTD):
            raw = zstandard.ZstdDecompressor().stream_reader(raw).read(_HEAD_BYTES)
    except (zlib.error, zstandard.ZstdError):
        return ""
    return raw.decode("utf-8-sig", errors="replace")


def raw_bytes(path: str | Path, limit: int = -1) -> bytes:
    """The first `limit` bytes of a file (all of it below 0) as they lie on disk.

    Raises:
        InputError: missing, a folder, unreadable or empty.
    """
    file = str(path)
    if os.path.isdir(path):
        raise InputError("must be a trace file, this is a folder", file=file)
    try:
        with open(path, "rb") as stream:
            raw = stream.read(limit)
    except FileNotFoundError:
        raise InputError("no such trace file", file=file) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {reason}", file=file) from None
    if not raw:
        raise InputError("the trace file is empty", file=file)
    return raw


def _gunzip(raw: bytes, file: str) -> bytes:
    try:
        return gzip.decompress(raw)
    except EOFError:
        raise InputError("the gzip file is truncated", file=file, hint="copy it again") from None
    except (OSError, zlib.error) as error:
        raise InputError(f"the gzip file is damaged: {error}", file=file, hint="copy it again") from None


def _unzstd(raw: bytes, file: str) -> bytes:
    parts = []
    try:
        while raw:
            frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(frame.decompress(raw))
            if not frame.eof:
                raise InputError("the Zstandard file is truncated", file=file, hint="copy it again")
            raw = frame.unused_data
    except zstandard.ZstdError as error:
        raise InputError(f"the Zstandard file is damaged: {error}", file=file, hint="copy it again") from None
    return b"".join(parts)
