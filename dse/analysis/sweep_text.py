"""A sweep as a text: a table for each line, and its knee, cliff and largest load in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dse.analysis.labels import metric_label
from dse.analysis.sweep import CLIFF, Line, Sweep
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import Scale, percent, plain_number, scale_for, wrapped
from simcore import find_metric
from simcore.units import format_value

TABLE = (
    *(("TTFT", s, f"ttft_{s}_s") for s in ("mean", "p90", "p99")),
    ("TPOT", "p99", "tpot_p99_s"),
    ("E2E", "mean", "e2e_mean_s"),
    ("output", "tokens/s", "throughput_tokens_per_s"),
    ("hit", "%", "hit_ratio"),
    ("load", "%", "utilisation"),
)
DROPPED = (TABLE[4], TABLE[1], TABLE[5], TABLE[3])
"""What is left out first where there is no room."""
WIDE = (
    ("TTFT", "p50", "ttft_p50_s"),
    ("TPOT", "mean", "tpot_mean_s"),
    ("E2E", "p99", "e2e_p99_s"),
    ("goodput", "/s", "goodput_rps"),
    ("preempted", "times", "preemptions"),
)


def sweep_lines(sweep: Sweep, width: int, prose: int) -> list[str]:
    """All lines: each its table and sentences; then how knee and cliff are found."""
    lines: list[str] = []
    for line in sweep.lines:
        lines += ["", *([f"{sweep.axes[1].path} = {line.name}"] if line.name is not None else []), *table(sweep, line, width)]
        lines += [text for said in findings(sweep, line) for text in wrapped(f"  {said}", prose, "    ")]
    words = f"{sweep.knee_method}. Cliff of {metric_label(find_metric(sweep.metric))}: {CLIFF}."
    lines += ["", *wrapped(f"{words} Load: % of the sustainable rate; *: saturated.", prose)]
    for note in sweep.notes:
        lines += wrapped(note, prose)
    return lines


def table(sweep: Sweep, line: Line, width: int) -> list[str]:
    """A row a point, with as many columns as fit into `width`."""
    marks = [_mark(sweep, line, i) for i in range(len(line.points))]
    fixed = [Column(sweep.axes[0].path.rpartition(".")[2], "", sweep.axes[0].texts)]
    end = [Column("", "", tuple(marks), "left")]
    found = {given: c for given in TABLE if (c := _column(sweep, line, *given)) is not None}
    for given in DROPPED:
        if given in found and table_width([*fixed, *found.values(), *end]) > width:
            del found[given]
    shown = list(found.values())
    for given in WIDE:
        column = _column(sweep, line, *given)
        if column is not None and table_width([*fixed, *shown, column, *end]) <= width:
            place = max((i for i, c in enumerate(shown) if c.group == column.group), default=len(shown) - 1) + 1
            shown.insert(place, column)
    return render([*fixed, *shown, *end])


def _column(sweep: Sweep, line: Line, head: str, sub: str, key: str) -> Column | None:
    values = sweep.series(line, key)
    if all(v is None for v in values):
        return None
    unit = find_metric(key).unit
    saturated = sweep.series(line, "saturated")
    if unit == "ratio":
        flags = ["*" if key == "utilisation" and s else "" for s in saturated]
        return Column(head, sub, tuple(percent(v) + flag for v, flag in zip(values, flags, strict=True)))
    if unit == "s":
        scale = _seconds([v for line in sweep.lines for name, _, other in (*TABLE, *WIDE) if name == head
                          for v in sweep.series(line, other)])  # fmt: skip
        return Column("", sub, tuple(scale.number(v) for v in values), group=f"{head} {scale.label}")
    return Column(head, sub, tuple("?" if v is None else plain_number(v if v < 10 else round(v)) for v in values))


def _seconds(values: Sequence[float | None]) -> Scale:
    """One scale for a latency in all its columns and lines, so that they compare at a glance."""
    largest = max((v for v in values if v is not None), default=0.0)
    return Scale("s", 1.0, 2 if largest < 100 else 1) if largest >= 1 else scale_for("s", [largest])


def _mark(sweep: Sweep, line: Line, i: int) -> str:
    marks = []
    if sweep.knee(line) == i:
        marks.append("knee")
    at = sweep.cliff(line)
    if at is not None and i in (at, at + 1):
        marks.append("cliff")
    return ", ".join(marks)


def findings(sweep: Sweep, line: Line) -> list[str]:
    """Knee, cliff and largest load, with their figures."""
    metric = find_metric(sweep.metric)
    label, path = metric_label(metric), sweep.axes[0].path.rpartition(".")[2]
    value: Callable[[int], str] = lambda i: format_value(line.points[i].metrics.get(sweep.metric), metric.unit)  # noqa: E731
    said = []
    i = sweep.knee(line)
    if i is not None:
        said.append(f"Knee at {path} {line.points[i].values[0]}: {label} {value(i)}.")
    elif sweep.axes[0].numbers is not None:
        said.append("No knee between the ends.")
    i = sweep.cliff(line)
    if i is not None:
        steps = [line.points[k].values[0] for k in (i, i + 1)]
        said.append(f"Cliff between {path} {steps[0]} and {steps[1]}: {label} {value(i)} and {value(i + 1)}.")
    if line.slo is not None:
        said.append(_slo(line, path))
    return said


def _slo(line: Line, path: str) -> str:
    slo = line.slo
    assert slo is not None
    whom = f"{plain_number(100 * slo.share)} % of requests meet the SLO"
    if slo.value is None:
        return f"Already at the smallest {path} fewer than {whom}."
    if slo.open_end:
        return f"{whom} at every {path} of the sweep, up to {plain_number(slo.value)}."
    tried = f"; bisected to 1 % by {slo.tried} more simulations" if slo.tried else ""
    return f"Largest {path} at which {whom}: {plain_number(slo.value)}{tried}."
