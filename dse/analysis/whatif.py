"""Why the knee is the knee, what the steps up and down from it cost, and what single changes to it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.analysis.drivers import better_word, gain, scale_of
from dse.analysis.labels import column_name, exact_text, metric_label
from dse.analysis.table import Column, render
from dse.analysis.values import wrapped
from dse.analysis.view import Front
from simcore.units import format_value

if TYPE_CHECKING:
    from dse.trial import Trial

SINGLE_CHANGES = 8


@dataclass(frozen=True)
class Step:
    """Another design held against a reference: what differs, and by how much each objective moves (in base units)."""

    trial: Trial
    changes: tuple[tuple[str, str, str], ...]
    """(path, value in the reference, value here), with units."""
    moves: tuple[float, ...]


def step(front: Front, reference: Trial, trial: Trial) -> Step:
    """How `trial` differs from `reference`."""
    changes = []
    for dimension in front.space.dimensions:
        ours, theirs = (t.point.get(dimension.path) for t in (reference, trial))
        # What is inactive on one side follows from another change, which is listed.
        if ours != theirs and ours is not None and theirs is not None:
            changes.append((dimension.path, exact_text(ours, dimension.unit), exact_text(theirs, dimension.unit)))
    moves = tuple((front.value(trial, m.key) or 0.0) - (front.value(reference, m.key) or 0.0) for m in front.objectives)
    return Step(trial, tuple(changes), moves)


def neighbours(front: Front, reference: Trial) -> list[Step]:
    """Up to two designs of the front on each side of `reference`."""
    at = front.designs.index(reference)
    beside = [*front.designs[max(0, at - 2) : at], *front.designs[at + 1 : at + 3]]
    return [step(front, reference, t) for t in beside]


def single_changes(front: Front, reference: Trial) -> list[Step]:
    """Feasible designs of the study that differ from `reference` in one dimension only, best first objective first."""
    steps = [step(front, reference, t) for t in front.feasible if t is not reference]
    single = [s for s in steps if len(s.changes) == 1]
    return sorted(single, key=lambda s: (-gain(front, reference, s.trial, front.objectives[0]), s.trial.number))


def why(front: Front) -> str:
    """The knee's share of what the whole front gains, against its share of what the whole front costs."""
    knee, first, last = front.knee, front.designs[0], front.designs[-1]
    assert knee is not None
    target, cost = front.objectives[0], front.cost
    got, most = gain(front, first, knee, target), gain(front, first, last, target)
    spent, whole = -gain(front, first, knee, cost), -gain(front, first, last, cost)
    scale, money = scale_of(front, target), scale_of(front, cost)
    if len(front.objectives) != 2 or most <= 0 or whole <= 0:
        return f"Design {knee.number} has the smallest sum of all objectives, each scaled to the front's range."
    ends = [f"{scale.text(front.value(t, target.key))}, {money.text(front.value(t, cost.key))}" for t in (first, last)]
    text = (
        f"From design {first.number} ({ends[0]}) to design {last.number} ({ends[1]}), design {knee.number} takes "
        f"{100 * got / most:.0f} % of the {metric_label(target)} to be gained for {100 * spent / whole:.0f} % of the "
        f"{metric_label(cost)} to be added"
    )
    rates = []
    if spent > 0 and whole > spent:
        for bought, paid in ((got, spent), (most - got, whole - spent)):
            rates.append(format_value(bought / (paid / money.divisor), target.unit))
        unit = money.label or cost.name
        text += f": {rates[0]} {better_word(target)} per {unit} up to it, {rates[1]} per {unit} beyond"
    return text + "."


def step_lines(front: Front, steps: list[Step], reference: Trial, width: int) -> list[str]:
    """A table: design, how each objective moves, and in the rest of the width what changed."""
    if not steps:
        return []
    columns = [Column("design", "", tuple(str(s.trial.number) for s in steps))]
    for i, metric in enumerate(front.objectives):
        scale = scale_of(front, metric)
        moves = tuple(f"{'+' if s.moves[i] >= 0 else '-'}{scale.text(abs(s.moves[i]))}" for s in steps)
        columns.append(Column(metric_label(metric), "", moves))
    head, *rows = render(columns)
    lines = [f"{head}  changed against {reference.number}"]
    for row, s in zip(rows, steps, strict=True):
        changes = "; ".join(_change(*change) for change in s.changes)
        lines += wrapped(f"{row}  {changes}", width, " " * (len(row) + 2))
    return lines


def _change(path: str, before: str, after: str) -> str:
    """ "pool 7 -> 6 GiB": the unit once if it is the same."""
    amounts = [text.rpartition(" ") for text in (before, after)]
    if amounts[0][0] and amounts[0][2] == amounts[1][2]:
        before = amounts[0][0]
    return f"{column_name(path)} {before} -> {after}"
