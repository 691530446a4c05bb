"""The report's words and tables as HTML. Every text that comes from a user or a file is escaped here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from dse.analysis.drivers import drivers
from dse.analysis.front_table import constant_phrases
from dse.analysis.infeasible import by_member, nearest, relaxation
from dse.analysis.labels import INACTIVE, amount, heading, metric_label, value_text, word
from dse.analysis.report_data import Study, missed_words
from dse.analysis.report_words import Fact, asked_facts, scenario_facts, searched_facts
from dse.analysis.trust import convergence
from dse.analysis.values import listing, percent
from dse.analysis.view import KNEE, Front

if TYPE_CHECKING:
    from dse.trial import Trial
    from simcore import Metric

NEAREST = 8
_Column = tuple[str, str, Sequence[str], Sequence[float | str | None]]
"""Two heading lines, the cells as HTML, and what they are sorted by."""


def headline(study: Study) -> str:
    """Did it work, over what, how many designs."""
    feasible = sum(t.feasible for t in study.trials)
    failed = len(study.trials) - len(study.complete)
    counts = [(len(study.trials), "designs"), (feasible, "feasible")]
    counts += [(len(study.complete) - feasible, "infeasible"), (failed, "failed")]
    on_front = len({t.number for front in study.fronts for t in front.designs})
    cells = "".join(f"<li><b>{number}</b> {what}</li>" for number, what in [*counts, (on_front, "on the front")])
    return f'<ul class="counts">{cells}</ul>'


def facts(pairs: Sequence[Fact]) -> str:
    """A list of terms and what is said of them."""
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>" for term, said in pairs)
    return f"<dl>{rows}</dl>"


def scenario(study: Study) -> str:
    """The scenario in words."""
    parts = [facts(scenario_facts(study.space)), "<h3>Asked for</h3>", facts(asked_facts(study.space))]
    parts += ["<h3>Searched</h3>", facts(searched_facts(study.space))]
    return "".join(parts)


def front_sections(study: Study) -> str:
    """Table and explanation of each front."""
    return "".join(_front_section(study, front) for front in study.fronts)


def _front_section(study: Study, front: Front) -> str:
    title = "The front" if front.member is None else f"The front at {front.member}"
    if not front.designs:
        return f"<section><h2>{escape(title)}</h2>{nothing_feasible(study, front)}</section>"
    same = constant_phrases(front)
    note = f'<p class="note">Same in all: {escape(", ".join(same))}.</p>' if same else ""
    knee = f'<p class="note">&#9733; {KNEE}.</p>' if front.knee else ""
    said = "".join(f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in drivers(front))
    drives = f"<h3>What drives it</h3><dl>{said}</dl>" if said else ""
    return f"<section><h2>{escape(title)}</h2>{front_table(study, front)}{knee}{note}{drives}</section>"


def front_table(study: Study, front: Front) -> str:
    """The front as a table that sorts by a click on a heading."""
    rows = front.designs
    columns: list[_Column] = [("design", "", [_number(t, front) for t in rows], [float(t.number) for t in rows])]
    columns += [_objective_column(study, front, metric, rows) for metric in study.space.objectives]
    for dimension in front.varying:
        points = [t.point.get(dimension.path) for t in rows]
        scale_or_none = study.dimension_scale(dimension)
        head, sub = heading(dimension.path, scale_or_none.label if scale_or_none else "")
        texts = [escape(value_text(v, scale_or_none)) for v in points]
        columns.append((head, sub, texts, [amount(v) for v in points] if scale_or_none else texts))
    shares = [front.shares(t) for t in rows]
    for source in (s for s in (*front.tiers, "prefill") if any(s in found for found in shares)):
        part = [s.get(source) for s in shares]
        cells = [INACTIVE if _absent(t, source) else percent(p) for t, p in zip(rows, part, strict=True)]
        columns.append((f"from {word(source)}", "%", cells, part))
    return _table(columns, [t.number for t in rows])


def _objective_column(study: Study, front: Front, metric: Metric, rows: Sequence[Trial]) -> _Column:
    scale = study.scale(metric)
    values = [front.value(t, metric.key) for t in rows]
    return metric_label(metric), scale.label, [scale.number(v) for v in values], values


def _absent(trial: Trial, tier: str) -> bool:
    return amount(trial.point.get(f"tiers.{tier}.capacity", 1)) == 0


def _number(trial: Trial, front: Front) -> str:
    star = ' <span title="knee" aria-label="knee">&#9733;</span>' if trial is front.knee else ""
    return f"{trial.number}{star}"


def _table(columns: Sequence[_Column], numbers: Sequence[int]) -> str:
    heads = "".join(
        f'<th scope="col"{_kind(keys)}><button type="button">{escape(head)}<small>{escape(sub)}</small></button></th>'
        for head, sub, _, keys in columns
    )
    body = []
    for i, number in enumerate(numbers):
        cells = []
        for _, _, texts, keys in columns:
            key = "" if keys[i] is None else escape(str(keys[i]))
            cells.append(f'<td{_kind(keys)} data-key="{key}">{texts[i]}</td>')
        body.append(f'<tr data-design="{number}">{"".join(cells)}</tr>')
    return (
        f'<div class="wide"><table class="sortable"><thead><tr>{heads}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )


def _kind(keys: Sequence[float | str | None]) -> str:
    return ' class="word"' if any(isinstance(key, str) for key in keys) else ""


def nothing_feasible(study: Study, front: Front) -> str:
    """The designs that miss by least and how, and what would admit one."""
    rows = nearest(study.trials, NEAREST)
    if not rows:
        return "<p>Every design failed.</p>" if study.trials else "<p>No design was evaluated yet.</p>"
    columns: list[_Column] = [("design", "", [str(t.number) for t in rows], [float(t.number) for t in rows])]
    columns += [_objective_column(study, front, metric, rows) for metric in study.space.objectives]
    said = [escape("; ".join(study.space.misses(t.metrics).values())) for t in rows]
    columns.append(("misses by", "", said, said))
    remedies = [relaxation(study.space, study.trials), by_member(study.space, study.trials)]
    text = "".join(f"<p>{escape(remedy)}</p>" for remedy in remedies if remedy)
    return f"<p>No design meets every constraint. Nearest:</p>{_table(columns, [t.number for t in rows])}{text}"


def misses(study: Study) -> str:
    """What made designs infeasible or fail, counted."""
    parts = []
    missed = Counter(c for t in study.complete for c, excess in t.violations.items() if excess > 0)
    if missed:
        rows = [f"{escape(missed_words(text))} ({count})" for text, count in missed.most_common()]
        parts.append(f"<p>Infeasible designs (one may miss several constraints): {listing(rows)}.</p>")
    failed = Counter(t.error or "unknown error" for t in study.trials if t.state == "failed")
    if failed:
        rows = [f"<li>{count} x {escape(text)}</li>" for text, count in failed.most_common(20)]
        total = sum(failed.values())
        parts.append(f"<details><summary>{total} failed: why</summary><ul>{''.join(rows)}</ul></details>")
    return "".join(parts)


def trusted(study: Study, statements: Sequence[str]) -> str:
    """How far to trust it; nothing when nothing is known."""
    found = [front for front in study.fronts if front.designs]
    said = [*statements, *([convergence(found)] if found else [])]
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in said)
    return f"<section><h2>How far to trust it</h2><ul>{items}</ul></section>" if said else ""
