"""What drives the trade-off: every sentence is computed from the study's trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from dse.analysis.front_table import merged
from dse.analysis.labels import amount, exact_text, is_capacity, metric_label, tier_of, word
from dse.analysis.values import Scale, listing, percent, plain_number, scale_for
from dse.analysis.view import Front
from simcore.units import GIB, format_value

if TYPE_CHECKING:
    from dse.space import Constraint, Dimension
    from dse.trial import Trial
    from simcore import Metric

BINDING = 0.05
"""A constraint binds on a design whose slack is at most this share of the limit."""
TRIED = 5
"""A value counts as tried when this many feasible designs have it."""
CEILING_REACHED = 0.01
ALIKE = 0.01
"""Figures that differ by no more than this share count as the same."""
HBM = "tiers.hbm.capacity"

Sentence = tuple[str, str]
"""A label of the margin and what is said beside it."""


def drivers(front: Front) -> list[Sentence]:
    """All sentences that apply, most useful first."""
    parts: tuple[Callable[[Front], list[Sentence]], ...] = (slopes, against_base, tiers, reuse, binding, never)
    return [sentence for part in parts for sentence in part(front)]


def better_word(metric: Metric) -> str:
    """How a gain in a metric is called."""
    return "less" if metric.direction == "min" else "more"


def gain(front: Front, start: Trial, end: Trial, metric: Metric) -> float:
    """How much better `end` is than `start` in `metric`; negative when worse."""
    before, after = front.value(start, metric.key) or 0.0, front.value(end, metric.key) or 0.0
    return before - after if metric.direction == "min" else after - before


def scale_of(front: Front, metric: Metric) -> Scale:
    """The unit the front's table uses for a metric."""
    return scale_for(metric.unit, [front.value(t, metric.key) for t in front.designs])


def slopes(front: Front) -> list[Sentence]:
    """What a step of the second objective buys in the first, left and right of the knee; ranges for more objectives."""
    if len(front.objectives) > 2 or len(front.designs) < 2:
        return _extremes(front)
    if len(front.objectives) == 1:
        return []
    first, last = front.designs[0], front.designs[-1]
    knee = front.knee if front.knee is not None and front.knee not in (first, last) else last
    target, cost = front.objectives[0], front.cost
    scale, money = scale_of(front, target), scale_of(front, cost)
    begin, middle = front.value(first, cost.key), front.value(knee, cost.key)
    span = f"{money.number(begin)} to {money.text(middle)}"
    bought = gain(front, first, knee, target)
    text = f"{span}: {_per_step(front, first, knee, bought, scale)}."
    if knee is not last:
        step = abs((front.value(last, cost.key) or 0.0) - (middle or 0.0))
        rest = gain(front, knee, last, target)
        text += f" Past the knee the next {money.text(step)} buy {scale.text(rest)}."
    label = "HBM" if cost.name.startswith("hbm") else metric_label(cost)
    return [(label, text)]


def _per_step(front: Front, start: Trial, end: Trial, bought: float, scale: Scale) -> str:
    target, cost = front.objectives[0], front.cost
    name = f"{better_word(target)} {metric_label(target)}"
    pools = [amount(t.point.get(HBM)) for t in (start, end)]
    if cost.name.startswith("hbm") and pools[0] is not None and pools[1] is not None and pools[1] > pools[0]:
        added = (pools[1] - pools[0]) / GIB
        rate = format_value(bought / added, target.unit)
        return f"{plain_number(added)} GiB more pool, {rate} {name} per GiB"
    spent = abs((front.value(end, cost.key) or 0.0) - (front.value(start, cost.key) or 0.0))
    if spent == 0:
        return f"{scale.text(bought)} {name}"
    unit = scale_of(front, cost)
    rate = format_value(bought / (spent / unit.divisor), target.unit)
    return f"{scale.text(bought)} {name}, {rate} per {unit.label or cost.name}"


def _extremes(front: Front) -> list[Sentence]:
    """Three or more objectives: the range of each and the design at its better end."""
    result = []
    for metric in front.objectives if len(front.designs) > 1 else ():
        ordered = sorted(front.designs, key=lambda t, m=metric: -gain(front, front.designs[0], t, m))  # type: ignore[misc]
        scale = scale_of(front, metric)
        best, worst = (front.value(t, metric.key) for t in (ordered[0], ordered[-1]))
        result.append((metric_label(metric), f"{scale.text(best)} (design {ordered[0].number}) to {scale.text(worst)}."))
    return result


