"""Opening a trace file with the reader of its format."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError, SimcoreError
from simcore.plugins import find, names
from simcore.traces import _store
from simcore.traces.accesses import DTYPES, Accesses
from simcore.traces.blocks import block_accesses
from simcore.traces.columns import Columns
from simcore.traces.densify import Densifier
from simcore.traces.files import HEAD_BYTES, open_stream, raw_bytes
from simcore.traces.options import check_options, parameters
from simcore.traces.trace import Trace

FAMILY = "simcore.traces"
_CONTRACT = ("suffixes", "sniff")
_PACKED = (".gz", ".zst", ".xz")
_HASHED_BYTES = 1 << 22


def read_trace(
    path: str | Path,
    *,
    reader: str | None = None,
    granule_tokens: int | None = None,
    spread_ticks: bool = True,
    **options: Any,
) -> Trace:
    """Read a recorded trace of requests with prompts and answers.

    Args:
        path: the file; compression is recognised by content.
        reader: name of the format; None: found by content, then by suffix.
        granule_tokens: tokens that one id of the file covers; None: as the format defines.
        spread_ticks: spread arrivals that share a time stamp evenly over the recorder's tick, in formats that have ticks.
        options: further options of the format.

    Raises:
        InputError: unreadable file, unknown format, an option it does not have, a format without requests, or bad content.
    """
    module = format_of(path, reader)
    if not hasattr(module, "read"):
        others = ", ".join(name for name in names(FAMILY) if hasattr(find(FAMILY, name, _CONTRACT), "read"))
        rule = f"the format {_name(module)} holds references to objects, not requests with prompts and answers"
        raise InputError(rule, file=str(path), hint=f"formats of requests: {others}")
    known = parameters(module)
    if "granule_tokens" in known or granule_tokens is not None:
        options["granule_tokens"] = granule_tokens
    if "spread_ticks" in known or not spread_ticks:
        options["spread_ticks"] = spread_ticks
    return _read_requests(module, path, options)


def read_accesses(path: str | Path, *, reader: str | None = None, block_size: int | None = None, **options: Any) -> Accesses:
    """Read a trace of any format as references to objects. The result is kept on disk and mapped into memory (`_store`).

    Prompts become prefix chains of KV blocks (`block_accesses`).

    Args:
        path: the file; compression is recognised by content.
        reader: name of the format; None: found by content, then by suffix.
        block_size: of traces of requests: tokens of a block; None: as the trace records them.
        options: options of the format.

    Raises:
        InputError: unreadable file, unknown format, an option it does not have, or bad content.
    """
    module = format_of(path, reader)
    requests = hasattr(module, "read")
    check_options(module, options)
    if block_size is not None and not requests:
        raise InputError(f"the format {_name(module)} has no prompts to cut into blocks", path="block_size", value=block_size)
    what = [file_sha256(path), _name(module), _sources(module), block_size, options]
    key = hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()
    entry = hashlib.sha256(f"{key} ".encode() + os.fsencode(Path(path).name)).hexdigest()  # `source` tells the name
    found = _store.stored(entry)
    if found is not None:
        return found
    if requests:
        accesses = block_accesses(_read_requests(module, path, options), block_size)
        return _store.kept(entry, lambda open_column: _all_at_once(accesses, key, open_column))
    source = f"{_name(module)} trace {Path(path).name}"
    return _store.kept(
        entry,
        lambda open_column: {**_streamed(module.chunks(path, **options), path, open_column), "source": source, "key": key},
    )


def reader_of(path: str | Path) -> ModuleType:
    """The reader module for a file: of those that recognise the content, the one that also claims the longest suffix.

    If none does, the only one that claims the suffix.

    Raises:
        InputError: no reader, or several; a file that cannot be read at all.
    """
    modules = [find(FAMILY, name, _CONTRACT) for name in names(FAMILY)]
    claim = {module.__name__: _claimed(module, str(path)) for module in modules}
    recognising = [module for module in modules if module.sniff(path)]
    if recognising:
        longest = max(claim[module.__name__] for module in recognising)
        best = [module for module in recognising if claim[module.__name__] == longest]
        if len(best) > 1:
            several = ", ".join(map(_name, best))
            raise InputError(f"may be of several formats: {several}", file=str(path), hint="name one with reader: NAME")
        return best[0]
    with open_stream(path) as stream:  # a damaged file is told as such
        if not stream.read(HEAD_BYTES).strip():
            raise InputError("holds nothing but blanks", file=str(path))
    claiming = [module for module in modules if claim[module.__name__]]
    if len(claiming) == 1:
        return claiming[0]  # its errors say what is wrong with the content
    hint = f"name one with reader: NAME, of {', '.join(map(_name, claiming or modules))}"
    raise InputError("no reader recognises this trace", file=str(path), hint=hint)


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file as it lies on disk; read again only when its size or time of change differs.

    Raises:
        InputError: missing, a folder, unreadable or empty.
    """
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return _sha256(path, 0, 0)  # says what is wrong
    return _sha256(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _sha256(path: str | Path, size: int, mtime_ns: int) -> str:
    raw_bytes(path, limit=1)
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while piece := stream.read(_HASHED_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def format_of(path: str | Path, reader: str | None) -> ModuleType:
    """The reader module called `reader`; None: `reader_of` the file.

    Raises:
        InputError: no such reader, or as `reader_of`.
    """
    module = find(FAMILY, reader, _CONTRACT) if reader is not None else reader_of(path)
    if not (hasattr(module, "read") or hasattr(module, "chunks")):
        raise SimcoreError(f"{module.__name__} must define read or chunks to be a member of traces")
    return module


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _claimed(module: ModuleType, file: str) -> int:
    """Length of the longest of the module's suffixes that the file's name ends in, compression aside."""
    plain = _without_packing(file)
    return max((len(s) for s in map(_without_packing, module.suffixes) if plain.endswith(s)), default=0)


def _without_packing(name: str) -> str:
    for suffix in _PACKED:
        name = name.removesuffix(suffix)
    return name


def _read_requests(module: ModuleType, path: str | Path, options: dict[str, Any]) -> Trace:
    check_options(module, options)
    trace: Trace = module.read(path, **options)
    return trace


@lru_cache(maxsize=64)
def _sources(module: ModuleType) -> str:
    """Hash of every source that a reader's result may depend on."""
    digest = hashlib.sha256()
    for source in (*sorted(Path(__file__).parent.rglob("*.py")), module.__file__):
        with suppress(OSError, TypeError):  # installed in a form without source files
            digest.update(Path(source or "").read_bytes())
    return digest.hexdigest()


def _all_at_once(accesses: Accesses, key: str, open_column: Callable[[str], _store.Column]) -> dict[str, Any]:
    for name in DTYPES:
        if (column := getattr(accesses, name)) is not None:
            open_column(name).append(column)
    return {"n_objects": accesses.n_objects, "chain": accesses.chain, "source": accesses.source, "key": key}


def _streamed(chunks: Iterator[Columns], path: str | Path, open_column: Callable[[str], _store.Column]) -> dict[str, Any]:
    """Write the columns of a reader's chunks, objects numbered by first appearance."""
    numbers = Densifier()
    columns: dict[str, _store.Column] = {}
    n, request = 0, -1
    for chunk in chunks:
        if not len(chunk.keys):
            continue
        given = {"sizes": chunk.sizes, "category": chunk.category, "time_s": chunk.time_s}
        values: dict[str, NDArray[Any]] = {name: column for name, column in given.items() if column is not None}
        try:
            values["ids"] = numbers.add(chunk.keys)
        except InputError as error:
            raise error.within(file=str(path)) from None
        if chunk.request is not None:
            before = np.concatenate(([request], chunk.request[:-1]))
            if (chunk.request < before).any():
                raise SimcoreError("the numbers of requests that a reader gives must not fall")
            values["request_start"] = np.flatnonzero(chunk.request > before) + n
            request = int(chunk.request[-1])
        if not columns:
            columns = {name: open_column(name) for name in values}
        if columns.keys() != values.keys():
            raise SimcoreError("a reader must give the same columns in every chunk")
        for name, column in columns.items():
            column.append(values[name])
        n += len(chunk.keys)
    if not n:
        raise InputError("holds no access", file=str(path))
    if "request_start" in columns:
        columns["request_start"].append(np.array([n]))
    return {"n_objects": len(numbers), "chain": False}
