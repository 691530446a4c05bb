"""Mooncake JSONL: one request a line, with hash ids of 512-token blocks that stand for whole prefixes.

Source: kvcache-ai/Mooncake, FAST25-release/traces (Apache-2.0); arXiv 2407.00079, section 4.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, ...]}

Rules, each with its own message: `timestamp` in ms, sorted, >= 0, taken relative to the first; `input_length` >= 1;
`output_length` >= 0, and an answer of no token counts as one, since every request ends with a first token; `hash_ids` holds
one id per block, ceil(input_length / 512) of them, equal id meaning equal prefix. The published conversation trace obeys
all of them. Logs in this form by others are read too: with blocks of another size (`granule_tokens`), with ids that are texts,
and with times in other units, as text or as dates (`time_unit`).
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.files import head_text, read_text
from simcore.traces.rows import first_object, number, parse_object, required
from simcore.traces.stamps import Date, Stamp, parse_stamp, since_first, unit_of
from simcore.traces.trace import Trace
from simcore.units import format_seconds

suffixes = (".jsonl", ".jsonl.gz", ".jsonl.zst")
BLOCK_TOKENS = 512
_BLOCK_SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
_FIELDS = ("timestamp", "input_length", "output_length", "hash_ids")


def sniff(path: str | Path) -> bool:
    """Whether the first object has at least three of the four fields, and there are `hash_ids`."""
    text = head_text(path)
    return len(set(_FIELDS) & set(first_object(text))) >= 3 and '"hash_ids"' in text


def read(
    path: str | Path, *, granule_tokens: int | None = None, spread_ticks: bool = True, time_unit: str | None = None
) -> Trace:
    """Read a Mooncake trace.

    Args:
        granule_tokens: tokens a hash id covers; None: 512.
        spread_ticks: see `spread_over_ticks`; the published traces were recorded with ticks of about 3 s.
        time_unit: s, ms, us or ns; None: ms, unless the first time counts from 1970, then its size tells (see
            `stamps.unit_of`).

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
        raise _first_mistake(lines, granule, time_unit, file)
    stamps, inputs, outputs, ids, count = columns
    try:
        times = since_first(stamps, time_unit, "ms")
    except InputError as error:
        raise error.within(file=file) from None
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
_Columns = tuple[list[Stamp], _Ints, _Ints, _Ints, _Ints]


def _columns(lines: list[str], granule: int) -> _Columns | None:
    """All lines parsed at once (4x faster than one by one) and checked by column; None if anything is wrong."""
    texts = [line for line in lines if line.strip()]
    try:
        rows = json.loads(f"[{','.join(texts)}]")
        stamps, inputs, outputs, hashes = ([row[name] for row in rows] for name in _FIELDS)
        count = np.array([len(h) for h in hashes], np.int64)
        ids = list(itertools.chain.from_iterable(hashes))
        if len(rows) != len(texts) or {type(x) for x in itertools.chain(inputs, outputs)} != {int}:
            return None
        if {type(h) for h in hashes} != {list} or set(map(type, ids)) not in ({int}, {str}):
            return None
        times = [parse_stamp(stamp) for stamp in stamps]
        n_in, n_out = (np.array(column, np.int64) for column in (inputs, outputs))
        flat_ids = np.array(ids if type(ids[0]) is int else _numbered(ids), np.int64)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    longest = np.iinfo(np.int32).max
    good = (
        all(before <= stamp for before, stamp in itertools.pairwise(times))
        and len({isinstance(stamp, Date) for stamp in times}) == 1
        and ((n_in >= 1) & (n_in <= longest) & (n_out >= 0) & (n_out <= longest)).all()
        and (count == -(-n_in // granule)).all()
    )
    return (times, n_in, n_out, flat_ids, count) if good else None


def _numbered(ids: list[str]) -> list[int]:
    known: dict[str, int] = {}
    return [known.setdefault(name, len(known)) for name in ids]


def _first_mistake(lines: list[str], granule: int, time_unit: str | None, file: str) -> InputError:
    """Go through the lines one by one and describe the first that breaks a rule."""
    check = _Check(granule, time_unit)
    for at, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            check.line(line)
        except InputError as error:
            return error.within(file=file, line=at)
    assert not any(line.strip() for line in lines), "the checks by line and by column disagree"
    return InputError("holds no request", file=file)


class _Check:
    """The rules for one line, and for what it has to have in common with the lines before."""

    def __init__(self, granule: int, time_unit: str | None) -> None:
        self._granule, self._time_unit = granule, time_unit
        self._unit = ""
        self._stamp: Stamp | None = None
        self._shown = ""
        self._id_type: type | None = None

    def line(self, line: str) -> None:
        row = parse_object(line)
        for name in _FIELDS:
            required(row, name)
        self._time(row["timestamp"])
        length = int(number(row, "input_length", (int,), 1))
        number(row, "output_length", (int,), 0)
        self._hashes(row["hash_ids"], length)

    def _time(self, value: Any) -> None:
        stamp = parse_stamp(value)
        if self._stamp is None:
            self._unit = unit_of(stamp, self._time_unit, "ms")
        elif isinstance(stamp, Date) != isinstance(self._stamp, Date):
            raise InputError("must be dates or numbers throughout", path="timestamp", value=value)
        elif stamp < self._stamp:
            rule = f"times must be sorted, the request before arrived at {self._shown}"
            raise InputError(rule, path="timestamp", value=value)
        self._stamp = stamp
        self._shown = value if isinstance(value, str) else f"{value:g} {self._unit}"

    def _hashes(self, hashes: Any, length: int) -> None:
        types = {type(h) for h in hashes} if isinstance(hashes, list) else {list}
        if types not in (set(), {int}, {str}):
            raise InputError("must be a list of whole numbers or of texts", path="hash_ids", value=json.dumps(hashes))
        expected = -(-length // self._granule)
        if len(hashes) != expected:
            rule = f"must hold one id per {self._granule} tokens of the prompt: {expected} for input_length {length}"
            fitting = next((size for size in _BLOCK_SIZES if -(-length // size) == len(hashes)), None)
            hint = f"granule_tokens: {fitting} would fit this line" if fitting else None
            raise InputError(rule, path="hash_ids", value=f"{len(hashes)} ids", hint=hint)
        if types == {int} and any(not -(2**63) <= h < 2**63 for h in hashes):
            raise InputError("ids must fit in 64 bits", path="hash_ids", value=hashes)
        if self._id_type not in (None, *types):
            raise InputError("ids must be whole numbers throughout or texts throughout", path="hash_ids", value=hashes)
        self._id_type = next(iter(types))
