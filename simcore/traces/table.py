"""Any table of accesses, CSV or Parquet; options say which column is what.

The object is a column, or several together (a table's number and a row). Without a header, columns are called 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError, did_you_mean
from simcore.traces._delimited import BYTES, ID, SECONDS, TEXT, Field, column_of, columns, layout_of
from simcore.traces._parquet import MAGIC, is_date, parquet_columns, parquet_names
from simcore.traces.columns import Columns
from simcore.traces.densify import Densifier
from simcore.traces.files import raw_bytes

suffixes = (".parquet", ".csv", ".tsv")
_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_Part = dict[str, NDArray[Any]]


class _Roles(NamedTuple):
    keys: tuple[str, ...]
    size: str | None
    time: str | None
    category: str | None
    request: str | None


def sniff(path: str | Path) -> bool:
    """Whether it is a Parquet file. A CSV file says nothing of what its columns mean: name this reader."""
    return raw_bytes(path, limit=len(MAGIC)) == MAGIC


def chunks(
    path: str | Path,
    *,
    key: str | Sequence[str] | None = None,
    size: str | None = None,
    time: str | None = None,
    category: str | None = None,
    request: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    time_unit: str = "s",
    text_ids: bool = False,
) -> Iterator[Columns]:
    """Read the accesses in order.

    Args:
        key: column of the object, or several, as a list or with commas between; required. Whole numbers or texts.
        size: column of bytes, at least 1.
        time: column of the time, in `time_unit` (s, ms, us, ns); dates in Parquet have their own.
        category: column of the table or kind: whole numbers from 0, or texts, which are numbered by first appearance.
        request: column that is equal for the accesses of one request; these must follow one another.
        delimiter, header: of a CSV file: what separates the fields (None: found), whether the first line names the columns.
        text_ids: of a CSV file: take keys as texts even if they look like numbers.

    Raises:
        InputError: no key, a column that does not exist, unreadable file, or the first value that breaks a rule.
    """
    if time_unit not in _UNITS:
        raise InputError("must be s, ms, us or ns", path="time_unit", value=time_unit, hint=did_you_mean(time_unit, _UNITS))
    parquet = sniff(path)
    if parquet and (delimiter is not None or not header or text_ids):
        given = "delimiter" if delimiter is not None else "header" if not header else "text_ids"
        raise InputError("does not apply to a Parquet file", file=str(path), path=given)
    if key is None:
        names = parquet_names(path) if parquet else layout_of(path, delimiter, header).names
        raise InputError("is required: the column of the object", path="key", hint=f"the columns are {', '.join(names)}")
    keys = tuple(name.strip() for name in (key.split(",") if isinstance(key, str) else key))
    roles = _Roles(keys, size, time, category, request)
    id_field = TEXT if text_ids else ID
    parts = _parquet(path, roles, time_unit) if parquet else _text(path, roles, delimiter, header, id_field)
    yield from _accesses(parts, roles, _UNITS[time_unit], str(path))


def _fields(roles: _Roles, key: Field) -> dict[str, tuple[str, Field]]:
    """What each used column must be, and the option that names it."""
    fields = dict.fromkeys(roles.keys, ("key", key))
    if len(fields) < len(roles.keys) or "" in fields:
        raise InputError("must name columns, each once", path="key", value=", ".join(roles.keys))
    kinds = {"size": BYTES, "time": SECONDS, "category": ID, "request": ID}
    for option, field in kinds.items():
        name = getattr(roles, option)
        if name in fields and option in ("size", "time"):
            raise InputError(f"the column is already in use as {fields[name][0]}", path=option, value=name)
        if name is not None:
            fields.setdefault(name, (option, field))
    return fields


def _text(path: str | Path, roles: _Roles, delimiter: str | None, header: bool, key: Field) -> Iterator[_Part]:
    layout = layout_of(path, delimiter, header)
    fields = _fields(roles, key)
    for name, (option, _) in fields.items():
        column_of(layout, path, name, option=option)
    return columns(path, layout, {name: field for name, (_, field) in fields.items()})


def _parquet(path: str | Path, roles: _Roles, time_unit: str) -> Iterator[_Part]:
    fields = _fields(roles, ID)
    known = parquet_names(path)
    for name, (option, _) in fields.items():
        if name not in known:
            raise InputError(
                "no such column in the file",
                file=str(path),
                path=option,
                value=name,
                hint=f"the columns are {', '.join(known)}",
            )
    if roles.time is not None and time_unit != "s" and is_date(path, roles.time):
        raise InputError("does not apply to a column of dates", path="time_unit", value=time_unit)
    return parquet_columns(path, {name: field for name, (_, field) in fields.items()})


def _accesses(parts: Iterator[_Part], roles: _Roles, ticks_per_s: float, file: str) -> Iterator[Columns]:
    key, category, request = _Pairs(len(roles.keys)), _Kinds(), _Runs()
    for part in parts:
        yield Columns(
            key.of([part[name] for name in roles.keys]),
            sizes=None if roles.size is None else part[roles.size],
            time_s=None if roles.time is None else part[roles.time] / ticks_per_s,
            category=None if roles.category is None else category.of(part[roles.category], file),
            request=None if roles.request is None else request.of(part[roles.request]),
        )


class _Pairs:
    """One key out of several: each column and each pair of numbers is numbered."""

    def __init__(self, n: int) -> None:
        self._columns = [Densifier() for _ in range(n)]
        self._pairs = [Densifier() for _ in range(n - 2)]

    def of(self, columns: list[NDArray[Any]]) -> NDArray[Any]:
        if len(columns) == 1:
            return columns[0]
        numbers = [numberer.add(column).astype(np.int64) for numberer, column in zip(self._columns, columns, strict=True)]
        key = numbers[0] << 32 | numbers[1]
        for numberer, more in zip(self._pairs, numbers[2:], strict=True):
            key = numberer.add(key).astype(np.int64) << 32 | more
        return key


class _Kinds:
    """Numbers of categories."""

    def __init__(self) -> None:
        self._texts = Densifier()

    def of(self, values: NDArray[Any], file: str) -> NDArray[np.int32]:
        if values.dtype == object:
            return self._texts.add(values).astype(np.int32)
        if len(values) and (int(values.min()) < 0 or int(values.max()) >= 1 << 31):
            bad = (values < 0) | (values >= 1 << 31)
            raise InputError(
                "numbers must be from 0 to below 2^31", file=file, path="category", value=values[np.argmax(bad)].item()
            )
        return values.astype(np.int32)


class _Runs:
    """Numbers of requests: a new one where the value changes."""

    def __init__(self) -> None:
        self._last: Any = None
        self._n = -1

    def of(self, values: NDArray[Any]) -> NDArray[np.int64]:
        if not len(values):
            return np.zeros(0, np.int64)
        changes = np.ones(len(values), np.bool_)
        changes[1:] = values[1:] != values[:-1]
        changes[0] = self._n < 0 or values[0] != self._last
        numbers = self._n + np.cumsum(changes)
        self._last, self._n = values[-1], int(numbers[-1])
        return numbers
