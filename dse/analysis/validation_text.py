"""Published quantities against ours as a table: one line a quantity, by system."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

from dse.analysis.values import wrapped
from simcore import Compared

STATES = ("passed", "gap", "failed", "skipped")
MARKS = {"passed": " ", "gap": "~", "failed": "!", "skipped": "-"}
HEADS = ("published", "ours", "error", "allowed")
FITTED = "*"
GAP = "  "
NARROWEST = 20
ROUNDING = 1e-9
"""An error that is no more than the rounding of floating-point numbers is printed as none."""


@dataclass(frozen=True)
class _Line:
    """A line of the table: what is compared, and the cells beside it."""

    row: Compared | None
    words: str
    cells: tuple[str, ...]


def validation_text(rows: Sequence[Compared], width: int, *, every: bool = False) -> list[str]:
    """The table, what is open, and the summary, in lines of at most `width`.

    Args:
        rows: by system.
        every: each point, with its source, in place of the worst one of its quantity.
    """
    lines = [_Line(row, words, _cells(row)) for row, words in (_points(rows) if every else _worst(rows))]
    widths = [max(len(line.cells[i]) for line in [_HEAD, *lines]) for i in range(len(HEADS))]
    room = max(NARROWEST, width - 3 - sum(len(GAP) + w for w in widths))
    head = _HEAD_OF_ALL if every else _HEAD
    room = min(room, max(len(line.words) for line in [head, *lines]))
    text = _drawn(head, room, widths)
    for system, group in groupby(lines, key=lambda line: line.row.system if line.row else ""):
        members = list(group)
        sources = dict.fromkeys(line.row.source for line in members if line.row)
        text += ["", *wrapped(f"{system}: {'; '.join(sources)}", width, "   ")]
        text += [part for line in members for part in _drawn(line, room, widths)]
    return [*text, "", *_notes(rows, width, every=every), *wrapped(_summary(rows), width)]


def counts(rows: Sequence[Compared]) -> dict[str, int]:
    """How many values are in which state, and how many quantities there are."""
    states = [state(row) for row in rows]
    number = {f"{name}": states.count(name) for name in STATES}
    gaps = number.pop("gap")
    return {"quantities": len(list(_quantities(rows))), "values": len(rows), "known_gaps": gaps, **number}


def state(row: Compared) -> str:
    """One of STATES. A known gap that is within its tolerance has passed."""
    if row.skipped is not None:
        return "skipped"
    return "passed" if row.passed else "failed" if row.failed else "gap"


def _quantities(rows: Sequence[Compared]) -> Iterator[list[Compared]]:
    for _, group in groupby(rows, key=lambda row: (row.system, row.case.quantity, row.case.unit)):
        yield list(group)


def _worst(rows: Sequence[Compared]) -> Iterator[tuple[Compared, str]]:
    for group in _quantities(rows):
        shown = max(group, key=_distance)
        many = f" ({len(group)})" if len(group) > 1 else ""
        yield shown, _named(shown) + many


def _points(rows: Sequence[Compared]) -> Iterator[tuple[Compared, str]]:
    for row in rows:
        yield row, _named(row) + (f", {row.case.at}" if row.case.at else "")


def _named(row: Compared) -> str:
    return row.case.quantity + (f", {row.case.unit}" if row.case.unit else "")


def _distance(row: Compared) -> tuple[int, float]:
    """How much a point deserves to be the one that is shown."""
    order = ("passed", "skipped", "gap", "failed")
    error = abs(row.error or 0.0)
    return order.index(state(row)), error / row.case.tolerance if row.case.tolerance else error


def _cells(row: Compared) -> tuple[str, ...]:
    case = row.case
    if isinstance(case.published, tuple):
        same = "-" if row.error is None else "same" if row.error == 0 else "other"
        error = "-" if row.error is None else f"{100 * row.error:.0f} %"
        return "order", same, error, f"{100 * case.tolerance:.0f} %"
    digits = _decimals(case.published)
    ours = "-" if row.ours is None or isinstance(row.ours, tuple) else f"{row.ours:,.{_decimals_of_ours(row, digits)}f}"
    return f"{case.published:,.{digits}f}", ours, _error(row), _tolerance(row)


def _error(row: Compared) -> str:
    if row.error is None:
        return "-"
    fitted = FITTED if row.case.fitted_on else ""
    if abs(row.error) < ROUNDING:
        return "0" + fitted
    return (f"{row.error:+.2g}" if row.case.absolute else f"{100 * row.error:+.{1 if abs(row.error) < 0.1 else 0}f} %") + fitted


def _tolerance(row: Compared) -> str:
    tolerance = row.case.tolerance
    if tolerance == 0:
        return "0"
    return f"{tolerance:.2g}" if row.case.absolute else f"{100 * tolerance:.2g} %"


def _decimals(value: float) -> int:
    text = f"{value:.10f}".rstrip("0")
    return len(text) - text.index(".") - 1


def _decimals_of_ours(row: Compared, digits: int) -> int:
    """One more than published, or enough for an error in percent to show; none more where ours must be equal."""
    assert isinstance(row.ours, float)
    if row.case.tolerance == 0:
        return digits
    if row.case.absolute or row.ours == 0:
        return digits + 1
    return max(digits, 3 - math.floor(math.log10(abs(row.ours))), 0)


_HEAD = _Line(None, "(n): the worst of n points", HEADS)
_HEAD_OF_ALL = _Line(None, "", HEADS)


def _drawn(line: _Line, room: int, widths: Sequence[int]) -> list[str]:
    words = wrap(line.words, room) or [""]
    mark = " " if line.row is None else MARKS[state(line.row)]
    cells = GAP.join(cell.rjust(width) for cell, width in zip(line.cells, widths, strict=True))
    first = f" {mark} {words[0]:<{room}}{GAP}{cells}".rstrip()
    return [first, *(f"     {more}" for more in words[1:])]


def _notes(rows: Sequence[Compared], width: int, *, every: bool) -> list[str]:
    """Reasons of what is not within its tolerance, and what was fitted on what."""
    notes: list[str] = []
    for name, label in (("failed", "Failed"), ("gap", "Known gap"), ("skipped", "Skipped")):
        reasons: dict[str, list[str]] = {}
        for row in rows:
            if state(row) == name:
                reasons.setdefault(row.skipped or row.broken or row.case.known_gap or "outside its tolerance", []).append(
                    f"{row.system}, {row.case.quantity}" + (f", {row.case.at}" if row.case.at and name == "failed" else "")
                )
        for reason, where in reasons.items():
            named = "; ".join(dict.fromkeys(where))
            notes += wrapped(f" {MARKS[name]} {label}: {named}: {reason}", width, "   ")
    fitted = dict.fromkeys(row.case.fitted_on for row in rows if row.case.fitted_on)
    if fitted:
        notes += wrapped(f" {FITTED} our constants were fitted to {'; '.join(str(f) for f in fitted)}", width, "   ")
    if not every and any(len(group) > 1 for group in _quantities(rows)):
        notes += wrapped("   Every point: dse validate --all; with the source of each: --json", width, "   ")
    return [*notes, ""] if notes else []


def _summary(rows: Sequence[Compared]) -> str:
    number = counts(rows)
    gaps = f"{number['known_gaps']} known gap" + ("" if number["known_gaps"] == 1 else "s")
    return (
        f"{number['quantities']} quantities, {number['values']} values: {number['passed']} within tolerance, {gaps}, "
        f"{number['failed']} failed, {number['skipped']} skipped."
    )
