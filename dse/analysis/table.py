"""Plain-text tables: aligned columns under a two-line heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

GAP = 2


@dataclass(frozen=True)
class Column:
    """One column.

    Args:
        head: first line of the heading.
        sub: second line of the heading, usually the unit.
        cells: one text per row.
        align: numbers go right, words left.
        group: columns beside each other with the same group share that text on the first heading line.
    """

    head: str
    sub: str
    cells: tuple[str, ...]
    align: Literal["left", "right"] = "right"
    group: str = ""

    @property
    def width(self) -> int:
        head = "" if self.group else self.head
        return max(len(text) for text in (head, self.sub, *self.cells))


def _spans(columns: Sequence[Column]) -> list[list[Column]]:
    spans: list[list[Column]] = []
    for column in columns:
        if spans and column.group and spans[-1][0].group == column.group:
            spans[-1].append(column)
        else:
            spans.append([column])
    return spans


def _span_width(span: Sequence[Column]) -> int:
    inner = sum(c.width for c in span) + GAP * (len(span) - 1)
    return max(inner, len(span[0].group))


def table_width(columns: Sequence[Column]) -> int:
    """Characters of the longest line `render` would make."""
    return 1 + sum(_span_width(span) for span in _spans(columns)) + GAP * (len(_spans(columns)) - 1) if columns else 0


def _place(text: str, width: int, align: str) -> str:
    return text.ljust(width) if align == "left" else text.rjust(width)


def render(columns: Sequence[Column]) -> list[str]:
    """The table as lines: one or two heading lines, then one line for each row."""
    spans = _spans(columns)
    top, second = [], []
    rows: list[list[str]] = [[] for _ in (columns[0].cells if columns else ())]
    for span in spans:
        slack = _span_width(span) - sum(c.width for c in span) - GAP * (len(span) - 1)
        group = span[0].group
        top.append(group.ljust(_span_width(span)) if group else _place(span[0].head, span[0].width, span[0].align))
        for position, column in enumerate(span):
            width = column.width + (slack if position == len(span) - 1 else 0)
            second.append(_place(column.sub, width, column.align))
            for row, cell in zip(rows, column.cells, strict=True):
                row.append(_place(cell, width, column.align))
    gap = " " * GAP
    lines = [gap.join(parts) for parts in (top, second, *rows)]
    return [(" " + line).rstrip() for position, line in enumerate(lines) if position != 1 or line.strip()]
