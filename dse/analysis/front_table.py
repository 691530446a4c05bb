"""The front as a table that fits its terminal.

Columns: design number, objectives, the searched dimensions that differ along the front, and where prompt tokens come
from. When that is too wide, what is given up, in this order: long words; below 80 columns the token shares; words that
hardly differ, most uniform first; the token shares once two dimensions are left; other words, last first; the token
shares; the remaining dimensions, last first. Dimensions for which there is room after all come back, those that differ
most first. What was given up is said under the table. Objectives always stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.analysis.labels import (
    INACTIVE,
    abbreviate,
    amount,
    column_name,
    dimension_scale,
    exact_text,
    heading,
    in_tiers,
    metric_label,
    phrase,
    value_text,
    word,
)
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import percent, scale_for
from dse.analysis.view import Front

if TYPE_CHECKING:
    from dse.space import Dimension
    from dse.trial import Trial

FULL_WIDTH = 80
MAX_ROWS = 9
NEARLY_ALL = 0.6
"""A dimension with one value on this share of the rows is said in a line rather than shown, when space is short."""


@dataclass(frozen=True)
class Table:
    """Lines of a table and which of them is the knee's (None: none)."""

    lines: tuple[str, ...]
    knee_line: int | None


def pick_rows(front: Front, limit: int = MAX_ROWS) -> list[Trial]:
    """At most `limit` designs: both ends, the knee, and the rest spread evenly over the front."""
    designs = list(front.designs)
    if len(designs) <= limit:
        return designs
    last = len(designs) - 1
    forced = {0, last} | ({designs.index(front.knee)} if front.knee is not None else set())
    chosen = sorted(forced | {round(i * last / (limit - 1)) for i in range(limit)})
    while len(chosen) > limit:
        inner = [i for i in range(1, len(chosen) - 1) if chosen[i] not in forced]
        chosen.pop(min(inner, key=lambda i: chosen[i + 1] - chosen[i - 1]))
    return [designs[i] for i in chosen]


def number_column(rows: Sequence[Trial], knee: Trial | None) -> Column:
    """Design numbers, the knee marked with a star."""
    return Column("design", "", tuple(f"{'*' if t is knee else ''}{t.number}" for t in rows))


def objective_columns(front: Front, rows: Sequence[Trial]) -> list[Column]:
    """One column per objective, in the unit that suits all its values."""
    columns = []
    for metric in front.objectives:
        values = [front.value(t, metric.key) for t in rows]
        scale = scale_for(metric.unit, values)
        columns.append(Column(metric_label(metric), scale.label, tuple(scale.number(v) for v in values)))
    return columns


def dimension_column(dimension: Dimension, rows: Sequence[Trial], *, short: bool) -> Column:
    """One searched dimension; `short` abbreviates its words."""
    values = [t.point.get(dimension.path) for t in rows]
    scale = dimension_scale(dimension, values)
    cells = [value_text(v, scale) for v in values]
    head, sub = heading(dimension.path, scale.label if scale else "")
    if short:
        cells = abbreviate(cells)
    return Column(head, sub, tuple(cells), "right" if scale else "left")


def share_columns(front: Front, rows: Sequence[Trial]) -> list[Column]:
    """Where prompt tokens come from, one column per tier and one for what is computed."""
    shares = [front.shares(t) for t in rows]
    if not shares or not all(shares):
        return []
    columns = []
    for source in (s for s in (*front.tiers, "prefill") if any(s in found for found in shares)):
        here = [not _absent(t, source) and source in found for t, found in zip(rows, shares, strict=True)]
        cells = [percent(found[source]) if is_here else INACTIVE for is_here, found in zip(here, shares, strict=True)]
        columns.append(Column("", word(source), tuple(cells), group="prompt tokens from (%)"))
    return columns


def _absent(trial: Trial, tier: str) -> bool:
    return amount(trial.point.get(f"tiers.{tier}.capacity", 1)) == 0


