"""Rows of text formats (JSON lines, JSON arrays, CSV), each with its place for messages; a look at the first for sniffing."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from simcore.errors import InputError
from simcore.traces.files import head_text, lines, read_text


class _Cut:
    """Stands for a value that the looked-at beginning of a file does not hold whole."""

    def __repr__(self) -> str:
        return "CUT"


CUT = _Cut()
_DECODER = json.JSONDecoder()
_WHOLE = re.compile(r"\s*[+-]?\d{1,18}(\.0*)?([eE]\+?\d)?\s*", re.ASCII)


class Row(NamedTuple):
    """One object of a file: `line` from 1 (0: element `element` of a JSON array)."""

    line: int
    element: int
    data: dict[str, Any]

    @contextmanager
    def named(self, file: str) -> Iterator[None]:
        """Adds this row's place to the message of an `InputError` raised inside."""
        try:
            yield
        except InputError as error:
            if self.line:
                raise error.within(file=file, line=self.line) from None
            raise error.within(file=file, prefix=f"[{self.element}]") from None


def parse_object(line: str) -> dict[str, Any]:
    """The JSON object that a line holds.

    Raises:
        InputError: it holds anything else.
    """
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"each line must be one JSON object ({error.msg} at column {error.colno})", value=line) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"each line must be one JSON object ({error})", value=line) from None
    if not isinstance(data, dict):
        raise InputError("each line must be one JSON object", value=line)
    return data


def json_rows(path: str | Path) -> Iterator[Row]:
    """The objects of a file, one a line (read as a stream), or the elements of one JSON array. Blank lines are skipped.

    Raises:
        InputError: unreadable, no object at all, or one that is none, with its place.
    """
    file = str(path)
    rows = _elements(read_text(path), file) if head_text(path).lstrip().startswith("[") else _objects(path)
    row = None
    for row in rows:
        yield row
    if row is None:
        raise InputError("holds no request", file=file)


def _objects(path: str | Path) -> Iterator[Row]:
    for number, line in enumerate(lines(path), start=1):
        if line.strip():
            try:
                data = parse_object(line)
            except InputError as error:
                raise error.within(file=str(path), line=number) from None
            yield Row(number, 0, data)


def _elements(text: str, file: str) -> Iterator[Row]:
    try:
        elements = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"must be one JSON array, or one object a line ({error.msg})", file=file, line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"must be one JSON array, or one object a line ({error})", file=file) from None
    for index, data in enumerate(elements):
        if not isinstance(data, dict):
            raise InputError("must be a JSON object", file=file, path=f"[{index}]", value=json.dumps(data))
        yield Row(0, index, data)


def head_object(path: str | Path) -> dict[str, Any]:
    """The first JSON object of a file as far as its beginning shows it: a value that goes on beyond is `CUT`; {} if none."""
    return first_object(head_text(path))


def first_object(text: str) -> dict[str, Any]:
    """`head_object` of a text."""
    members: dict[str, Any] = {}
    at = _past(text, _past(text, 0, " \t\r\n"), "[ \t\r\n") if text.lstrip()[:2] != "[[" else 0
    if text[at : at + 1] != "{":
        return members
    at += 1
    while (at := _past(text, at, ", \t\r\n")) < len(text) and text[at] == '"':
        try:
            name, at = _DECODER.raw_decode(text, at)
            at = _past(text, at, " \t\r\n")
            if text[at : at + 1] != ":":
                break
            members[name] = CUT
            members[name], at = _DECODER.raw_decode(text, _past(text, at + 1, " \t\r\n"))
        except (ValueError, RecursionError):
            break
    return members


def _past(text: str, at: int, skipped: str) -> int:
    while at < len(text) and text[at] in skipped:
        at += 1
    return at


def csv_rows(path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, as (line number, fields by column), read as a stream.

    Separated by comma, semicolon or tab, whichever the header has most of. Blank lines are skipped.

    Raises:
        InputError: unreadable, no row after the header, or a row with another number of fields.
    """
    file = str(path)
    ended = (f"{line}\n" for line in lines(path))
    reader = csv.reader(ended, delimiter=sniff_delimiter(first_line(head_text(path))), strict=True)
    names: list[str] = []
    n = 0
    try:
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if not names:
                names = [field.strip() for field in fields]
                continue
            if len(fields) != len(names):
                rule = f"must have {len(names)} fields as the header has"
                raise InputError(rule, file=file, line=reader.line_num, value=f"{len(fields)} fields")
            n += 1
            yield reader.line_num, dict(zip(names, fields, strict=True))
    except csv.Error as error:
        raise InputError(f"is no valid CSV ({error})", file=file, line=reader.line_num) from None
    if not n:
        raise InputError("holds no request", file=file, hint="a header alone is no trace" if names else None)


def head_names(path: str | Path) -> list[str]:
    """The column names of a file whose first line looks like a CSV header; [] if it is none."""
    line = first_line(head_text(path))
    names = [name.strip().strip('"') for name in line.split(sniff_delimiter(line))]
    return names if all(name and not name.startswith(("{", "[")) for name in names) else []


def first_line(text: str) -> str:
    """The first line that is not blank, or nothing."""
    return next((line for line in text.splitlines() if line.strip()), "")


def sniff_delimiter(line: str) -> str:
    """Comma, semicolon or tab, whichever a header has most of."""
    return max(",;\t", key=line.count)


def number(row: dict[str, Any], name: str, kinds: tuple[type, ...], low: int) -> float:
    """A field that must be a number of one of `kinds`, at least `low`, and unless it is the time, below 2^31.

    Raises:
        InputError: it is not; `path` is the field.
    """
    value = row[name]
    if type(value) not in kinds:
        rule = "must be a number" if float in kinds else "must be a whole number"
        raise InputError(rule, path=name, value=json.dumps(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("must be finite", path=name, value=value)
    if value < low:
        raise InputError("must not be negative" if low == 0 else f"must be at least {low}", path=name, value=value)
    if value >= 2**31 and name != "timestamp":
        raise InputError("must fit in 31 bits", path=name, value=value)
    return float(value)


def whole(text: str, name: str, low: int) -> int:
    """A field of a CSV row that must be a whole number from `low` to 2^31 - 1.

    Raises:
        InputError: it is not; `path` is the column.
    """
    if _WHOLE.fullmatch(text) is None:
        raise InputError("must be a whole number", path=name, value=text)
    value = int(text) if text.strip().isdigit() else round(float(text))
    return int(number({name: value}, name, (int,), low))


def required(row: dict[str, Any], name: str) -> Any:
    """A field that must be there.

    Raises:
        InputError: it is not; `path` is the field.
    """
    if name not in row:
        raise InputError("is required", path=name, hint=f"the line has {', '.join(row) or 'no field'}")
    return row[name]


def at_least(name: str, value: float, low: float) -> None:
    """Check an option.

    Raises:
        InputError: not finite, or below `low`.
    """
    if not (math.isfinite(value) and value >= low):
        raise InputError(f"must be at least {low:g}", path=name, value=value)


def positive(name: str, value: float) -> None:
    """Check an option.

    Raises:
        InputError: not finite and above 0.
    """
    if not (math.isfinite(value) and value > 0):
        raise InputError("must be positive", path=name, value=value)
