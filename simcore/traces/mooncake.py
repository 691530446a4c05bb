"""Mooncake JSONL: one request a line, with hash ids of 512-token blocks that stand for whole prefixes.

Source: kvcache-ai/Mooncake, FAST25-release/traces (Apache-2.0); arXiv 2407.00079, section 4.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, ...]}

Rules, each with its own message: `timestamp` in ms, sorted, >= 0, taken relative to the first; `input_length` >= 1;
`output_length` >= 0, and an answer of no token counts as one, since every request ends with a first token; `hash_ids` holds
one id per block, ceil(input_length / 512) of them, equal id meaning equal prefix. The published conversation trace obeys
all of them.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.files import head_text, read_text
from simcore.traces.trace import Trace
from simcore.units import format_seconds

suffixes = (".jsonl", ".jsonl.gz", ".jsonl.zst")
BLOCK_TOKENS = 512
_FIELDS = ("timestamp", "input_length", "output_length", "hash_ids")


def sniff(path: str | Path) -> bool:
    """Whether the first line is a JSON object with at least three of the four fields."""
    line = next((text for text in head_text(path).splitlines() if text.strip()), "")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and len(set(_FIELDS) & set(row)) >= 3


def read(path: str | Path, *, granule_tokens: int | None = None, spread_ticks: bool = True) -> Trace:
    """Read a Mooncake trace.

    Args:
        granule_tokens: tokens a hash id covers; None: 512.
        spread_ticks: see `spread_over_ticks`; the published traces were recorded with ticks of about 3 s.

    Raises:
        InputError: unreadable file, or the first line that breaks a rule, with file, line, field and value.
    """
    file = str(path)
    granule = BLOCK_TOKENS if granule_tokens is None else granule_tokens
    if granule < 1:
        raise InputError("must be at least 1", path="granule_tokens", value=granule)
    lines = read_text(path).split("\n")
    columns = _columns(lines, granule)
    if columns is None:
        raise _first_mistake(lines, granule, file)
    stamp_ms, inputs, outputs, ids, count = columns
    times = (stamp_ms - stamp_ms[0]) / 1000.0
    note = ""
    if spread_ticks:
        times, tick_s = spread_over_ticks(times)
        note = f", arrivals spread over ticks of {format_seconds(tick_s)}" if tick_s else ""
    silent = int((outputs == 0).sum())
    if silent:
        note += f", {silent} empty outputs counted as 1 token"
    try:
        return Trace.of(
            times,
            inputs,
            np.maximum(outputs, 1),
            (np.concatenate(([0], np.cumsum(count))), ids),
            granule,
            source=f"Mooncake trace {Path(path).name}{note}",
        )
    except InputError as error:  # only equal ids with unequal prefixes are left to find
        line = _line_of_request(lines, int(str(error.path).partition("[")[2].rstrip("]")))
        value = json.loads(lines[line - 1])["hash_ids"]
        raise InputError(error.rule, file=file, line=line, path="hash_ids", value=value) from None


def _line_of_request(lines: list[str], index: int) -> int:
    filled = (number for number, line in enumerate(lines, start=1) if line.strip())
    return next(itertools.islice(filled, index, None))


def spread_over_ticks(times_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Undo the quantisation of time stamps: c requests with one stamp are spaced evenly over the tick that begins there.

    The tick is the time to the next stamp, at most the median gap between stamps. Unshared stamps, and a trace with a single
    stamp (a deliberate burst), stay as they are. Deterministic.

    Args:
        times_s: f8 (n,), sorted.

    Returns:
        The new times (sorted) and the median tick in seconds, 0 if nothing moved.
    """
    stamps, where, count = np.unique(times_s, return_inverse=True, return_counts=True)
    if len(stamps) < 2 or len(stamps) == len(times_s):
        return times_s, 0.0
    gaps = np.diff(stamps)
    usual = float(np.median(gaps))
    tick = np.minimum(np.append(gaps, usual), usual)
    rank = np.arange(len(times_s)) - np.repeat(np.cumsum(count) - count, count)
    return times_s + rank * (tick / count)[where], usual


