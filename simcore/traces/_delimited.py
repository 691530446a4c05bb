"""Delimited text in pieces: columns of a known kind out of it, the first line that breaks a rule in the message."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.files import HEAD_BYTES, head_bytes, head_text, pieces

DELIMITERS = (",", "\t", " ", ";", "|")
_INT_MAX = (1 << 63) - 1
_KINDS = {
    "int": ["int64"],
    "float": ["float64"],
    "text": ["string"],
    "hex": ["string"],
    "id": ["int64", "uint64", "string"],
}
_DIGIT = np.full(256, -1, np.int64)
_DIGIT[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
_TEXT_RULE = "must be UTF-8 text, this is binary or in another encoding"


class Field(NamedTuple):
    """A column to read.

    Attributes:
        kind: "int" (i8), "float" (f8, finite), "text" (object array of str, not empty), "hex" (i8: 8 hexadecimal digits, -1
            where empty) or "id": i8, or u8 where i8 is too small, or else text; the first piece of the file decides between
            numbers and texts.
        low, high: of "int": the least and the most that is right.
    """

    kind: str
    low: int | None = None
    high: int = _INT_MAX


ID = Field("id")
TEXT = Field("text")
SECONDS = Field("float")
BYTES = Field("int", 1)


@dataclass(frozen=True)
class Layout:
    """The columns of a file, first to last, and what separates them; a blank stands for any run of blanks and tabs."""

    names: tuple[str, ...]
    delimiter: str
    header: bool


def delimiter_of(line: str) -> str:
    """What separates the fields of a line: the first of comma, tab, semicolon, bar and blank that occurs; else a comma."""
    return next((d for d in (",", "\t", ";", "|", " ") if d in line), ",")


def head_rows(path: str | Path, n: int, delimiter: str | None = None) -> list[list[str]]:
    """The fields of the first n lines that are not empty (fewer if the head of the file is shorter), for sniffing."""
    text = head_text(path)
    known = text.splitlines()
    if len(known) > 1 and len(head_bytes(path)) == HEAD_BYTES:
        known.pop()  # is cut off
    lines = list(islice((line for line in known if line.strip()), n))
    if not lines or any("\0" in line for line in lines):
        return []
    return [_split(line, delimiter or delimiter_of(lines[0])) for line in lines]


def layout_of(path: str | Path, delimiter: str | None = None, header: bool | None = True) -> Layout:
    """The layout that the first line that is not empty tells. Columns without a header are called 1, 2, ...

    Args:
        delimiter: None: found.
        header: whether that line is a header; None: if none of its fields is a number.

    Raises:
        InputError: unreadable, empty or binary file, nothing in it, or a delimiter that is not one of `DELIMITERS`.
    """
    if delimiter is not None and delimiter not in DELIMITERS:
        hint = "one of: , ; | a tab, a blank"
        raise InputError("is not a known delimiter", path="delimiter", value=repr(delimiter), hint=hint)
    _, piece = next(pieces(path, 1 << 16), (0, b""))
    line = next((text for text in piece.decode("utf-8", errors="replace").splitlines() if text.strip()), "")
    if not line:
        raise InputError("holds no access", file=str(path))
    mark = delimiter or delimiter_of(line)
    first = [name.strip() for name in _split(line, mark)]
    if header is None:
        header = not any(_is_finite(name) for name in first)
    return Layout(tuple(first if header else map(str, range(1, len(first) + 1))), mark, header)


def column_of(layout: Layout, path: str | Path, *names: str, option: str | None = None) -> str:
    """The first of `names` that is a column of the file.

    Raises:
        InputError: none is, or it occurs twice. `option` is the option that named it.
    """
    found = next((name for name in names if name in layout.names), None)
    if found is None:
        hint = f"the columns are {', '.join(layout.names)}"
        if option is not None:
            raise InputError("no such column in the file", file=str(path), path=option, value=names[0], hint=hint)
        raise InputError(f"a column {' or '.join(names)} is required", file=str(path), line=1, hint=hint)
    if layout.names.count(found) > 1:
        raise InputError("two columns have the same name", file=str(path), path=found)
    return found


def columns(path: str | Path, layout: Layout, fields: dict[str, Field]) -> Iterator[dict[str, NDArray[Any]]]:
    """The columns named in `fields`, a piece of the file at a time.

    Raises:
        InputError: unreadable file, or the first line that breaks a rule, with file, line, field and value.
    """
    parser = _Parser(layout, fields)
    headed = not layout.header
    for first, piece in pieces(path):
        if not headed:
            first, piece, headed = _without_header(first, piece)
        if not piece.strip():
            continue
        try:
            yield parser.parse(piece)
        except _Broken:
            raise parser.mistake(piece, first).within(file=str(path)) from None


class _Broken(Exception):
    """A piece that breaks some rule."""


class _Parser:
    def __init__(self, layout: Layout, fields: dict[str, Field]) -> None:
        self._layout = layout
        self._fields = fields
        self._at = {name: layout.names.index(name) for name in fields}
        self._kinds = {
            name: _KINDS[field.kind] for name, field in fields.items()
        }  # those possible for a column, likeliest first

    def parse(self, piece: bytes) -> dict[str, NDArray[Any]]:
        """The columns of some whole lines. _Broken: a rule does not hold."""
        found = self._parsed(piece)
        for name, values in found.items():
            if self._fields[name].kind == "id":  # from now on text, or a number
                self._kinds[name] = ["string"] if values.dtype == object else ["int64", "uint64"]
        return found

    def mistake(self, piece: bytes, first_line: int) -> InputError:
        """The first line of a broken piece that breaks a rule, found by halving."""
        lines = piece.split(b"\n")
        low, high = 0, len(lines)  # the first `low` lines are right, the first `high` are not
        while high - low > 1:
            middle = (low + high) // 2
            right = self._is_right(b"\n".join(lines[:middle]))
            low, high = (middle, high) if right else (low, middle)
        return self._mistake(lines[low]).within(line=first_line + low)

    def _is_right(self, piece: bytes) -> bool:
        try:
            self._parsed(piece)
        except _Broken:
            return False
        return True

    def _parsed(self, piece: bytes) -> dict[str, NDArray[Any]]:
        if self._layout.delimiter == " ":
            piece = _squeezed(piece)
        if not piece.strip():
            return {}  # lines without anything, when looking for a mistake
        with suppress(_Broken):
            return self._read(piece, {name: kinds[0] for name, kinds in self._kinds.items()})
        found: dict[str, NDArray[Any]] = {}
        for name, kinds in self._kinds.items():
            for kind in kinds:
                with suppress(_Broken):
                    found |= self._read(piece, {name: kind})
                    break
            else:
                raise _Broken
        return found

    def _read(self, piece: bytes, kinds: dict[str, str]) -> dict[str, NDArray[Any]]:
        """The columns in `kinds`, each as the Arrow type that it names."""
        import pyarrow as pa  # heavy: only for text
        from pyarrow import csv as arrow_csv

        layout = self._layout
        types = {str(self._at[name]): getattr(pa, kind)() for name, kind in kinds.items()}
        names = [str(i) for i in range(len(layout.names))]
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(piece),
                arrow_csv.ReadOptions(use_threads=False, block_size=len(piece) + 1, column_names=names),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, quote_char=False if layout.delimiter == " " else '"'),
                arrow_csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
            )
        except pa.ArrowInvalid:
            raise _Broken from None
        found = {name: _array(table[str(self._at[name])], self._fields[name]) for name in kinds}
        if not all(_obeys(values, self._fields[name]) for name, values in found.items()):
            raise _Broken
        return found

    def _mistake(self, line: bytes) -> InputError:
        try:
            text = line.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError:
            return InputError(_TEXT_RULE)
        values = _split(text, self._layout.delimiter)
        if len(values) != len(self._layout.names):
            n = len(self._layout.names)
            return InputError(
                f"each line must have {n} field{'s' if n > 1 else ''} ({', '.join(self._layout.names)})", value=text
            )
        for name, field in self._fields.items():
            rule = _broken_rule(values[self._at[name]], field, self._kinds[name])
            if rule:
                return InputError(rule, path=name, value=values[self._at[name]])
        return InputError("cannot be read as a row", value=text)


def _broken_rule(value: str, field: Field, kinds: list[str]) -> str | None:
    """The rule that a value breaks, if its column may be of these Arrow types."""
    if field.kind == "float":
        return None if _is_finite(value) else "must be a finite number"
    if field.kind == "hex":
        right = not value or re.fullmatch("[0-9a-f]{8}", value)
        return None if right else "must be 8 hexadecimal digits (0-9, a-f) or empty"
    if "string" in kinds:
        return None if value else "must not be empty"
    if not re.fullmatch(r"[ \t]*-?[0-9]+[ \t]*", value):
        return "must be a whole number" if field.kind == "int" else "must be a whole number, as the ids before it are"
    number = int(value)
    if field.kind == "id" and -_INT_MAX - 1 <= number <= 2 * _INT_MAX + 1:
        large = number < 0 or number > _INT_MAX  # then an id before it is of the other kind
        return "ids below 0 and ids of 2^63 or more cannot be mixed" if large else None
    if field.low is not None and number < field.low:
        return "must not be negative" if field.low == 0 else f"must be at least {field.low}"
    if not -_INT_MAX - 1 <= number <= _INT_MAX:
        return "must fit in 64 bits"
    return f"must be at most {field.high}" if number > field.high else None


def _array(column: Any, field: Field) -> NDArray[Any]:
    array = column.combine_chunks()
    if field.kind == "hex":
        return _from_hexadecimal(array)
    if array.type == "string":
        coded = array.dictionary_encode()
        distinct = coded.dictionary.to_pylist()
        if "" in distinct:
            raise _Broken
        texts = np.array([*distinct, None], object)[:-1]
        result: NDArray[Any] = texts[coded.indices.to_numpy()]
        return result
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _from_hexadecimal(array: Any) -> NDArray[np.int64]:
    """Values of an Arrow array of texts."""
    _, offsets, content = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    filled = np.diff(ends) > 0
    if (np.diff(ends)[filled] != 8).any():
        raise _Broken
    values = np.full(len(array), -1, np.int64)
    if filled.any():
        digits = _DIGIT[np.frombuffer(content, np.uint8)[ends[0] : ends[-1]]].reshape(-1, 8)
        if (digits < 0).any():
            raise _Broken
        values[filled] = digits @ (np.int64(16) ** np.arange(7, -1, -1))
    return values


def _obeys(values: NDArray[Any], field: Field) -> bool:
    if field.kind == "float":
        return bool(np.isfinite(values).all())
    if field.kind != "int" or not len(values):
        return True
    return (field.low is None or int(values.min()) >= field.low) and int(values.max()) <= field.high


def _is_finite(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    return next(csv.reader([line], delimiter=delimiter), [])


def _squeezed(piece: bytes) -> bytes:
    """The lines with single blanks between fields and none around them."""
    if b" " not in piece and b"\t" not in piece:
        return piece
    if any(run in piece for run in (b"  ", b"\t", b"\n ", b" \n", b" \r")) or piece[:1] == b" " or piece[-1:] == b" ":
        piece = re.sub(rb"[ \t]+", b" ", piece)
        piece = re.sub(rb"(?m)^ | (?=\r?$)", b"", piece)
    return piece


def _without_header(first: int, piece: bytes) -> tuple[int, bytes, bool]:
    for line in piece.split(b"\n"):
        first += 1
        piece = piece[len(line) + 1 :]
        if line.strip():
            return first, piece, True
    return first, b"", False