def against_base(front: Front) -> list[Sentence]:
    """The scenario of the space file as it stands, held against the front: what it costs not to have searched."""
    base, target, cost = front.base, front.objectives[0], front.cost
    if base is None or base.state != "complete" or len(front.objectives) != 2:
        return []
    figures = listing([scale_of(front, m).text(front.value(base, m.key)) for m in front.objectives])
    if not base.feasible:
        return [("Base", f"the space's own scenario ({figures}) misses {listing(_missed(base))}.")]
    rivals = [t for t in front.designs if gain(front, base, t, cost) >= 0 and gain(front, base, t, target) >= 0]
    better = [t for t in rivals if _counts(front, base, t, cost) or _counts(front, base, t, target)]
    if not better:
        return [("Base", _unbeaten(front, base, rivals, figures))]
    best = max(better, key=lambda t: (gain(front, base, t, target), gain(front, base, t, cost), -t.number))
    cheapest = max(better, key=lambda t: (gain(front, base, t, cost), gain(front, base, t, target), -t.number))
    text = f"the space's own scenario gives {figures}; design {best.number}"
    more, saved = _more(front, base, best), _saved(front, base, cheapest)
    if best is cheapest or not more or not saved:
        said = [f"has {more}" if more else "is as good", f"saves {saved}" if saved else "costs the same"]
        return [("Base", f"{text} {said[0]} and {said[1]}.")]
    return [("Base", f"{text} costs no more and has {more}, design {cheapest.number} is no worse and saves {saved}.")]


def _counts(front: Front, start: Trial, end: Trial, metric: Metric) -> bool:
    """Whether `end` is better by an amount that shows in the front's units."""
    return float(scale_of(front, metric).number(gain(front, start, end, metric))) > 0


def _unbeaten(front: Front, base: Trial, rivals: list[Trial], figures: str) -> str:
    same = next((t for t in front.designs if t.key == base.key), None)
    if same is not None:
        return f"the space's own scenario is design {same.number}, on the front."
    if rivals:
        return f"the space's own scenario ({figures}) is as good as design {rivals[0].number}, on the front."
    return f"the space's own scenario ({figures}) is not beaten by any design found."


def _more(front: Front, base: Trial, trial: Trial) -> str:
    target = front.objectives[0]
    if not _counts(front, base, trial, target):
        return ""
    return f"{scale_of(front, target).text(gain(front, base, trial, target))} {better_word(target)} {metric_label(target)}"


def _saved(front: Front, base: Trial, trial: Trial) -> str:
    if not _counts(front, base, trial, front.cost):
        return ""
    return scale_of(front, front.cost).text(gain(front, base, trial, front.cost))


def _missed(trial: Trial) -> list[str]:
    return [name for name, excess in trial.violations.items() if excess > 0]


def tiers(front: Front) -> list[Sentence]:
    """For each tier that may be absent: where on the front it is used, and what doing without it costs."""
    result = []
    for dimension in front.space.dimensions:
        values = {amount(t.point.get(dimension.path)) for t in front.feasible}
        if is_capacity(dimension.path) and (0.0 in values or _may_be_absent(dimension)):
            result.append((word(tier_of(dimension.path) or ""), _tier_sentence(front, dimension)))
    return result


def _may_be_absent(dimension: Dimension) -> bool:
    return dimension.choices is not None and any(amount(c) == 0 for c in dimension.choices)


def _tier_sentence(front: Front, dimension: Dimension) -> str:
    with_it = [t for t in front.designs if amount(t.point.get(dimension.path))]
    without = [t for t in front.designs if t not in with_it]
    if not with_it:
        used = [t for t in front.feasible if amount(t.point.get(dimension.path))]
        return f"on no design of the front; {len(used)} feasible designs with it are all matched or beaten without it."
    where = _where_used(front, with_it, without)
    alternatives = [t for t in front.feasible if amount(t.point.get(dimension.path)) == 0]
    if not alternatives:
        return f"{where}; no design without it was feasible."
    if all(any(_alike(front, t, other) for other in alternatives) for t in with_it):
        return f"leaving it out costs nothing here: designs without it match the front within {100 * ALIKE:.0f} %."
    return f"{where}; without it {_without_it(front, alternatives)}."


def _alike(front: Front, trial: Trial, other: Trial) -> bool:
    """Whether `other` is as good as `trial` in every objective, or worse by 1 % at most."""
    sizes = [(m, abs(front.value(trial, m.key) or 0.0)) for m in front.objectives]
    return all(gain(front, trial, other, metric) >= -ALIKE * size for metric, size in sizes)


def _where_used(front: Front, with_it: list[Trial], without: list[Trial]) -> str:
    if not without:
        return "in every design of the front"
    scale = scale_of(front, front.cost)
    inside, outside = ([front.designs.index(t) for t in group] for group in (with_it, without))
    if max(inside) < min(outside):
        return f"in every design under {scale.text(front.value(without[0], front.cost.key))}"
    if min(inside) > max(outside):
        return f"in every design from {scale.text(front.value(with_it[0], front.cost.key))} up"
    return f"in {len(with_it)} of {len(front.designs)} designs of the front"


