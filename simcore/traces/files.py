"""Reading trace files, whole or as a stream: plain, gzip, Zstandard or xz, told apart by content."""

from __future__ import annotations

import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from simcore.errors import InputError

HEAD_BYTES = 1 << 16
_READ_BYTES = 1 << 16
_FIRST_BYTES, _LEAST_BYTES = 1 << 10, 1 << 8  # compressed, at a time, as they may become thousands of times longer
_MUCH_BYTES = 1 << 20
_HEAD_RAW_BYTES = 1 << 18  # a block of Zstandard is up to 128 KiB long
_PIECE_BYTES = 1 << 23
_LINE_BYTES = 1 << 28


class _Packing(NamedTuple):
    name: str
    suffix: str
    magic: bytes
    unpacker: Callable[[], Any]  # unpacks one member: `decompress(bytes)`, `eof` at its end, `unused_data` after it
    errors: tuple[type[Exception], ...]
    padded: bool  # zeros may follow a member


_PACKINGS = (
    _Packing("gzip", ".gz", b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31), (zlib.error,), True),
    _Packing(
        "Zstandard",
        ".zst",
        b"\x28\xb5\x2f\xfd",
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        (zstandard.ZstdError,),
        False,
    ),
    _Packing("xz", ".xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), (lzma.LZMAError,), True),
)


def open_stream(path: str | Path) -> BinaryIO:
    """The decompressed content of `path`, to be read a little at a time; the caller closes it.

    Raises:
        InputError: missing, not a regular file, unreadable, empty, or not what its suffix says; on reading also: a damaged or
            truncated compressed file.
    """
    file = str(path)
    head = raw_bytes(path, limit=8)
    packing = _packing(head)
    if packing is None:
        for known in _PACKINGS:
            if file.endswith(known.suffix):
                article = "an" if known.name == "xz" else "a"
                raise InputError(f"is not {article} {known.name} file, although its name ends in {known.suffix}", file=file)
        return open(path, "rb")
    return io.BufferedReader(_Stream(open(path, "rb"), packing, file), _READ_BYTES)


def read_bytes(path: str | Path) -> bytes:
    """The content of `path`, decompressed.

    Raises:
        InputError: missing, a folder, unreadable, empty, not what its suffix says, or a damaged or truncated compressed file.
    """
    with open_stream(path) as stream:
        return stream.read()


def read_text(path: str | Path) -> str:
    """`read_bytes` as UTF-8 text.

    Raises:
        InputError: as `read_bytes`; also for binary content and other encodings.
    """
    content = read_bytes(path)
    _refuse_binary(content, path, 1, HEAD_BYTES)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("must be UTF-8 text, this is binary or in another encoding", file=str(path), line=line) from None


def pieces(path: str | Path, piece_bytes: int = _PIECE_BYTES) -> Iterator[tuple[int, bytes]]:
    """A text file in pieces of whole lines, about `piece_bytes` each: (number of the first line, text without byte-order mark).

    Raises:
        InputError: as `open_stream`; also for binary content and for a line of more than 256 MiB.
    """
    line, rest = 1, b""
    with open_stream(path) as stream:
        while piece := stream.read(piece_bytes):
            begins = line == 1 and not rest
            _refuse_binary(piece, path, line, HEAD_BYTES if begins else 0)
            if begins:
                piece = piece.removeprefix(b"\xef\xbb\xbf")
            end = piece.rfind(b"\n") + 1
            if end:
                whole = rest + piece[:end]
                yield line, whole
                line += whole.count(b"\n")
                rest = piece[end:]
            elif len(rest) > _LINE_BYTES:
                raise InputError("a line must not be longer than 256 MiB", file=str(path), line=line)
            else:
                rest += piece
    if rest:
        yield line, rest


def lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, one after the other, without their ends.

    Raises:
        InputError: as `pieces`; also for other encodings, with the line.
    """
    for first, piece in pieces(path):
        texts = piece.split(b"\n")
        if not texts[-1]:
            texts.pop()
        for number, text in enumerate(texts, start=first):
            try:
                yield text.removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError:
                rule = "must be UTF-8 text, this is binary or in another encoding"
                raise InputError(rule, file=str(path), line=number) from None


def head_text(path: str | Path) -> str:
    """The first lines of the decompressed content, for sniffing; damaged bytes are replaced, a truncated end is no error.

    Raises:
        InputError: missing, a folder, unreadable or empty.
    """
    return head_bytes(path).decode("utf-8-sig", errors="replace")


def head_bytes(path: str | Path) -> bytes:
    """The first 64 KiB of the decompressed content, for sniffing; nothing if it is damaged, and a truncated end is no error.

    Raises:
        InputError: missing, a folder, unreadable or empty.
    """
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return raw_bytes(path, limit=HEAD_BYTES)  # says what is wrong
    return _head_bytes(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)  # every reader asks for the same head
def _head_bytes(path: str | Path, size: int, mtime_ns: int) -> bytes:
    raw = raw_bytes(path, limit=_HEAD_RAW_BYTES)
    packing = _packing(raw)
    if packing is None:
        return raw[:HEAD_BYTES]
    head = b""
    try:
        for piece in _unpacked(io.BytesIO(raw), packing):
            head += piece
            if len(head) >= HEAD_BYTES:
                break
    except EOFError:
        pass
    except packing.errors:
        return b""
    return head[:HEAD_BYTES]


def compression(path: str | Path) -> str | None:
    """How a file is compressed: gzip, Zstandard or xz; None: not, or a folder.

    Raises:
        InputError: missing, unreadable or empty.
    """
    packing = None if os.path.isdir(path) else _packing(raw_bytes(path, limit=8))
    return packing.name if packing else None


def raw_bytes(path: str | Path, limit: int = -1) -> bytes:
    """The first `limit` bytes of a file (all of it below 0) as they lie on disk.

    Raises:
        InputError: missing, unreadable, empty, or not a regular file (pipes and devices may never end, and are read only once).
    """
    file = str(path)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError("must be a trace file, this is a folder", file=file)
        if not stat.S_ISREG(mode):
            raise InputError("must be a regular file", file=file)
        with open(path, "rb") as stream:
            raw = stream.read(limit)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such trace file", file=file) from None
    except (OSError, ValueError) as error:
        raise _unreadable(error, file) from None
    if not raw:
        raise InputError("the trace file is empty", file=file)
    return raw


def _unreadable(error: Exception, file: str) -> InputError:
    return InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file)


def _refuse_binary(content: bytes, path: str | Path, line: int, unnumbered_bytes: int) -> None:
    """Refuse a NUL byte. `line`: number of the first line; within the first `unnumbered_bytes` bytes no line is named."""
    at = content.find(b"\x00")
    if at >= 0:
        number = None if at < unnumbered_bytes else line + content.count(b"\n", 0, at)
        raise InputError("must be a text file, this is binary", file=str(path), line=number)


def _packing(head: bytes) -> _Packing | None:
    return next((packing for packing in _PACKINGS if head.startswith(packing.magic)), None)


def _unpacked(raw: BinaryIO, packing: _Packing) -> Iterator[bytes]:
    """The content of one member after the other. EOFError: the last one is cut off."""
    unpacker, inside = packing.unpacker(), True
    step = _FIRST_BYTES
    while piece := raw.read(step):
        length = 0
        while piece:
            if not inside:
                piece = piece.lstrip(b"\0") if packing.padded else piece
                if not piece:
                    break
                unpacker, inside = packing.unpacker(), True
            if content := unpacker.decompress(piece):
                length += len(content)
                yield content
            piece, inside = (unpacker.unused_data, False) if unpacker.eof else (b"", True)
        step = max(step // 4, _LEAST_BYTES) if length > _MUCH_BYTES else min(2 * step, _READ_BYTES)
    if inside:
        raise EOFError


class _Stream(io.RawIOBase):
    """The decompressed content of an open file; owns the file."""

    def __init__(self, raw: BinaryIO, packing: _Packing, file: str) -> None:
        self._raw, self._packing, self._file = raw, packing, file
        self._pieces = _unpacked(raw, packing)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = self._next()
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def _next(self) -> bytes | None:
        name = self._packing.name
        try:
            return next(self._pieces, None)
        except self._packing.errors as error:
            raise InputError(f"the {name} file is damaged: {error}", file=self._file, hint="copy it again") from None
        except EOFError:
            raise InputError(f"the {name} file is truncated", file=self._file, hint="copy it again") from None
        except OSError as error:
            raise _unreadable(error, self._file) from None

    def close(self) -> None:
        self._raw.close()
        super().close()
