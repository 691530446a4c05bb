"""The scenario of a study in words: what was simulated, what was searched, what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.analysis.labels import exact_text, is_capacity, metric_label, word
from dse.analysis.values import listing

if TYPE_CHECKING:
    from dse.space import Dimension, Space

Fact = tuple[str, str]
"""A term and what is said of it."""
_OF_EACH = {"hbm": "per GPU"}


def scenario_facts(space: Space) -> list[Fact]:
    """The base scenario, field by field, with what the search may change marked."""
    base = space.base
    searched = {target for d in space.dimensions for target in d.targets}
    facts = [(_term(key), _field(key, value, searched)) for key, value in base.items() if key not in ("family", "tiers")]
    tiers = base.get("tiers")
    if isinstance(tiers, Mapping):
        at = next((i for i, (term, _) in enumerate(facts) if term == "Workload"), len(facts))
        facts[at:at] = [("Tiers", listing([_tier(n, s, searched) for n, s in tiers.items()]))]
    return [("Family", str(base.get("family", ""))), *facts]


def asked_facts(space: Space) -> list[Fact]:
    """Scenario set, objectives, constraints and what they mean."""
    facts = []
    if len(space.members) > 1:
        names = listing([m.name for m in space.members])
        how = {
            "worst": "the worst of them counts",
            "mean": "their weighted mean counts",
            "each": "each has a front of its own",
        }[space.combine]
        facts.append(("Tried on", f"{names}; {how}, and constraints hold on every one"))
    for metric in space.objectives:
        aim = "as small as possible" if metric.direction == "min" else "as large as possible"
        facts.append((metric_label(metric), f"{aim}: {metric.definition}"))
    texts = [c.text for c in (*space.path_constraints, *space.metric_constraints)]
    if texts:
        facts.append(("Constraints", "; ".join(texts)))
    if space.replications > 1:
        facts.append(("Replications", f"every design on {space.replications} workload seeds, metrics averaged"))
    return facts


def searched_facts(space: Space) -> list[Fact]:
    """Every dimension with what it may be."""
    return [(d.path, _domain(d)) for d in space.dimensions]


def _domain(dimension: Dimension) -> str:
    shown = [exact_text(v, dimension.unit) for v in dimension.ends()]
    if dimension.choices is None:
        text = " to ".join(shown)
        if dimension.step is not None:
            text += f" in steps of {exact_text(dimension.step, dimension.unit)}"
        text += ", logarithmic" if dimension.log else ""
    else:
        text = ", ".join(shown)
        if is_capacity(dimension.path) and "0" in shown:
            text += " (0: no such tier)"
    if dimension.tied:
        text += f"; one value for {listing(dimension.targets)}" if len(dimension.targets) > 1 else ""
    return text if dimension.when is None else f"{text}; only when {dimension.when}"


def _term(key: str) -> str:
    text = key.replace("_", " ")
    head, _, rest = text.partition(" ")
    upper = word(head)
    return f"{upper if upper != head else head.capitalize()} {rest}".strip()


def _field(key: str, value: Any, searched: set[str], path: str = "") -> str:
    path = path or key
    mark = " (searched)" if path in searched else ""
    if not isinstance(value, Mapping):
        return f"{_plain(value)}{mark}"
    parts = []
    if "preset" in value:
        preset = str(value["preset"])
        count = value.get("count")
        parts.append(f"{count} x {preset}" if key == "gpu" and count else preset)
    for name, inner in value.items():
        if name == "preset" or (key == "gpu" and name == "count" and "preset" in value):
            continue
        deeper = f"{path}.{name}"
        shown = _field(name, inner, searched, deeper)
        parts.append(
            f"{name.replace('_', ' ')} ({shown})" if isinstance(inner, Mapping) else f"{name.replace('_', ' ')} {shown}"
        )
    return ", ".join(parts) + mark


def _tier(name: str, spec: Any, searched: set[str]) -> str:
    if not isinstance(spec, Mapping):
        return f"{word(name)} {_plain(spec)}"
    preset = f" ({spec['preset']})" if spec.get("preset") else ""
    path = f"tiers.{name}.capacity"
    size = "searched" if path in searched else f"{_plain(spec.get('capacity'))} {_OF_EACH.get(name, '')}".strip()
    others = [
        f"{k} {_plain(v)}" for k, v in spec.items() if k not in ("preset", "capacity") and f"tiers.{name}.{k}" not in searched
    ]
    varied = [k for k in ("policy", "placement") if f"tiers.{name}.{k}" in searched]
    others += [f"{' and '.join(varied)} searched"] if varied else []
    return f"{word(name)}{preset} {', '.join([size, *others])}"


def _plain(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(v) for v in value)
    return str(value)
