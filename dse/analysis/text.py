"""The text at the end of a search, for an engineer to act on: computed, plain ASCII, no wider than its terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.analysis.drivers import drivers
from dse.analysis.front_table import (
    FULL_WIDTH,
    constant_phrases,
    front_table,
    left_out_lines,
    pick_rows,
)
from dse.analysis.labels import metric_label
from dse.analysis.trust import convergence
from dse.analysis.values import duration, listing, margined, plain_number, scale_for, wrapped
from dse.analysis.view import KNEE, Front

if TYPE_CHECKING:
    from dse.space import Space
    from dse.trial import Trial


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
        name: the study's name.
        folder: of the study.
        elapsed_s: wall-clock time of this search; None when the study is only looked at.
        statements: what the simulator says about its own accuracy here.
        report: path of report.html, if it was written.
        record: the command that opens the record in MLflow, if there is one.
        again: the command that continues the study, without `--trials` and `--resume`.
        wanted: designs asked for, if some are still missing.
    """

    name: str
    folder: str
    elapsed_s: float | None = None
    statements: tuple[str, ...] = ()
    report: str | None = None
    record: str | None = None
    again: str = ""
    wanted: int | None = None

    @property
    def typed(self) -> str:
        """How a user names the study in a command: by its name where that is enough, quoted for the shell."""
        return shlex.quote(self.name if self.folder == f"studies/{self.name}" else self.folder)


def header(space: Space, trials: Sequence[Trial], run: Run, status: int = 0) -> str:
    """First line: did it work, what did it cost."""
    feasible = sum(t.feasible for t in trials)
    failed = sum(t.state == "failed" for t in trials)
    spent = f" in {duration(run.elapsed_s)}" if run.elapsed_s is not None else ""
    counts = f"{feasible} feasible, {len(trials) - feasible - failed} infeasible, {failed} failed"
    ending = f"   (exit {status})" if status else ""
    of = f" of {run.wanted}" if run.wanted is not None else ""
    return f"{run.name}   {len(trials)}{of} design{'s' if len(trials) != 1 or of else ''}{spent}   {counts}{ending}"


def headed(space: Space, trials: Sequence[Trial], run: Run, width: int, status: int = 0) -> list[str]:
    """The first line, and why designs failed if some did."""
    lines = wrapped(header(space, trials, run, status), width, "   ")
    failed = [t for t in trials if t.state == "failed"]
    if failed:
        text = f"{len(failed)} failed, first: design {failed[0].number}: {failed[0].error or 'no reason was recorded'}"
        lines += wrapped(text, width, "   ")
    return lines


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


def table_text(front: Front, run: Run, *, width: int = FULL_WIDTH, every: bool = False) -> Text:
    """What was compared, the table, and what did not fit into it.

    Args:
        front: at least one design.
        run: facts about the run.
        width: columns of the terminal; sentences stay within 80.
        every: all rows instead of nine at most.
    """
    rows = list(front.designs) if every else pick_rows(front)
    table, left_out = front_table(front, rows, width)
    prose = min(width, FULL_WIDTH)
    lines = [*wrapped(compared(front), prose, ""), ""]
    marked = {len(lines) + table.knee_line} if table.knee_line is not None else set()
    lines += table.lines
    lines += _under_the_table(front, rows, run, prose)
    if constant_phrases(front):
        lines += wrapped(f" Same in all: {'; '.join(constant_phrases(front))}.", prose, "   ")
    for line in left_out_lines(front.designs, left_out):
        lines += wrapped(line, prose, "   ")
    return Text(tuple(lines), frozenset(marked))


def fronts_text(fronts: Sequence[Front], run: Run, *, width: int = FULL_WIDTH) -> Text:
    """For each front its table and what drives it; then how far to trust it, and the next commands."""
    prose = min(width, FULL_WIDTH)
    lines: list[str] = []
    marked: set[int] = set()
    for front in fronts:
        lines += [""] if lines else []
        table = table_text(front, run, width=width)
        marked |= {len(lines) + number for number in table.marked}
        lines += [*table.lines, "", "What drives it", *margined(drivers(front), prose)]
    lines += ["", "How far to trust it"]
    for statement in [*run.statements, convergence(fronts)]:
        lines += wrapped(f"  {statement}", prose, "  ")
    lines += ["", "Next", *commands(fronts[0], run, prose)]
    return Text(tuple(lines), frozenset(marked))


def _under_the_table(front: Front, rows: Sequence[Trial], run: Run, width: int) -> list[str]:
    more = len(front.designs) - len(rows)
    left = f" ... {more} more: dse front {run.typed} --all" if more else ""
    if front.knee is None:
        return [left] if left else []
    return [*([left] if left else []), *wrapped(f" * {KNEE}", width, "   ")]


def commands(front: Front, run: Run, width: int) -> list[str]:
    """Commands worth typing now, each copyable as it stands, with what it answers; without a front fewer."""
    pairs = []
    if front.designs:
        focus = front.knee or front.designs[0]
        if front.knee is not None:
            pairs.append((f"dse front {run.typed} --knee", f"why {focus.number}, and the steps up and down"))
        pairs.append((f'dse front {run.typed} --where "{_condition(front, focus)}"', ""))
        pairs.append((f"dse simulate {shlex.quote(f'{run.folder}/designs/{focus.number:03d}.yaml')} --explain", ""))
    if run.again:
        pairs.append((f"{run.again} --trials {2 * len(front.trials)} --resume", ""))
    if run.report:
        pairs.append((run.report, "figures"))
    if run.record:
        pairs.append((run.record, "the same in MLflow"))
    lines = []
    for command, why in pairs:
        line = f"  {command:<36} {why}".rstrip()
        lines += [line] if len(line) <= width else continued(command, width)
    return lines


def continued(command: str, width: int) -> list[str]:
    """A command over several lines, still copyable: broken before its options where it is too long."""
    words = command.split(" --")
    lines, line = [], f"  {words[0]}"
    for option in words[1:]:
        if len(line) + len(option) + 5 > width:
            lines.append(f"{line} \\")
            line = f"    --{option}"
        else:
            line += f" --{option}"
    return [*lines, line]


def _condition(front: Front, focus: Trial) -> str:
    """A condition worth trying: no dearer than the knee, with a limit that reads well and keeps it."""
    metric = front.cost
    value = front.value(focus, metric.key) or 0.0
    scale = scale_for(metric.unit, [value])
    step = 10.0 ** max(0, math.floor(math.log10(max(abs(value) / scale.divisor, 1))) - 1)
    toward = math.ceil if metric.direction == "min" else math.floor
    limit = plain_number(toward(value / scale.divisor / step) * step)
    unit = "" if metric.unit in ("USD", "count") else f" {scale.label}"
    return f"{metric.name} {'<=' if metric.direction == 'min' else '>='} {limit}{unit}"
