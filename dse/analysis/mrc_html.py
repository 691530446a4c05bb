"""Curves as one self-contained HTML page. Every text that comes from a user or a file is escaped here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from dse.analysis.mrc_data import Curves
from dse.analysis.mrc_text import capacity_columns, chain_columns, pair_columns, value_columns
from dse.analysis.mrc_words import findings, measure, notes, trace_line
from dse.analysis.report import asset, plotly, script_json
from dse.analysis.table import Column
from dse.analysis.values import scale_for
from dse.versions import own_version


def page(curves: Curves) -> str:
    """The page as text; the same curves give the same bytes."""
    parts = {
        "title": escape(curves.trace),
        "trace": escape(f"{trace_line(curves)}."),
        "definition": escape(f"Hit ratio in % of {measure(curves)}. {curves.definition}"),
        "findings": "".join(f"<dt>{escape(label)}</dt><dd>{escape(said)}</dd>" for label, said in findings(curves)),
        "tables": _tables(curves),
        "notes": "".join(f'<p class="note">{escape(note)}.</p>' for note in notes(curves)),
        "chains": _chains(curves),
        "splits": _splits(curves),
        "origin": _origin(curves),
        "style": asset("report.css"),
        "plotly": plotly(),
        "script": asset("mrc.js"),
        "data": script_json(_data(curves)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset("mrc.html"))


def _data(curves: Curves) -> dict[str, object]:
    """What the figure draws."""
    lines = curves.lines
    ratios, errors = [list(curves.ratio(line)) for line in lines], [curves.error(line) for line in lines]
    measures = [{"label": measure(curves), "ceiling": curves.top, "lines": ratios, "errors": errors}]
    others = {"bytes": ("byte_hit_ratio", curves.ceiling.byte_hit_ratio)}
    if curves.unit == "blocks":
        named = ("tokens", "token_hit_ratio") if curves.count == "blocks" else ("blocks", "hit_ratio")
        others[f"prompt {named[0]}" if named[0] == "tokens" else "blocks"] = (named[1], getattr(curves.ceiling, named[1]))
    for label, (name, ceiling) in others.items():
        if ceiling is not None:
            ratios, errors = ([getattr(line, of) for line in lines] for of in (name, name.replace("hit_ratio", "error")))
            measures.append({"label": label, "ceiling": ceiling, "lines": ratios, "errors": errors})
    axes: list[dict[str, object]] = []
    if curves.unit != "bytes":
        axes.append({"unit": curves.unit, "label": f"capacity ({curves.unit})", "values": curves.capacity})
    if curves.capacity_bytes is not None:
        scale = scale_for("bytes", curves.capacity_bytes)
        values = [c / scale.divisor for c in curves.capacity_bytes]
        axes.append({"unit": scale.label, "label": f"capacity ({scale.label})", "values": values})
    shown = [{"name": line.policy, "offline": line.offline} for line in lines]
    return {"measures": measures, "axes": axes, "lines": shown}


def _tables(curves: Curves) -> str:
    fixed = capacity_columns(curves, curves.capacity)
    parts = [f"<section><h2>In numbers</h2>{_table([*fixed, *value_columns(curves)])}"]
    if curves.ceiling.byte_hit_ratio is not None:
        parts.append(f"<h3>Of bytes</h3>{_table([*fixed, *value_columns(curves, of_bytes=True)])}")
    return "".join([*parts, "</section>"])


def _chains(curves: Curves) -> str:
    if not curves.chains:
        return ""
    head = (
        f"Exact, from one pass over the trace. Shares in % of {measure(curves)}; moved down: {curves.unit} that a tier evicts "
        "into the one below (the last one: out of the cache) per 100 accesses."
    )
    tables = "".join(f"<p></p>{_table(chain_columns(curves, chain))}" for chain in curves.chains)
    return f'<section><h2>Exclusive LRU tiers</h2><p class="note">{escape(head)}</p>{tables}</section>'


def _splits(curves: Curves) -> str:
    if curves.pairs is None:
        return ""
    fixed, values = pair_columns(curves)
    head = (
        f"Exact, from one pass over the trace: the % of {measure(curves)} that the tier on top answers alone, and what a tier "
        "below it adds, by the capacity of that tier. Their sum is what both answer."
    )
    most = max((share for row in curves.pairs for share in row), default=0.0)
    shares = [[share / most if most else 0.0 for share in row] for row in curves.pairs]
    table = _table([*fixed, *values], shaded=len(fixed), shares=shares)
    return f'<section><h2>Every split over two exclusive LRU tiers</h2><p class="note">{escape(head)}</p>{table}</section>'


def _origin(curves: Curves) -> str:
    facts = {
        "trace": curves.trace,
        "cache-dse": own_version(),
        "seed": str(curves.seed),
        **{
            f"order, {line.policy}": line.order for line in curves.lines if line.token_hit_ratio is not None
        },
        **{
            f"parameters, {line.policy}": ", ".join(f"{k}={v}" for k, v in line.params.items())
            for line in curves.lines
            if line.params
        },
    }  # fmt: skip
    return "".join(f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>" for term, said in facts.items())


def _table(columns: Sequence[Column], shaded: int | None = None, shares: Sequence[Sequence[float]] = ()) -> str:
    """A table; from column `shaded` on, cells are coloured by `shares` (rows, columns), at most 1."""
    heads = "".join(f'<th scope="col">{escape(c.head)}<small>{escape(c.sub)}</small></th>' for c in columns)
    rows = []
    for i in range(len(columns[0].cells)):
        cells = []
        for k, column in enumerate(columns):
            share = shares[i][k - shaded] if shaded is not None and k >= shaded else None
            kind = "" if share is None else f' class="shaded{" strong" if share > 0.6 else ""}" style="--share:{share:.2f}"'
            cells.append(f"<td{kind}>{escape(column.cells[i])}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
