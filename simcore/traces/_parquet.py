"""Columns out of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces._delimited import Field

MAGIC = b"PAR1"
_ROWS_AT_ONCE = 1 << 20


def parquet_names(path: str | Path) -> tuple[str, ...]:
    """The names of the columns.

    Raises:
        InputError: the file is damaged.
    """
    with _opened(path) as file:
        return tuple(file.schema_arrow.names)


def is_date(path: str | Path, name: str) -> bool:
    """Whether column `name` holds dates, which `parquet_columns` gives in seconds since 1970."""
    import pyarrow as pa

    with _opened(path) as file:
        kind = file.schema_arrow.field(name).type
        return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def parquet_columns(path: str | Path, fields: dict[str, Field]) -> Iterator[dict[str, NDArray[Any]]]:
    """The columns named in `fields` (kinds int, float and id), a million rows at a time.

    Raises:
        InputError: a damaged file, or the first value that breaks a rule; `path` names the column and the row, from 0.
    """
    done = 0
    with _opened(path) as file:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(fields)):
            try:
                yield {
                    name: _values(batch.column(batch.schema.get_field_index(name)), name, fields[name], done) for name in fields
                }
            except InputError as error:
                raise error.within(file=str(path)) from None
            done += batch.num_rows


def _values(column: Any, name: str, field: Field, first_row: int) -> NDArray[Any]:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise InputError("must not be missing", path=f"{name}[{first_row + int(np.argmax(column.is_null()))}]")
    if field.kind == "id" and (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
        coded = column.dictionary_encode()
        texts = np.array([*coded.dictionary.to_pylist(), None], object)[:-1]
        result: NDArray[Any] = texts[coded.indices.to_numpy()]
        return result
    if kinds.is_integer(column.type) and field.kind != "float":
        values = np.asarray(column.to_numpy(zero_copy_only=False))
        if field.kind == "id":
            return values.astype(np.uint64 if column.type == pa.uint64() else np.int64)
        _refuse(values < (field.low or 0), values, name, first_row, f"must be at least {field.low or 0}")
        _refuse(values > np.iinfo(np.int64).max, values, name, first_row, "must fit in 64 bits")
        return values.astype(np.int64)
    if field.kind == "float" and (kinds.is_timestamp(column.type) or kinds.is_date(column.type)):
        return np.asarray(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy(zero_copy_only=False)) / 1e6
    if field.kind == "float" and (kinds.is_integer(column.type) or kinds.is_floating(column.type)):
        values = np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
        _refuse(~np.isfinite(values), values, name, first_row, "must be finite")
        return values
    wanted = {"id": "whole numbers or texts", "int": "whole numbers", "float": "numbers or dates"}[field.kind]
    raise InputError(f"must be a column of {wanted}", path=name, value=str(column.type))


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], name: str, first_row: int, rule: str) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(rule, path=f"{name}[{first_row + i}]", value=values[i].item())


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    import pyarrow as pa  # heavy: only for Parquet
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(f"the Parquet file is damaged: {reason}", file=str(path), hint="copy it again") from None
