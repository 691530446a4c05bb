"""When nothing is feasible: the nearest designs, the least change that admits one, and which members are feasible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.analysis.front_table import front_table, left_out_lines
from dse.analysis.table import Column
from dse.analysis.values import listing, percent, scale_for, wrapped
from dse.analysis.view import Front
from dse.space.bound import Linear
from dse.space.constraints import SATURATED

if TYPE_CHECKING:
    from dse.space import Space
    from dse.space.constraints import Constraint
    from dse.trial import Trial

NEAREST = 3


def excess(trial: Trial) -> float:
    """Sum of the scaled excesses over all constraints; of `saturated`, which is yes or no, the load beyond 100 %."""
    return sum(_overload(trial, v) if name == SATURATED else v for name, v in trial.violations.items() if v > 0)


def _overload(trial: Trial, otherwise: float) -> float:
    utilisation = trial.combined.get("utilisation")
    return otherwise if utilisation is None else max(utilisation - 1.0, 0.0)


def nearest(trials: Sequence[Trial], count: int = NEAREST) -> list[Trial]:
    """Complete designs that miss by least: the best of each set of missed constraints first, then the next best."""
    complete = sorted((t for t in trials if t.state == "complete"), key=lambda t: (excess(t), t.number))
    firsts: dict[frozenset[str], Trial] = {}
    for trial in complete:
        firsts.setdefault(frozenset(_missed(trial)), trial)
    rest = [t for t in complete if t not in firsts.values()]
    return [*firsts.values(), *rest][:count]


def infeasible_lines(front: Front, width: int) -> list[str]:
    """The text for a study without a feasible design."""
    rows = nearest(front.trials)
    if not front.trials:
        return ["No design was evaluated."]
    if not rows:
        return ["Every design failed inside."]
    table, left_out = front_table(front, rows, width, misses_column(front.space, rows))
    lines = ["Nothing meets all constraints. Nearest:", *table.lines]
    for line in left_out_lines(rows, left_out):
        lines += wrapped(line, width, "   ")
    lines.append("")
    for sentence in (relaxation(front.space, front.trials), by_member(front.space, front.trials)):
        lines += wrapped(sentence, width, "  ") if sentence else []
    return lines


def misses_column(space: Space, rows: Sequence[Trial]) -> Column:
    """What each design misses: the worst miss, and how many more."""
    cells = []
    for trial in rows:
        texts = space.misses(trial.metrics)
        first = max(texts, key=lambda name: trial.violations.get(name, 0.0))
        more = f"; {len(texts) - 1} more" if len(texts) > 1 else ""
        cells.append(texts[first].split(": ")[0] + more)
    ends = {cell.rpartition(" (")[2] if cell.endswith(")") else "" for cell in cells}
    if len(space.members) > 1 and len(ends) == 1 and "" not in ends:
        return Column("misses by,", f"at {ends.pop()[:-1]}", tuple(cell.rpartition(" (")[0] for cell in cells), "left")
    return Column("misses by", "", tuple(cells), "left")


def relaxation(space: Space, trials: Sequence[Trial]) -> str:
    """The smallest change of limits that makes one evaluated design feasible: of one limit if that is ever enough."""
    built_in = {c.text for c in space.metric_constraints if c.built_in}
    candidates = [t for t in trials if t.state == "complete" and not built_in & set(_missed(t))]
    if not candidates:
        found = listing(sorted({n for t in trials for n in _missed(t) if n in built_in}), "or")
        text = f"No limit to relax: every design misses {found}. Less load, more replicas or a larger GPU would help."
        least = min((t for t in trials if t.combined.get("utilisation")), key=excess, default=None)
        if least is not None and SATURATED in _missed(least):
            text += f" Nearest is design {least.number}, loaded to {percent(least.combined['utilisation'])} %."
        return text
    fewest = [t for t in candidates if len(_missed(t)) == 1] or candidates
    best = min(fewest, key=lambda t: (excess(t), t.number))
    by_text = {c.text: c for c in space.metric_constraints}
    changes = [relaxed(by_text[name], best) for name in _missed(best)]
    return f"Smallest change that admits one (design {best.number}): {listing(changes)}."


def _missed(trial: Trial) -> list[str]:
    return [name for name, v in trial.violations.items() if v > 0]


def relaxed(constraint: Constraint, trial: Trial) -> str:
    """The constraint with a limit at which `trial` passes, rounded to the safe side: "tpot_p99 <= 86 ms (+7 %)"."""
    comparisons = constraint.bound.alternatives
    if len(comparisons) == 1 and len(comparisons[0]) == 1:
        (comparison,) = comparisons[0]
        left, right, operator = comparison.left, comparison.right, comparison.operator
        simple = isinstance(left, Linear) and isinstance(right, Linear) and not right.terms and left.terms
        if simple and operator in ("<=", ">=") and isinstance(left, Linear) and isinstance(right, Linear):
            values = [left.value(metrics.get) for metrics in trial.metrics.values()]
            known = [float(v) for v in values if v is not None]
            if known:
                unit = constraint.metrics[0].unit
                limit = max(known) if operator == "<=" else min(known)
                change = _change(limit, float(right.constant))
                return f"{left.text} {operator} {rounded_limit(limit, unit, operator)}{change}"
    return f"{constraint.text} relaxed by {math.ceil(100 * trial.violations[constraint.text])} %"


def rounded_limit(value: float, unit: str, operator: str) -> str:
    """A limit with three digits that `value` meets: rounded up for <=, down for >=."""
    scale = scale_for(unit, [value])
    step = 10.0**-scale.decimals
    count = value / scale.divisor / step
    whole = math.ceil(count - 1e-9) if operator == "<=" else math.floor(count + 1e-9)
    return f"{whole * step:.{scale.decimals}f} {scale.label}".rstrip()


def _change(limit: float, before: float) -> str:
    change = 100 * (limit / before - 1) if before else 0.0
    return f" ({change:+.{0 if abs(change) >= 10 else 1}f} %)" if change else ""


def by_member(space: Space, trials: Sequence[Trial]) -> str:
    """How many designs are feasible on each member of the scenario set alone; their figures are there already."""
    if len(space.members) < 2:
        return ""
    counts = {m.name: 0 for m in space.members}
    for trial in trials:
        if trial.state == "complete":
            for name in counts:
                verdict = space.judge({name: trial.metrics[name]})
                counts[name] += all(v <= 0 for v in verdict.values())
    if not any(counts.values()):
        return "No member of the scenario set alone has a feasible design either."
    parts = [f"at {name}: {count or 'none'}" for name, count in counts.items()]
    return f"Feasible on one member alone, {', '.join(parts)} (no new simulation)."
