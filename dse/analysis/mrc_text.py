"""Curves as text for a terminal: plain ASCII, no wider than asked."""

from __future__ import annotations

from collections.abc import Sequence

from dse.analysis.mrc_data import Chain, Curves
from dse.analysis.mrc_words import findings, measure, notes, percent, trace_line
from dse.analysis.table import Column, render, table_width
from dse.analysis.values import margined, scale_for, wrapped

PROSE = 80


def curves_text(curves: Curves, width: int) -> list[str]:
    """Everything, as lines."""
    prose = min(width, PROSE)
    capacities = capacity_columns(curves, curves.capacity)
    lines = wrapped(f"{curves.trace}   {trace_line(curves)}", prose, "   ")
    lines += wrapped(f"Hit ratio in % of {measure(curves)}. {curves.definition}", prose)
    lines += ["", *side_by_side(capacities, value_columns(curves), width)]
    if curves.ceiling.byte_hit_ratio is not None:
        lines += ["", "Hit ratio in % of bytes", *side_by_side(capacities, value_columns(curves, of_bytes=True), width)]
    for note in notes(curves):
        lines += wrapped(f" {note}" if note.startswith("*") else f"   {note}", prose, "   ")
    lines += ["", *margined(findings(curves), prose)]
    for number, chain in enumerate(curves.chains):
        lines += ["", *_chain(curves, chain, prose, number == 0)]
    if curves.pairs is not None:
        lines += ["", *_splits(curves, width)]
    return lines


def capacity_columns(curves: Curves, capacity: Sequence[int], head: str = "capacity") -> list[Column]:
    """Capacities in what they count, and in bytes where that is known."""
    columns = []
    if curves.unit != "bytes":
        columns.append(Column(head, curves.unit, tuple(map(str, capacity))))
    amounts = curves.bytes_of(capacity)
    if amounts is not None:
        scale = scale_for("bytes", amounts)
        columns.append(Column(head if not columns else "", scale.label, tuple(map(scale.number, amounts))))
    return columns


def value_columns(curves: Curves, *, of_bytes: bool = False) -> list[Column]:
    """Hit ratios of each policy, and the gap between LRU and Belady."""
    found = [(line.byte_hit_ratio or ()) if of_bytes else curves.ratio(line) for line in curves.lines]
    values = [Column(line.title, "%", tuple(map(percent, ratio))) for line, ratio in zip(curves.lines, found, strict=True)]
    if curves.gap is not None and not of_bytes:
        values.append(Column("gap", "points", tuple(map(percent, curves.gap))))
    return values


def side_by_side(fixed: Sequence[Column], values: Sequence[Column], width: int) -> list[str]:
    """As many columns as fit beside the fixed ones; the rest in further tables."""
    lines: list[str] = []
    left = list(values)
    while left:
        fitting = 1
        while fitting < len(left) and table_width([*fixed, *left[: fitting + 1]]) <= width:
            fitting += 1
        lines += [""] if lines else []
        lines += render([*fixed, *left[:fitting]])
        left = left[fitting:]
    return lines


def _chain(curves: Curves, chain: Chain, width: int, first: bool) -> list[str]:
    head = (
        f"Exclusive LRU tiers, exact, from one pass. Shares in % of {measure(curves)}; {curves.unit} moved down a tier (out "
        "of the last one) per 100 accesses:"
    )
    return [*(wrapped(head, width) if first else ()), *render(chain_columns(curves, chain))]


def chain_columns(curves: Curves, chain: Chain) -> list[Column]:
    """One chain of tiers, a row each and one for all."""
    n = len(chain.capacity)
    above = [sum(chain.hits[:k]) for k in range(n)]
    hits = [*chain.hits, sum(chain.hits)]
    of_asked = [h / (1 - a) if a < 1 else 0.0 for h, a in zip(chain.hits, above, strict=True)]
    moved = tuple(f"{100 * d:.1f}" for d in chain.demotions)
    return [
        Column("tier", "", (*(str(k + 1) for k in range(n)), "all"), "left"),
        *capacity_columns(curves, [*chain.capacity, sum(chain.capacity)]),
        Column("answers", "%", tuple(map(percent, hits))),
        Column("of what it", "is asked, %", (*map(percent, of_asked), percent(hits[-1]))),
        Column("moves down", "per 100", (*moved, "")),
    ]


def _splits(curves: Curves, width: int) -> list[str]:
    text = (
        f"Two exclusive LRU tiers, exact, from the same pass: the % of {measure(curves)} that the one on top answers alone, "
        "and what a tier below it adds, by the capacity of that tier:"
    )
    fixed, values = pair_columns(curves)
    return [*wrapped(text, min(width, PROSE)), *side_by_side(fixed, values, width)]


def pair_columns(curves: Curves) -> tuple[list[Column], list[Column]]:
    """What each capacity answers on top, and what each capacity below it adds."""
    assert curves.pairs is not None and curves.alone is not None
    fixed = capacity_columns(curves, curves.pair_capacity, "on top")
    fixed.append(Column("alone", "%", tuple(map(percent, curves.alone))))
    subs = [""] * len(curves.pair_capacity)
    amounts = curves.bytes_of(curves.pair_capacity)
    if amounts is not None:
        scale = scale_for("bytes", amounts)
        subs = [scale.text(amount) for amount in amounts]
    values = [
        Column(f"+{below}", sub, tuple(percent(row[k]) for row in curves.pairs))
        for k, (below, sub) in enumerate(zip(curves.pair_capacity, subs, strict=True))
    ]
    return fixed, values
