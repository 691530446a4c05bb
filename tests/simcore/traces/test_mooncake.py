"""The Mooncake reader: the real trace, the tick rule, and every kind of broken file."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from simcore.errors import InputError
from simcore.traces.load import file_sha256, read_trace, reader_of
from simcore.traces.mooncake import spread_over_ticks


def row(**changes: Any) -> str:
    return json.dumps({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [10, 20], **changes})


MANY = "\n".join(row(timestamp=1000 * i, hash_ids=[10, 20 + i]) for i in range(500)).encode()


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_published_trace(shared: Path) -> None:
    path = shared / "traces/kv/mooncake_conversation.jsonl.zst"
    read_trace(path)  # imports and caches of a first run aside
    began = time.process_time()
    trace = read_trace(path)
    assert time.process_time() - began < 0.5
    assert (trace.n, len(trace.block_ids), trace.n_ids, trace.granule_tokens) == (12_031, 288_500, 182_790, 512)
    assert np.percentile(trace.input_tokens, [50, 90, 99]).round(1).tolist() == [6909.0, 27367.0, 85400.4]
    assert round(float(trace.input_tokens.mean()), 2) == 12035.06
    assert np.percentile(trace.output_tokens, 50) == 350
    assert "spread over ticks of 3.00 s" in trace.source
    raw = read_trace(path, spread_ticks=False)
    assert round(raw.mean_rate_per_s, 4) == 3.4015
    assert len(np.unique(raw.arrival_s)) == 1180
    assert np.all((trace.arrival_s - raw.arrival_s >= 0) & (trace.arrival_s - raw.arrival_s < 3.003))
    assert len(np.unique(trace.arrival_s)) == 12_031
    assert raw.block_ids.tolist() == trace.block_ids.tolist()


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstandard.compress)])
def test_plain_and_compressed_files_read_alike(tmp_path: Path, suffix: str, pack: Any) -> None:
    trace = read_trace(written(tmp_path, f"t.jsonl{suffix}", pack(MANY)))
    assert (trace.n, trace.n_ids, trace.has_output_ids) == (500, 501, False)
    halves = pack(MANY[:1000]) + pack(MANY[1000:])
    assert read_trace(written(tmp_path, f"u.jsonl{suffix}", halves)).sha256 == trace.sha256


def test_times_count_from_the_first_request_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    text = f"\ufeff{row(timestamp=5000)}\r\n\r\n{row(timestamp=6500.5)}\n"
    assert read_trace(written(tmp_path, "t.jsonl", text)).arrival_s.tolist() == [0.0, 1.5005]


def test_an_empty_answer_counts_as_one_token_and_is_said(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, "t.jsonl", row(output_length=0)))
    assert trace.output_tokens.tolist() == [1]
    assert "1 empty outputs counted as 1 token" in trace.source


def test_granule_is_an_option(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", row(hash_ids=list(range(10))))
    assert read_trace(path, granule_tokens=64).granule_tokens == 64
    with pytest.raises(InputError, match="2 for input_length 600; got 10 ids"):
        read_trace(path)
    with pytest.raises(InputError, match="granule_tokens: must be at least 1"):
        read_trace(path, granule_tokens=0)


def test_ticks_are_spread_evenly_and_stay_in_their_tick() -> None:
    # Ticks of 3 s at 0, 3, 6; then a pause to 60. Shared stamps spread over at most 3 s.
    times, tick_s = spread_over_ticks(np.array([0.0, 0.0, 3.0, 3.0, 3.0, 6.0, 6.0, 60.0, 60.0]))
    assert tick_s == 3.0
    assert times.tolist() == [0.0, 1.5, 3.0, 4.0, 5.0, 6.0, 7.5, 60.0, 61.5]
    for untouched in ([0.0, 1.0, 5.0], [2.0, 2.0, 2.0], [7.0]):
        times, tick_s = spread_over_ticks(np.array(untouched))
        assert (times.tolist(), tick_s) == (untouched, 0.0)


BROKEN: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("t.jsonl", b"", "t.jsonl: the trace file is empty"),
    "blank": ("t.jsonl", "\n \n", "t.jsonl: holds no"),
    "missing field": (
        "t.jsonl",
        row() + '\n{"timestamp": 1, "input_length": 5, "hash_ids": [1]}',
        ":2: output_length: is req",
    ),
    "text for number": ("t.jsonl", row(input_length="5"), r":1: input_length: must be a whole number; got \"5\""),
    "fraction": ("t.jsonl", row(output_length=1.5), r"output_length: must be a whole number; got 1.5"),
    "true": ("t.jsonl", row(output_length=True), r"output_length: must be a whole number; got true"),
    "null": ("t.jsonl", row(timestamp=None), r"timestamp: must be a number; got null"),
    "unsorted": ("t.jsonl", f"{row(timestamp=5)}\n\n{row(timestamp=3)}", r":3: timestamp: times must be sorted.*5 ms; got 3"),
    "negative time": ("t.jsonl", row(timestamp=-1), r":1: timestamp: must not be negative; got -1"),
    "not a time": ("t.jsonl", row(timestamp=float("nan")), r"timestamp: must be finite"),
    "no prompt": ("t.jsonl", row(input_length=0, hash_ids=[]), r"input_length: must be at least 1; got 0"),
    "negative answer": ("t.jsonl", row(output_length=-2), r"output_length: must not be negative"),
    "giant": ("t.jsonl", row(output_length=2**40), r"output_length: must fit in 31 bits"),
    "too few ids": ("t.jsonl", row(input_length=1500), r"hash_ids: must hold one id per 512 tokens.*3 for.*1500; got 2 ids"),
    "ids as text": ("t.jsonl", row(hash_ids=["a", 20]), r"hash_ids: must be a list of whole numbers or of texts"),
    "ids as mapping": ("t.jsonl", row(hash_ids={"0": 1, "1": 2}), r"hash_ids: must be a list"),
    "ids too large": ("t.jsonl", row(hash_ids=[2**70, 1]), r"hash_ids: ids must fit in 64 bits"),
    "unequal prefixes": ("t.jsonl", f"{row()}\n\n{row(hash_ids=[30, 20])}", r":1: hash_ids: equal ids must stand for equal"),
    "cut JSON": ("t.jsonl", row() + '\n{"timestamp": 1,', r":2: each line must be one JSON object"),
    "two in a line": ("t.jsonl", row() + row(), r":1: each line must be one JSON object \(Extra data"),
    "two joined by comma": ("t.jsonl", f"{row()},{row()}", r":1: each line must be one JSON object"),
    "a list": ("t.jsonl", "[1, 2]", r":1: each line must be one JSON object; got \[1, 2\]"),
    "nested deeply": ("t.jsonl", "[" * 100_000, r":1: each line must be one JSON object"),
    "binary": ("t.jsonl", bytes(range(256)), "must be a text file, this is binary"),
    "other encoding": ("t.jsonl", row().encode() + b"\n\xe9\xff", ":2: must be UTF-8 text"),
    "truncated gzip": ("t.jsonl.gz", gzip.compress(MANY)[:-100], "the gzip file is truncated"),
    "truncated zstd": ("t.jsonl.zst", zstandard.compress(MANY)[:-20], "the Zstandard file is truncated"),
    "damaged gzip": ("t.jsonl.gz", b"\x1f\x8b\x08\x00" + b"x" * 60, "the gzip file is (damaged|truncated)"),
    "damaged zstd": ("t.jsonl.zst", zstandard.compress(MANY) + b"trailing", "the Zstandard file is damaged"),
    "not gzip": ("t.jsonl.gz", MANY, "is not a gzip file, although its name ends in .gz"),
    "not zstd": ("t.jsonl.zst", MANY, "is not a Zstandard file, although its name ends in .zst"),
    "unknown format": ("t.csv", "time,tokens\n0,5\n", r"no reader recognises this trace. Name one with.* lengths,"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_gives_one_message(tmp_path: Path, case: str) -> None:
    name, content, message = BROKEN[case]
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read_trace(path)
    assert caught.value.file == str(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such trace file"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="must be a trace file, this is a folder"):
        read_trace(tmp_path)
    with pytest.raises(InputError, match="no such trace file"):
        file_sha256(tmp_path / "none.jsonl")


def test_readers_are_found_by_name_content_or_suffix(tmp_path: Path) -> None:
    path = written(tmp_path, "recorded.log", row())
    assert reader_of(path).__name__ == "simcore.traces.mooncake"
    assert read_trace(path, reader="mooncake").n == 1
    with pytest.raises(InputError, match=r"got moncake. Did you mean mooncake\?"):
        read_trace(path, reader="moncake")


@pytest.mark.parametrize(
    ("first", "second", "options", "gap_s"),
    [
        ("27", "1527", {}, 1.5),
        ("2023-11-16 18:15:46.1", "2023-11-16T18:15:47.6000001Z", {}, 1.5000001),
        (1_700_158_546_680_590_000, 1_700_158_548_180_590_001, {}, 1.500000001),
        (1_700_158_546_680_590, 1_700_158_548_180_591, {}, 1.500001),
        (1_700_158_546_680, 1_700_158_548_181, {}, 1.501),
        (1_700_158_546, 1_700_158_548, {}, 2.0),
        (0, 1_500_000_000, {"time_unit": "ns"}, 1.5),
        (0.5, 2.0, {"time_unit": "s"}, 1.5),
    ],
)
def test_times_in_other_units(tmp_path: Path, first: Any, second: Any, options: dict[str, str], gap_s: float) -> None:
    path = written(tmp_path, "t.jsonl", f"{row(timestamp=first)}\n{row(timestamp=second)}")
    assert read_trace(path, **options).arrival_s.tolist() == [0.0, gap_s]


def test_ids_may_be_texts(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", f"{row(hash_ids=['f00', 'ba4'])}\n{row(hash_ids=['f00', 'c'])}")
    assert read_trace(path).block_ids.tolist() == [0, 1, 0, 2]
    written(tmp_path, "t.jsonl", f"{row(hash_ids=['f00', 'ba4'])}\n{row(hash_ids=['x', 'ba4'])}")
    with pytest.raises(InputError, match="hash_ids: equal ids must stand for equal prefixes"):
        read_trace(path)


MIXED = {
    "units": (("2023-11-16 18:15:46", "3"), {}, ":2: timestamp: must be dates or numbers throughout"),
    "unsorted dates": (("2023-11-16 18:15:46", "2023-11-16 18:15:45"), {}, "before arrived at 2023-11-16 18:15:46; got 2023"),
    "unsorted seconds": ((5, 3), {"time_unit": "s"}, ":2: timestamp: .*before arrived at 5 s; got 3"),
    "unit of dates": (("2023-11-16 18:15:46", "2023-11-16 18:15:47"), {"time_unit": "s"}, "dates, which need no unit"),
    "unknown unit": ((1, 2), {"time_unit": "min"}, "time_unit: must be one of s, ms, us, ns; got min"),
}


@pytest.mark.parametrize("case", MIXED)
def test_times_that_do_not_fit_together(tmp_path: Path, case: str) -> None:
    (first, second), options, message = MIXED[case]
    path = written(tmp_path, "t.jsonl", f"{row(timestamp=first)}\n{row(timestamp=second)}")
    with pytest.raises(InputError, match=message) as caught:
        read_trace(path, **options)
    assert caught.value.file == str(path)


def test_ids_of_two_kinds_and_blocks_of_another_size(tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", f"{row()}\n{row(hash_ids=['a', 'b'])}")
    with pytest.raises(InputError, match=":2: hash_ids: ids must be whole numbers throughout or texts throughout"):
        read_trace(path)
    path = written(tmp_path, "t.jsonl", row(hash_ids=list(range(38))))
    with pytest.raises(InputError, match="got 38 ids. Granule_tokens: 16 would fit this line"):
        read_trace(path)
