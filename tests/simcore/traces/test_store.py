"""Accesses kept on disk: found again, rebuilt when damaged, done without when nothing can be written, bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError, SimcoreError
from simcore.traces import _store, id_lines, table
from simcore.traces.accesses import Accesses
from simcore.traces.columns import Columns
from simcore.traces.load import read_accesses

CSV = "t,row,emb,size,req\n1,5,0,8,a\n2,5,1,8,a\n3,6,1,4,b\n4,5,0,8,a\n"
ROLES: dict[str, Any] = {"key": "row", "size": "size", "time": "t", "category": "emb", "request": "req"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "simcore" / "traces"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    return path


def columns(accesses: Accesses) -> dict[str, Any]:
    names = ("ids", "sizes", "time_s", "category", "request_start", "tokens")
    arrays = {name: getattr(accesses, name) for name in names}
    values = {name: None if array is None else array.tolist() for name, array in arrays.items()}
    return {**values, "n": accesses.n_objects, "chain": accesses.chain, "source": accesses.source, "key": accesses.key}


def entries(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if not path.name.startswith("."))


def test_a_trace_is_read_once(cache: Path, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_accesses(trace, reader="table", **ROLES)
    monkeypatch.setattr(table, "_accesses", lambda *arguments: pytest.fail("read again"))
    again = read_accesses(trace, reader="table", **ROLES)
    assert columns(again) == columns(first)
    assert not again.ids.flags.writeable
    assert [path.name for path in entries(cache)[0].glob("*")] and len(entries(cache)) == 1
    assert not list(cache.glob(".building*"))


def test_what_an_entry_depends_on(cache: Path, trace: Path) -> None:
    first = read_accesses(trace, reader="table", **ROLES)
    other = read_accesses(trace, reader="table", key="row")
    assert other.key != first.key and other.sizes is None
    moved = trace.rename(trace.with_name("other.csv"))
    named = read_accesses(moved, reader="table", **ROLES)
    assert named.key == first.key and "other.csv" in named.source
    moved.write_text(CSV + "5,9,0,8,a\n")
    changed = read_accesses(moved, reader="table", **ROLES)
    assert changed.key != first.key and len(changed) == 5
    assert len(entries(cache)) == 4


def test_request_traces_are_kept_too(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    rows = ({"timestamp": i, "input_length": 600, "output_length": 1, "hash_ids": [10, 20 + i]} for i in range(3))
    path.write_text("\n".join(map(json.dumps, rows)))
    first = read_accesses(path)
    assert columns(read_accesses(path)) == columns(first)
    assert first.chain and first.ids.tolist() == [0, 1, 0, 2, 0, 3]
    assert read_accesses(path, block_size=1024).key != first.key
    assert read_accesses(path, spread_ticks=False).key != first.key
    assert len(entries(cache)) == 3


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "gone", "header", "about", "list", "object"])
def test_a_damaged_entry_is_rebuilt(cache: Path, trace: Path, harm: str) -> None:
    first = columns(read_accesses(trace, reader="table", **ROLES))
    folder = entries(cache)[0]
    file = folder / "ids.npy"
    content = bytearray(file.read_bytes())
    if harm == "cut":
        file.write_bytes(content[:-1])
    elif harm == "flip":
        content[-4] ^= 1
        file.write_bytes(content)
    elif harm == "empty":
        file.write_bytes(b"")
    elif harm == "gone":
        file.unlink()
    elif harm == "header":
        content[20:30] = b"((((((((((("[:10]
        file.write_bytes(content)
    elif harm == "about":
        (folder / "about.json").write_text("{")
    elif harm == "list":
        (folder / "about.json").write_text("[1]")
    else:
        np.save(file, np.array([{}]), allow_pickle=True)
    assert columns(read_accesses(trace, reader="table", **ROLES)) == first
    assert _store.stored(folder.name) is not None
    assert len(entries(cache)) == 1


def test_without_a_place_to_write(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    without = columns(read_accesses(trace, reader="table", **ROLES))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert columns(read_accesses(trace, reader="table", **ROLES)) == without


@pytest.mark.parametrize("after", [0, 1, 5, 12])
def test_a_disk_that_fills_up(cache: Path, trace: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    expected = columns(read_accesses(trace, reader="table", **ROLES))
    for entry in entries(cache):
        os.rename(entry, entry.with_name("elsewhere"))
    left = [after]

    def append(self: Any, values: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        original(self, values)

    original = _store._File.append
    monkeypatch.setattr(_store._File, "append", append)
    assert columns(read_accesses(trace, reader="table", **ROLES)) == expected
    assert not list(cache.glob(".building*"))


def test_mistakes_are_not_kept(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("1\n" * 10 + "1 2\n")
    for _ in range(2):
        with pytest.raises(InputError, match="t.txt:11"):
            read_accesses(path, reader="id_lines")
    assert list(cache.iterdir()) == []


def test_the_oldest_entries_go(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{i}.txt" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_text(f"{i}\n" * 1000)
        known = set(entries(cache)) if i else set()
        read_accesses(path)
        (new,) = set(entries(cache)) - known
        os.utime(new / "about.json", (1000 + i, 1000 + i))
    read_accesses(paths[0])  # in use again
    one = sum(path.stat().st_size for path in entries(cache)[0].iterdir())
    monkeypatch.setattr(_store, "KEPT_BYTES", int(2.5 * one))
    last = tmp_path / "last.txt"
    last.write_text("9\n" * 1000)
    read_accesses(last)
    assert len(entries(cache)) == 2
    monkeypatch.setattr(id_lines, "chunks", lambda path: pytest.fail("read again"))
    for path in (paths[0], last):
        assert len(read_accesses(path)) == 1000


def test_many_readers_at_once(cache: Path, trace: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: columns(read_accesses(trace, reader="table", **ROLES)), range(24)))
    assert all(f == found[0] for f in found)
    assert len(entries(cache)) == 1


def test_other_processes_find_the_same_bytes(cache: Path, trace: Path) -> None:
    expected = read_accesses(trace, reader="table", **ROLES)
    code = (
        "import sys; from simcore.traces.load import read_accesses as r; print(r(sys.argv[1], reader='table', key='row').key)"
    )
    keys = {
        subprocess.run([sys.executable, "-c", code, str(trace)], capture_output=True, text=True, check=True).stdout
        for _ in "ab"
    }
    assert len(keys) == 1 and keys != {expected.key + "\n"}


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, simcore.traces.load, simcore.traces.table; print({'numba', 'pandas', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_readers_that_break_their_contract(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.txt"
    path.write_text("1\n")
    keys, sizes = np.arange(2), np.ones(2, np.int64)
    for chunks, message in (
        ([Columns(keys), Columns(keys, sizes)], "the same columns in every chunk"),
        ([Columns(keys, request=np.array([1, 0]))], "must not fall"),
        ([Columns(keys, request=np.array([5, 5])), Columns(keys, request=np.array([4, 6]))], "must not fall"),
    ):
        monkeypatch.setattr(id_lines, "chunks", lambda path, chunks=chunks: iter(chunks))
        with pytest.raises(SimcoreError, match=message):
            read_accesses(path, reader="id_lines")
    parts = [
        Columns(keys, request=np.array([5, 5])),
        Columns(keys[:0], request=keys[:0]),
        Columns(keys, request=np.array([5, 9])),
    ]
    monkeypatch.setattr(id_lines, "chunks", lambda path: iter(parts))
    start = read_accesses(path, reader="id_lines").request_start
    assert start is not None and start.tolist() == [0, 3, 4]


def test_names_that_are_not_utf8(cache: Path, trace: Path) -> None:
    named = trace.with_name(os.fsdecode(b"caf\xe9.csv"))
    trace.rename(named)
    first = read_accesses(named, reader="table", **ROLES)
    assert first.source.endswith(named.name) and len(entries(cache)) == 1
    assert columns(read_accesses(named, reader="table", **ROLES)) == columns(first)


def test_what_killed_processes_left_is_swept_after_a_day(cache: Path, trace: Path) -> None:
    day_ago = time.time() - 90_000
    for name, old in ((".building.dead", True), (".building.live", False)):
        inside = cache / name / "entry"
        inside.mkdir(parents=True)
        (inside / "ids.npy").write_bytes(b"x")
        for path in (*([inside / "ids.npy"] if old else []), inside, cache / name):
            os.utime(path, (day_ago, day_ago))
    read_accesses(trace, reader="table", **ROLES)
    assert [path.name for path in cache.glob(".building.*")] == [".building.live"]
