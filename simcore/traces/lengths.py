"""Requests known by their lengths alone: CSV with a header, or JSON lines.

    Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
    {"arrived_at": 0.5, "num_prefill_tokens": 120, "num_decode_tokens": 30}

Columns are recognised by name, whatever their case and punctuation: the prompt's length (`input_tokens`, `input_length`,
`prompt_tokens`, `prompt_len`, `request_tokens`, `num_prefill_tokens` and the like), the answer's (`output_tokens`,
`completion_tokens`, `response_tokens`, `num_decode_tokens` ...) and, if there is one, the time (`timestamp`, `arrival_time`,
`arrived_at` ...), in any order. Prompts have at least one token; an answer of none counts as one. Every request has blocks of
its own: nothing can be reused.
Formats: HPMLL/BurstGPT (arXiv 2401.17644); microsoft/vidur, data/processed_traces; benchmark output of serving engines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import InputError
from simcore.traces import azure_llm
from simcore.traces.assembly import GRANULE_TOKENS, own_blocks, trace_by_time
from simcore.traces.files import head_text
from simcore.traces.rows import csv_rows, first_object, head_names, json_rows, number, whole
from simcore.traces.stamps import Stamp, parse_stamp, since_first, spaced
from simcore.traces.trace import Trace

suffixes = (".csv",)
_PROMPT = ("input", "prompt", "request", "prefill", "context")
_ANSWER = ("output", "completion", "response", "decode", "generated", "generation")
_SIZE = ("tokens", "length", "len", "token_count", "tokens_count")
_INPUTS = {f"{lead}{word}_{size}" for lead in ("", "num_") for word in _PROMPT for size in _SIZE}
_OUTPUTS = {f"{lead}{word}_{size}" for lead in ("", "num_") for word in _ANSWER for size in _SIZE}
_TIMES = ("timestamp", "arrival_time", "arrival_timestamp", "arrived_at", "arrival_s", "arrival", "time", "time_s")


def sniff(path: str | Path) -> bool:
    """Whether the header or the first object names a prompt length and an answer length; ids of blocks: no."""
    text = head_text(path)
    names = first_object(text) if text.lstrip().startswith(("{", "[")) else head_names(path)
    return None not in _roles(tuple(names))[:2] and '"hash_ids"' not in text and not azure_llm.sniff(path)


def read(
    path: str | Path, *, granule_tokens: int | None = None, time_unit: str | None = None, rate: float | None = None
) -> Trace:
    """Read lengths.

    Args:
        granule_tokens: tokens of one block; None: 16.
        time_unit: s, ms, us or ns; None: found (see `stamps.unit_of`; times since a start are in seconds).
        rate: requests per second at even spacing, for a file without times; None: 1.

    Raises:
        InputError: unreadable file, or the first line that breaks a rule, with file, line, field and value.
    """
    file = str(path)
    granule = GRANULE_TOKENS if granule_tokens is None else granule_tokens
    stamps: list[Stamp] = []
    inputs: list[int] = []
    outputs: list[int] = []
    timed = False
    for place, row in _rows(path):
        try:
            names = _roles(tuple(row))
            for name, what in zip(names, ("length of the prompt", "length of the answer"), strict=False):
                if name is None:
                    raise InputError(f"has no {what}", hint=f"the columns are {', '.join(row) or 'none'}")
            inputs.append(_length(row, names[0], 1))
            outputs.append(_length(row, names[1], 0))
            timed = names[2] is not None if len(inputs) == 1 else timed
            if timed != (names[2] is not None):
                raise InputError("some requests have a time and some have none", path=names[2] or _TIMES[0])
            if names[2] is not None:
                stamps.append(parse_stamp(row[names[2]], names[2]))
        except InputError as error:
            raise error.within(file=file, **place) from None
    if timed and rate is not None:
        raise InputError("the file has times of its own", file=file, path="rate", value=rate)
    if not timed and time_unit is not None:
        raise InputError("the file has no times", file=file, path="time_unit", value=time_unit)
    spacing = 1.0 if rate is None else rate
    try:
        times_s = since_first(stamps, time_unit, "s") if timed else spaced(len(inputs), spacing)
        blocks = own_blocks(np.array(inputs), granule)
    except InputError as error:
        raise error.within(file=file) from None
    source = f"lengths {Path(path).name}: nothing can be reused"
    if not timed:
        source += f", arrivals spaced evenly, {spacing:g} per second"
    return trace_by_time(times_s, np.array(inputs), np.array(outputs), blocks, granule, source=source)


def _rows(path: str | Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if head_text(path).lstrip().startswith(("{", "[")):
        for row in json_rows(path):
            yield ({"line": row.line} if row.line else {"prefix": f"[{row.element}]"}), row.data
    else:
        for line, fields in csv_rows(path):
            yield {"line": line}, dict(fields)


@lru_cache(maxsize=64)
def _roles(names: tuple[str, ...]) -> tuple[str | None, str | None, str | None]:
    """Which columns are the prompt's length, the answer's and the time."""
    plain = {re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_"): name for name in names}
    found = [next((name for key, name in plain.items() if key in known), None) for known in (_INPUTS, _OUTPUTS)]
    return found[0], found[1], next((plain[key] for key in _TIMES if key in plain), None)


def _length(row: dict[str, Any], name: str | None, low: int) -> int:
    assert name is not None
    value = row[name]
    if isinstance(value, str):
        return whole(value, name, low)
    if isinstance(value, (list, dict)):
        raise InputError("must be a whole number", path=name, value=json.dumps(value))
    return int(number({name: value}, name, (int,), low))
