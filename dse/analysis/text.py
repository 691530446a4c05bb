"""The text at the end of a search, for a serving engineer to act on: plain ASCII, computed, no wider than its terminal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.analysis.drivers import Sentence, drivers
from dse.analysis.front_table import (
    FULL_WIDTH,
    constant_phrases,
    front_table,
    left_out_lines,
    pick_rows,
)
from dse.analysis.labels import metric_label
from dse.analysis.trust import trust
from dse.analysis.values import duration, listing, wrapped
from dse.analysis.view import Front

if TYPE_CHECKING:
    from dse.space import Space
    from dse.trial import Trial

MARGIN = 11
"""Where the sentences beside a label begin."""


@dataclass(frozen=True)
class Text:
    """Lines to print; `marked` are the numbers of those that deserve colour."""

    lines: tuple[str, ...]
    marked: frozenset[int] = frozenset()

    def __str__(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Run:
    """What the text says about the run besides its trials.

    Args:
        name: the study's name, as a user would type it.
        elapsed_s: wall-clock time of this search; None when the study is only looked at.
        statements: what the simulator says about its own accuracy here.
        report: path of report.html, if it was written.
        tracked: whether the search is recorded in MLflow.
    """

    name: str
    elapsed_s: float | None = None
    statements: tuple[str, ...] = ()
    report: str | None = None
    tracked: bool = False


def header(space: Space, trials: Sequence[Trial], run: Run) -> str:
    """First line: did it work, what did it cost."""
    feasible = sum(t.feasible for t in trials)
    failed = sum(t.state == "failed" for t in trials)
    spent = f" in {duration(run.elapsed_s)}" if run.elapsed_s is not None else ""
    counts = f"{feasible} feasible, {len(trials) - feasible - failed} infeasible, {failed} failed"
    return f"{run.name}   {len(trials)} design{'s' if len(trials) != 1 else ''}{spent}   {counts}"


def compared(front: Front) -> str:
    """Second line: what was compared over what."""
    names = [metric_label(m) for m in front.objectives]
    axes = f"{names[0]} against {listing(names[1:])}" if len(names) > 1 else f"Best {names[0]}"
    return f"{_members(front)}{axes}, {len(front.designs)} on the front."


def _members(front: Front) -> str:
    space = front.space
    if len(space.members) < 2:
        return ""
    if front.member is not None:
        return f"At {front.member}. "
    names = [m.name for m in space.members]
    heads = {name.partition("=")[0] for name in names}
    text = ", ".join(names)
    if len(heads) == 1 and all("=" in name for name in names):
        head = heads.pop()
        text = f"{head} {', '.join(name.partition('=')[2] for name in names)}{'/s' if head == 'request_rate' else ''}"
    how = "Worst" if space.combine == "worst" else "Mean"
    if len(text) > 40:
        text = f"{len(names)} members of the scenario set"
    return f"{how} of {text}. "


def front_text(front: Front, run: Run, *, width: int = FULL_WIDTH, every: bool = False) -> Text:
    """Table, what drives it, how far to trust it, next commands. `every`: all rows and nothing else."""
    rows = list(front.designs) if every else pick_rows(front)
    table, left_out = front_table(front, rows, width)
    prose = min(width, FULL_WIDTH)
    lines = [*wrapped(compared(front), prose, ""), ""]
    marked = {len(lines) + table.knee_line} if table.knee_line is not None else set()
    lines += table.lines
    lines += _under_the_table(front, rows, run)
    if constant_phrases(front):
        lines += wrapped(f" Same in all: {', '.join(constant_phrases(front))}.", prose, "   ")
    for line in left_out_lines(front.designs, left_out):
        lines += wrapped(line, prose, "   ")
    if not every:
        lines += ["", "What drives it", *margined(drivers(front), prose)]
        lines += ["", "How far to trust it"]
        for statement in trust(front, run.statements):
            lines += wrapped(f"  {statement}", prose, "  ")
        lines += ["", "Next", *commands(front, run, prose)]
    return Text(tuple(lines), frozenset(marked))


def _under_the_table(front: Front, rows: Sequence[Trial], run: Run) -> list[str]:
    more = len(front.designs) - len(rows)
    left = f" ... {more} more: dse front {shlex.quote(run.name)} --all" if more else ""
    if front.knee is None:
        return [left] if left else []
    right = f"* knee: most {metric_label(front.objectives[0])} gained per {front.cost.unit}"
    return [f"{left:<40}  {right}" if left else f" {right}"]


def commands(front: Front, run: Run, width: int) -> list[str]:
    """Commands worth typing now, each copyable as it stands, with what it answers."""
    name, focus = shlex.quote(run.name), front.knee or front.designs[0]
    budget = max(2 * len(front.trials), 20)
    pairs = []
    if front.knee is not None:
        pairs.append((f"dse front {name} --knee", f"why {focus.number}, and the steps up and down"))
    pairs.append((f"dse simulate studies/{run.name}/designs/{focus.number:03d}.yaml --explain", ""))
    pairs.append((f"dse search {shlex.quote(front.space.file or run.name)} --trials {budget} --resume", ""))
    if run.report:
        pairs.append((run.report, "figures"))
    if run.tracked:
        pairs.append(("dse ui", "the same in MLflow"))
    lines = []
    for command, why in pairs:
        line = f"  {command:<36} {why}".rstrip()
        lines.append(line if len(line) <= width else f"  {command}")
    return lines


def margined(sentences: Sequence[Sentence], width: int) -> list[str]:
    """Sentences with their labels in the margin; a label too long for it runs into its sentence."""
    lines: list[str] = []
    for label, sentence in sentences:
        head = f"  {label}"
        if len(head) + 2 <= MARGIN:
            lines += wrapped(f"{head:<{MARGIN}}{sentence}", width, " " * MARGIN)
        else:
            lines += wrapped(f"{head}: {sentence}", width, " " * MARGIN)
    return lines