_Ints = NDArray[np.int64]
_Columns = tuple[NDArray[np.float64], _Ints, _Ints, _Ints, _Ints]


def _columns(lines: list[str], granule: int) -> _Columns | None:
    """All lines parsed at once (4x faster than one by one) and checked by column; None if anything is wrong."""
    texts = [line for line in lines if line.strip()]
    try:
        rows = json.loads(f"[{','.join(texts)}]")
        stamps, inputs, outputs, hashes = ([row[name] for row in rows] for name in _FIELDS)
        count = np.array([len(h) for h in hashes], np.int64)
        ids = list(itertools.chain.from_iterable(hashes))
        if len(rows) != len(texts) or {type(x) for x in itertools.chain(inputs, outputs, ids)} != {int}:
            return None
        if not {type(x) for x in stamps} <= {int, float}:
            return None
        stamp_ms = np.array(stamps, np.float64)
        n_in, n_out, flat_ids = (np.array(column, np.int64) for column in (inputs, outputs, ids))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    longest = np.iinfo(np.int32).max
    good = (
        np.isfinite(stamp_ms).all()
        and stamp_ms[0] >= 0
        and (np.diff(stamp_ms) >= 0).all()
        and ((n_in >= 1) & (n_in <= longest) & (n_out >= 0) & (n_out <= longest)).all()
        and (count == -(-n_in // granule)).all()
    )
    return (stamp_ms, n_in, n_out, flat_ids, count) if good else None


def _first_mistake(lines: list[str], granule: int, file: str) -> InputError:
    """Go through the lines one by one and describe the first that breaks a rule."""
    before_ms = 0.0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            before_ms = _check_line(line, before_ms, granule)
        except InputError as error:
            return error.within(file=file, line=number)
    assert not any(line.strip() for line in lines), "the checks by line and by column disagree"
    return InputError("holds no request", file=file)


def _check_line(line: str, before_ms: float, granule: int) -> float:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"each line must be one JSON object ({error.msg} at column {error.colno})", value=line) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"each line must be one JSON object ({error})", value=line) from None
    if not isinstance(row, dict):
        raise InputError("each line must be one JSON object", value=line)
    for name in _FIELDS:
        if name not in row:
            raise InputError("is required", path=name, hint=f"the line has {', '.join(row) or 'no field'}")
    stamp = _number(row, "timestamp", (int, float), 0)
    if stamp < before_ms:
        raise InputError(
            f"times must be sorted, the request before arrived at {before_ms:g} ms", path="timestamp", value=row["timestamp"]
        )
    length = int(_number(row, "input_length", (int,), 1))
    _number(row, "output_length", (int,), 0)
    hashes = row["hash_ids"]
    if not isinstance(hashes, list) or {type(h) for h in hashes} - {int}:
        raise InputError("must be a list of whole numbers", path="hash_ids", value=hashes)
    expected = -(-length // granule)
    if len(hashes) != expected:
        rule = f"must hold one id per {granule} tokens of the prompt: {expected} for input_length {length}"
        raise InputError(rule, path="hash_ids", value=f"{len(hashes)} ids")
    if any(not -(2**63) <= h < 2**63 for h in hashes):
        raise InputError("ids must fit in 64 bits", path="hash_ids", value=hashes)
    return stamp


def _number(row: dict[str, Any], name: str, kinds: tuple[type, ...], low: int) -> float:
    value = row[name]
    if type(value) not in kinds:
        rule = "must be a number" if float in kinds else "must be a whole number"
        raise InputError(rule, path=name, value=json.dumps(value))
    if not math.isfinite(value):
        raise InputError("must be finite", path=name, value=value)
    if value < low:
        raise InputError("must not be negative" if low == 0 else f"must be at least {low}", path=name, value=value)
    if value >= 2**31 and name != "timestamp":
        raise InputError("must fit in 31 bits", path=name, value=value)
    return float(value)
