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


def summary(space: Space) -> str:
    """The scenario in two or three sentences."""
    base = space.base
    said = []
    machine = _machine(base)
    if machine:
        said.append(f"{machine}.")
    tiers = base.get("tiers")
    if isinstance(tiers, Mapping) and len(tiers) > 1:
        below = [_with_preset(name, spec) for name, spec in list(tiers.items())[1:]]
        said.append(f"{word(next(iter(tiers)))} is backed by {listing(below)}.")
    if len(space.members) > 1:
        how = {"worst": "the worst counts", "mean": "their weighted mean counts", "each": "each has its own front"}
        said.append(f"Every design is tried at {member_names(space)}; {how[space.combine]}.")
    for direction, aim in (("min", "Minimised"), ("max", "Maximised")):
        aims = [metric_label(m) for m in space.objectives if m.direction == direction]
        said += [f"{aim}: {listing(aims)}."] if aims else []
    return " ".join(said)


def member_names(space: Space) -> str:
    """ "request_rate=2", "request_rate=4" -> "request_rate 2 and 4"; other names as they stand."""
    parts = [m.name.partition("=") for m in space.members]
    heads = {head for head, _, _ in parts}
    if len(heads) == 1 and all(value and "," not in value for _, _, value in parts):
        unit = " per second" if heads == {"request_rate"} else ""
        return f"{heads.pop()} {listing([value for _, _, value in parts])}{unit}"
    return listing([m.name for m in space.members])


def _machine(base: Mapping[str, Any]) -> str:
    """ "llama-3.1-8b on 2 replicas of 1 x h100-sxm under chat-multi-tenant, request rate 4"; what is not there is left out."""
    parts = []
    if "model" in base:
        parts.append(_field("model", base["model"], set()))
    if "gpu" in base:
        replicas = base.get("replicas", 1)
        parts.append(f"on {replicas} replica{'s' if replicas != 1 else ''} of {_field('gpu', base['gpu'], set())}")
    if "workload" in base:
        parts.append(f"under {_field('workload', base['workload'], set())}")
    return " ".join(parts)


def _with_preset(name: str, spec: Any) -> str:
    preset = spec.get("preset") if isinstance(spec, Mapping) else None
    return f"{word(name)} ({preset})" if preset else word(name)


def scenario_facts(space: Space) -> list[Fact]:
    """The base scenario, field by field, with what the search may change marked."""
    base = space.base
    searched = {target for d in space.dimensions for target in d.targets}
    facts: list[Fact] = []
    for key, value in base.items():
        if key == "tiers" and isinstance(value, Mapping):
            facts += [(f"{word(name)} tier", _tier(name, spec, searched)) for name, spec in value.items()]
        else:
            facts.append((_term(key), _field(key, value, searched)))
    return facts


def asked_facts(space: Space) -> list[Fact]:
    """Scenario set, objectives, constraints and what they mean."""
    facts = []
    if len(space.members) > 1:
        how = {
            "worst": "the worst of them counts",
            "mean": "their weighted mean counts",
            "each": "each has a front of its own",
        }[space.combine]
        facts.append(("Tried on", f"{member_names(space)}; {how}, and constraints hold on every one"))
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
    return text if dimension.when is None else f"{text}; only when {dimension.when.text}"


def _term(key: str) -> str:
    text = key.replace("_", " ")
    head, _, rest = text.partition(" ")
    upper = word(head)
    return f"{upper if upper != head else head.capitalize()} {rest}".strip()


def _field(key: str, value: Any, searched: set[str], path: str = "") -> str:
    path = path or key
    mark = " (searched)" if path in searched else ""
    if not isinstance(value, Mapping):
        return f"{_plain(value)}{' per second' if path.endswith('request_rate') else ''}{mark}"
    if set(value) == {"default"}:
        return _field(key, value["default"], searched - {path}, path) + mark
    if set(value) == {"k", "v"} and value["k"] == value["v"]:
        return _plain(value["k"]) + mark
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
    """ "ddr5-host, capacity 128 GiB, policy searched": the fields a user wrote or searches."""
    if not isinstance(spec, Mapping):
        return _plain(spec)
    prefix = f"tiers.{name}."
    varied = [path.removeprefix(prefix) for path in searched if path.startswith(prefix)]
    unit = " per GPU" if name == "hbm" else ""
    parts = [str(spec["preset"])] if spec.get("preset") else []
    for field, value in spec.items():
        if field not in ("preset", *varied):
            parts.append(f"{field.replace('_', ' ')} {_plain(value)}{unit if field == 'capacity' else ''}")
    return ", ".join(parts + ([f"{listing(sorted(varied))} searched"] if varied else []))


def _plain(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(v) for v in value)
    return str(value)