def _without_it(front: Front, alternatives: list[Trial]) -> str:
    """What doing without the tier costs: dearer at the cheap end, or slower at the fast one."""
    cost, target = front.cost, front.objectives[0]
    name, first = metric_label(target), alternatives[0]
    best = max(alternatives, key=lambda t: (gain(front, first, t, target), -t.number))
    if cost is target:
        return f"the best {name} is {scale_of(front, target).text(front.value(best, target.key))}"
    cheapest = max(alternatives, key=lambda t: (gain(front, first, t, cost), gain(front, first, t, target), -t.number))
    rivals = [t for t in front.designs if gain(front, cheapest, t, cost) >= 0 and t is not cheapest]
    if cheapest in front.designs or not rivals:
        where = scale_of(front, cost).text(front.value(best, cost.key))
        text = f"the best {name} is {scale_of(front, target).text(front.value(best, target.key))}"
        text += f" (design {best.number}, {where})"
        edge = max(front.designs, key=lambda t: gain(front, first, t, target))
        return text if best is edge else f"{text}, {_ratio(front, best, edge, target)}"
    price = scale_of(front, cost).text(front.value(cheapest, cost.key))
    rival = front.knee if front.knee in rivals and front.knee is not None else rivals[-1]
    if _alike(front, rival, cheapest):
        return f"the cheapest feasible design costs no more: {price}, same {name} within {100 * ALIKE:.0f} %"
    return f"the cheapest feasible design costs {price} and has {_ratio(front, cheapest, rival, target)}"


def _ratio(front: Front, ours: Trial, theirs: Trial, metric: Metric) -> str:
    """ "1.9x the TTFT p99 of design 117"."""
    values = [front.value(t, metric.key) or 0.0 for t in (ours, theirs)]
    if values[1] and round(values[0] / values[1], 2) == 1:
        return f"the same {metric_label(metric)} as design {theirs.number} within 1 %"
    share = f"{plain_number(round(values[0] / values[1], 2))}x" if values[1] else "not"
    return f"{share} the {metric_label(metric)} of design {theirs.number}"


def reuse(front: Front) -> list[Sentence]:
    """How much of the reuse the workload offers is taken, and whether HBM alone would do."""
    design = front.knee or front.designs[0]
    hit, ceiling = front.mean(design, "hit_ratio"), front.mean(design, "hit_ceiling")
    if hit is None or ceiling is None:
        return []
    where = "at the knee" if front.knee is not None else f"in design {design.number}"
    text = f"{percent(hit)} % of prompt tokens come from a cache {where}; no cache of any size could exceed "
    text += f"{percent(ceiling)} % on this workload."
    full = [t for t in front.designs if (front.shares(t).get("hbm", 0.0)) >= ceiling - CEILING_REACHED]
    if len(full) == len(front.designs):
        text += " HBM alone holds all of it in every design: lower tiers cannot help here."
    elif full:
        text += f" HBM alone holds all of it in {len(full)} of {len(front.designs)}."
    elif ceiling - hit <= CEILING_REACHED:
        text += " More capacity cannot raise that; only faster tiers help."
    return [("Reuse", text)]


def binding(front: Front) -> list[Sentence]:
    """How many designs of the front each constraint holds back, and how many trials it ruled out."""
    yes_or_no = {c.text for c in front.space.metric_constraints if _is_equality(c)}
    names = [n for n in dict.fromkeys(name for t in front.designs for name in t.violations) if n not in yes_or_no]
    tight = {n: sum(-BINDING <= t.violations.get(n, -1.0) <= 0 for t in front.designs) for n in names}
    broken = Counter(n for t in front.trials if t.state == "complete" for n, v in t.violations.items() if v > 0)
    parts = [f"{n} in {tight[n]} of {len(front.designs)}" for n in names if tight[n]]
    loose = [n for n in names if not tight[n]]
    if loose:
        parts.append(f"{listing(loose)} in none")
    text = "; ".join(parts) + " (within 5 % of the limit)." if parts else ""
    if broken:
        text += " Ruled out: " + ", ".join(f"{count} by {name}" for name, count in broken.most_common()) + "."
    return [("Binding", text.strip())] if text else []


def _is_equality(constraint: Constraint) -> bool:
    """Met or missed, with nothing in between to be close to."""
    return any(c.operator in ("==", "!=") for group in constraint.bound.alternatives for c in group)


def never(front: Front) -> list[Sentence]:
    """Values that feasible designs had and no design of the front has."""
    pairs = []
    for dimension in front.space.dimensions:
        if dimension.choices is None or is_capacity(dimension.path):
            continue
        kept = {repr(t.point.get(dimension.path)) for t in front.designs}
        tried = Counter(repr(t.point.get(dimension.path)) for t in front.feasible)
        for choice in dimension.choices:
            if tried[repr(choice)] >= TRIED and repr(choice) not in kept:
                pairs.append((dimension.path, exact_text(choice, dimension.unit)))
    return [("Never on the front", "; ".join(merged(pairs)) + ".")] if pairs else []