@dataclass
class _Layout:
    front: Front
    rows: Sequence[Trial]
    dimensions: list[Dimension]
    last: Column | None = None
    shares: bool = True
    short: bool = False

    def columns(self) -> list[Column]:
        columns = [number_column(self.rows, self.front.knee), *objective_columns(self.front, self.rows)]
        columns += [dimension_column(d, self.rows, short=self.short) for d in self.dimensions]
        columns += share_columns(self.front, self.rows) if self.shares else []
        return [*columns, self.last] if self.last is not None else columns

    def show(self, dimension: Dimension) -> None:
        """Put a dimension back in its place."""
        self.dimensions.append(dimension)
        self.dimensions.sort(key=self.front.space.dimensions.index)

    def set_aside(self) -> list[Dimension]:
        """Dimensions that differ and are not in the table."""
        return [d for d in differing(self.front, self.rows) if d not in self.dimensions]

    def uniformity(self, dimension: Dimension) -> float:
        return most_common(dimension, self.rows)[1] / len(self.rows)

    def give_up(self, width: int) -> bool:
        """Take the next step of the documented order; False when only the objectives are left."""
        words = [d for d in self.dimensions if dimension_scale(d, [t.point.get(d.path) for t in self.rows]) is None]
        uniform = max(words, key=self.uniformity, default=None)
        if not self.short:
            self.short = True
        elif self.shares and width < FULL_WIDTH:
            self.shares = False
        elif uniform is not None and self.uniformity(uniform) >= NEARLY_ALL:
            self.dimensions.remove(uniform)
        elif self.shares and len(self.dimensions) <= 2:
            self.shares = False
        elif words:
            self.dimensions.remove(words[-1])
        elif self.shares:
            self.shares = False
        elif self.dimensions:
            self.dimensions.pop()
        else:
            return False
        return True


def differing(front: Front, rows: Sequence[Trial]) -> tuple[Dimension, ...]:
    """Dimensions that differ along the front; among `rows` when there is no front."""
    if front.designs:
        return front.varying
    return tuple(d for d in front.space.dimensions if len({repr(t.point.get(d.path)) for t in rows}) > 1)


def most_common(dimension: Dimension, rows: Sequence[Trial]) -> tuple[str, int]:
    """The value most rows have, as text with its unit, and how many have it."""
    texts = [exact_text(t.point.get(dimension.path), dimension.unit) for t in rows]
    return Counter(texts).most_common(1)[0]


def front_table(
    front: Front, rows: Sequence[Trial], width: int = FULL_WIDTH, last: Column | None = None
) -> tuple[Table, list[Dimension]]:
    """The table of `rows` within `width` columns, and the dimensions that had to be left out.

    With a `last` column of one's own, the token shares are left out.
    """
    layout = _Layout(front, rows, list(differing(front, rows)), last, shares=last is None)
    while table_width(layout.columns()) > width and layout.give_up(width):
        pass
    for dimension in sorted(layout.set_aside(), key=layout.uniformity):
        layout.show(dimension)
        if table_width(layout.columns()) > width:
            layout.dimensions.remove(dimension)
    lines = render(layout.columns())
    knee = next((len(lines) - len(rows) + i for i, t in enumerate(rows) if t is front.knee), None)
    return Table(tuple(lines), knee), layout.set_aside()


def constant_phrases(front: Front) -> list[str]:
    """What is the same in every design of the front, searched dimensions only."""
    first = front.designs[0]
    shown = [(d, first.point.get(d.path)) for d in front.constant]
    return merged([(d.path, exact_text(v, d.unit)) for d, v in shown if v is not None])


def left_out_lines(rows: Sequence[Trial], dimensions: Sequence[Dimension]) -> list[str]:
    """What the table had no room for: dimensions with one value in most designs, and those that really differ."""
    mostly, names = [], []
    for dimension in dimensions:
        text, count = most_common(dimension, rows)
        if count >= NEARLY_ALL * len(rows) and text != INACTIVE:
            mostly.append(f"{phrase(dimension.path, text)} ({count} of {len(rows)})")
        else:
            names.append(column_name(dimension.path))
    lines = [f" Mostly: {', '.join(mostly)}."] if mostly else []
    return lines + ([f" Not shown: {', '.join(names)} (a wider terminal, or --json)."] if names else [])


def merged(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Phrases of (path, value) with one for a field that is alike in several tiers: "lru in HBM and DRAM"."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path, text in pairs:
        parts = path.split(".")
        in_tier = len(parts) == 3 and parts[0] == "tiers" and parts[1] != "*" and parts[2] != "capacity"
        groups.setdefault((parts[2], text) if in_tier else (path, text), []).append(parts[1] if in_tier else "")
    result = []
    for (field, text), tiers in groups.items():
        named = [tier for tier in tiers if tier]
        result.append(in_tiers(field, text, named) if named else phrase(field, text))
    return result
