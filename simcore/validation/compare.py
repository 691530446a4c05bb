"""Runs the cases of every source and compares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.errors import InputError, did_you_mean
from simcore.plugins import find, names
from simcore.validation.case import Case, TraceFile, Value

SOURCES = "simcore.validation"
CONTRACT = ("SYSTEM", "SOURCE", "cases")
DEPTH = 3
"""Folders below the one given in which a trace is looked for."""
_PACKED = ("", ".zst", ".gz", ".xz")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A case with our side.

    Attributes:
        case: what was compared.
        system, source: of the case's module.
        ours: our value; None if it was skipped or could not be computed.
        error: as `Case.error`; None where ours is.
        skipped: why it was not computed.
        broken: what went wrong when it was computed.
    """

    case: Case
    system: str
    source: str
    ours: Value | None = None
    error: float | None = None
    skipped: str | None = None
    broken: str | None = None

    @property
    def passed(self) -> bool | None:
        """Whether ours is within the tolerance; None if it was skipped."""
        if self.skipped is not None:
            return None
        return self.error is not None and abs(self.error) <= self.case.tolerance

    @property
    def failed(self) -> bool:
        """Missed the tolerance, and is no known gap. What cannot be computed has failed even if it is one."""
        return self.passed is False and (self.case.known_gap is None or self.broken is not None)

    def as_dict(self) -> dict[str, Any]:
        """The row of `dse validate --json`."""
        case = self.case
        kind = "order" if isinstance(case.published, tuple) else "absolute" if case.absolute else "relative"
        return {
            "system": self.system,
            "quantity": case.quantity,
            "at": case.at,
            "unit": case.unit,
            "published": list(case.published) if isinstance(case.published, tuple) else case.published,
            "ours": list(self.ours) if isinstance(self.ours, tuple) else self.ours,
            "error": self.error,
            "error_kind": kind,
            "tolerance": case.tolerance,
            "pass": self.passed,
            "known_gap": case.known_gap is not None,
            "skipped": self.skipped is not None,
            "reason": self.skipped or self.broken or case.known_gap,
            "fitted_on": case.fitted_on,
            "source": self.source,
        }


def validation_cases(
    *, system: str | None = None, traces: Path | None = None, progress: Progress | None = None
) -> list[Compared]:
    """Every published quantity against ours, by system.

    Args:
        system: only this one; case does not matter. The name of a source's module does as well.
        traces: folder of public traces; rows that replay a trace which is not in it are skipped.
        progress: called with (cases done, cases in all).

    Raises:
        InputError: no such system, or no such folder.
    """
    if traces is not None and not traces.is_dir():
        raise InputError("must be a folder of traces", path="--traces", value=str(traces))
    rows = _rows(system)
    found = []
    for done, row in enumerate(rows):
        if progress is not None:
            progress(done, len(rows))
        found.append(_compared(row, traces))
    return found


def _rows(system: str | None) -> list[Compared]:
    modules = {name: find(SOURCES, name, CONTRACT) for name in names(SOURCES)}
    if system is not None:
        wanted = system.casefold()
        kept = {n: m for n, m in modules.items() if wanted in (n.casefold(), m.SYSTEM.casefold())}
        if not kept:
            known = sorted({m.SYSTEM for m in modules.values()} | set(modules))
            raise InputError("unknown system", path="--system", value=system, hint=did_you_mean(system, known))
        modules = kept
    rows = [
        Compared(case=case, system=module.SYSTEM, source=case.source or module.SOURCE)
        for module in modules.values()
        for case in module.cases()
    ]
    return sorted(rows, key=lambda row: row.system.casefold())


def _compared(row: Compared, traces: Path | None) -> Compared:
    case = row.case
    given: tuple[Path, ...] = ()
    if case.trace is not None:
        path = find_trace(case.trace, traces)
        if path is None:
            reason = f"needs trace {case.trace.names[0]} (--traces FOLDER), published as {case.trace.where}"
            return _with(row, skipped=reason)
        given = (path,)
    try:
        ours = case.ours(*given)
        error = case.error(ours)
    except Exception as failure:  # one broken row must not hide the others; it has failed
        return _with(row, broken=" ".join(f"{type(failure).__name__}: {failure}".split()))
    if not math.isfinite(error):
        return _with(row, ours=ours, broken="ours is no finite number")
    return _with(row, ours=ours if isinstance(ours, tuple) else float(ours), error=error)


def _with(row: Compared, **values: Any) -> Compared:
    return Compared(case=row.case, system=row.system, source=row.source, **values)


def find_trace(trace: TraceFile, folder: Path | None) -> Path | None:
    """The file of a trace in `folder` or up to three folders below; None if it is not there."""
    if folder is None:
        return None
    wanted = {name + suffix for name in trace.names for suffix in _PACKED}
    return next((path for path in _files(folder, DEPTH) if path.name in wanted), None)


def _files(folder: Path, depth: int) -> Iterator[Path]:
    inside = sorted(folder.iterdir())
    yield from (path for path in inside if path.is_file())
    if depth:
        for path in inside:
            if path.is_dir():
                yield from _files(path, depth - 1)
