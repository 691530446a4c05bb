"""A trace file in numbers, all but the distances of reuse, which are the replay engine's to find."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from simcore.plugins import find
from simcore.traces.accesses import Accesses
from simcore.traces.blocks import block_accesses
from simcore.traces.describe.arrivals import describe_arrivals, evenly_spaced
from simcore.traces.describe.popularity import describe_popularity
from simcore.traces.describe.references import access_counts, describe_categories, describe_reuse, describe_sizes
from simcore.traces.describe.requests import describe_lengths, describe_prefixes, describe_sessions
from simcore.traces.files import compression
from simcore.traces.load import FAMILY, read_accesses, read_trace, reader_of
from simcore.traces.options import format_options, parse_options
from simcore.traces.trace import Trace

NO_PROMPTS = "the format holds references to objects, not prompts and answers"
NO_TIMES = "the trace has no times"
EVEN = "arrivals are evenly spaced, made from the option rate and not recorded"
LOCAL = "times count from the start of a session; when sessions start is made from the option start_gap_s and not recorded"


class Opened(NamedTuple):
    """A trace that was read: its requests, where the format has prompts and answers, and its accesses."""

    about: dict[str, Any]
    trace: Trace | None
    accesses: Accesses


def opened(path: str | Path, reader: str | None, options: Iterable[str]) -> Opened:
    """Read a trace of any format. Times stay as recorded, also where a simulation would spread them over ticks.

    Args:
        reader: name of the format; None: found.
        options: texts key=value.

    Raises:
        InputError: as `simcore.traces.load` and `simcore.traces.options.parse_options`.
    """
    module = reader_of(path) if reader is None else find(FAMILY, reader, ("suffixes", "sniff"))
    given = parse_options(module, options)
    known = format_options(module)
    if "spread_ticks" in known:
        given.setdefault("spread_ticks", False)
    name = module.__name__.rpartition(".")[2]
    trace = read_trace(path, reader=reader_name(module, reader), **given) if hasattr(module, "read") else None
    accesses = (
        read_accesses(path, reader=reader_name(module, reader), **given) if trace is None else block_accesses(trace, None)
    )
    about = {
        "reader": name,
        "found_by": "name" if reader is not None else "content" if module.sniff(path) else "suffix",
        "options": {**known, **given},
        "compression": compression(path),
        "file_bytes": _size(Path(path)),
    }
    return Opened(about, trace, accesses)


def reader_name(module: ModuleType, reader: str | None) -> str:
    """The name that finds a reader again, which an entry point may have chosen."""
    return module.__name__.rpartition(".")[2] if reader is None else reader


def contents(found: Opened) -> dict[str, Any]:
    """The numbers of a trace by section; a section that cannot be computed is a text that says why."""
    trace, accesses = found.trace, found.accesses
    counts = access_counts(accesses)
    reuse = describe_reuse(accesses, counts)
    recurs = not isinstance(reuse, str)
    if isinstance(reuse, dict) and trace is not None:
        reuse |= describe_prefixes(trace)
    return {
        "arrivals": _arrivals(found),
        "lengths": NO_PROMPTS if trace is None else describe_lengths(trace, blocks=recurs),
        "sessions": NO_PROMPTS if trace is None else describe_sessions(trace),
        "reuse": reuse,
        "sizes": describe_sizes(accesses),
        "categories": describe_categories(accesses) if recurs else reuse,
        "popularity": describe_popularity(counts) if recurs else reuse,
    }


def _arrivals(found: Opened) -> dict[str, Any] | str:
    """Of requests that wait for others the times are not when they arrive: the others count."""
    trace, accesses, options = found.trace, found.accesses, found.about["options"]
    if "start_gap_s" in options:
        return LOCAL
    if trace is not None:
        times_s = trace.arrival_s[trace.after < 0]
        if "rate" in options and evenly_spaced(times_s):
            return EVEN
    elif accesses.time_s is None:
        return NO_TIMES
    else:
        start = accesses.request_start
        first = accesses.time_s if start is None else accesses.time_s[start[:-1][np.diff(start) > 0]]
        times_s = np.sort(first)
    return describe_arrivals(times_s)


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [inside for inside in path.rglob("*") if inside.is_file()]
    return sum(file.stat().st_size for file in files)
