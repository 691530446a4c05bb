"""Streams of trace files: compression by content, pieces of whole lines, constant memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import socket
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from simcore.errors import InputError
from simcore.traces.files import HEAD_BYTES, head_bytes, head_text, lines, open_stream, pieces, read_bytes, read_text

PACKS = {".gz": gzip.compress, ".zst": zstandard.compress, ".xz": lzma.compress}
NAMES = {".gz": "gzip", ".zst": "Zstandard", ".xz": "xz"}
TEXT = "".join(f"{i * i} line {i}\n" for i in range(40_000)).encode()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("suffix", ["", *PACKS])
def test_streams_whole_contents_and_heads_agree(tmp_path: Path, suffix: str) -> None:
    pack: Any = PACKS.get(suffix, bytes)
    for name, content in (
        ("one", pack(TEXT)),
        ("several", b"".join(pack(TEXT[i : i + 7000]) for i in range(0, len(TEXT), 7000))),
    ):
        path = written(tmp_path, f"{name}{suffix}", content)
        assert read_bytes(path) == TEXT
        assert read_text(path).encode() == TEXT
        assert head_bytes(path) == TEXT[:HEAD_BYTES]
        assert head_text(path).encode() == TEXT[:HEAD_BYTES]
        with open_stream(path) as stream:
            parts = list(iter(lambda: stream.read(1237), b""))
        assert b"".join(parts) == TEXT and {len(part) for part in parts[:-1]} == {1237}
        assert list(lines(path)) == TEXT.decode().splitlines()


@pytest.mark.parametrize("suffix", PACKS)
def test_the_name_does_not_matter(tmp_path: Path, suffix: str) -> None:
    assert read_bytes(written(tmp_path, "t.trace", PACKS[suffix](TEXT))) == TEXT
    article = "an" if suffix == ".xz" else "a"
    with pytest.raises(InputError, match=f"is not {article} {NAMES[suffix]} file, although its name ends in {suffix}"):
        read_bytes(written(tmp_path, f"t{suffix}", TEXT))


def test_other_compression_is_not_taken_for_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a text file, this is binary|must be UTF-8 text"):
        read_text(written(tmp_path, "t.bz2", bz2.compress(TEXT)))


@pytest.mark.parametrize("suffix", PACKS)
def test_truncated_and_damaged_files(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    content = rng.integers(32, 127, 300_000).astype(np.uint8).tobytes()
    packed = PACKS[suffix](content)
    for length in (len(packed) - 1, len(packed) - 9, len(packed) // 2):
        path = written(tmp_path, f"cut{length}{suffix}", packed[:length])
        with pytest.raises(InputError, match=f"the {NAMES[suffix]} file is truncated. Copy it again"):
            read_bytes(path)
        assert content.startswith(head_bytes(path)) and head_bytes(path)
    damaged = bytearray(packed)
    damaged[4 if suffix == ".zst" else len(packed) // 2] ^= 0xFF
    with pytest.raises(InputError, match=f"the {NAMES[suffix]} file is (damaged|truncated)"):
        read_bytes(written(tmp_path, f"damaged{suffix}", bytes(damaged)))


def test_zeros_after_a_member_are_padding(tmp_path: Path) -> None:
    assert read_bytes(written(tmp_path, "t.gz", gzip.compress(TEXT) + bytes(512))) == TEXT
    assert read_bytes(written(tmp_path, "t.xz", lzma.compress(TEXT) + bytes(8) + lzma.compress(b"more\n"))) == TEXT + b"more\n"


@pytest.mark.parametrize("size", [1, 5, 64, 10**6])
def test_pieces_hold_whole_lines(tmp_path: Path, size: int) -> None:
    content = b"one\n\nthree, longer than the piece\r\nfour"
    found = list(
        pieces(written(tmp_path, "t", b"\xef\xbb\xbf" + content) if size > 3 else written(tmp_path, "u", content), size)
    )
    assert b"".join(piece for _, piece in found) == content
    line = 1
    for first, piece in found:
        assert first == line
        line += piece.count(b"\n")
    assert all(piece.endswith(b"\n") for _, piece in found[:-1])


def test_lines_say_where_the_encoding_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="t:3: must be UTF-8 text"):
        list(lines(written(tmp_path, "t", b"a\nb\r\n\xff\n")))
    assert list(lines(written(tmp_path, "u", b"\xef\xbb\xbfa\r\n\nb"))) == ["a", "", "b"]


@pytest.mark.parametrize("suffix", PACKS)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, f"t{suffix}", PACKS[suffix](b"12345678\n" * 4_000_000))
    tracemalloc.start()
    n = sum(piece.count(b"\n") for _, piece in pieces(path, 1 << 16))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n == 4_000_000
    assert peak < 30_000_000  # all of it would be 36 MB


@pytest.mark.parametrize("use", [read_bytes, read_text, head_bytes, head_text, open_stream, lambda path: list(lines(path))])
def test_only_regular_files_are_opened(tmp_path: Path, use: Any) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero")):
            with pytest.raises(InputError, match=f"^{path}: must be a regular file$"):
                use(path)


@pytest.mark.parametrize("use", [read_text, lambda path: list(lines(path)), lambda path: list(pieces(path, 1 << 16))])
def test_binary_content_after_the_head_is_refused_with_its_line(tmp_path: Path, use: Any) -> None:
    late = written(tmp_path, "late", b"12345\n" * 20_000 + b"6\x007\n")
    with pytest.raises(InputError, match="late:20001: must be a text file, this is binary"):
        use(late)
    with pytest.raises(InputError, match="early: must be a text file, this is binary"):
        use(written(tmp_path, "early", b"1\x00\n"))
