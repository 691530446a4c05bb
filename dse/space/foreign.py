"""Spellings of other tools (Optuna, Ray Tune, Hydra, W&B, Ax, scikit-optimize), read only to print the right line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from simcore.errors import InputError
from simcore.yamlio import loads_yaml

_LOW = ("low", "min", "lower", "start", "from", "lower_bound", "min_value", "minimum")
_HIGH = ("high", "max", "upper", "stop", "end", "to", "upper_bound", "max_value", "maximum")
_STEP = ("step", "q", "quantum", "interval", "resolution")
_VALUES = ("choices", "values", "options", "categories", "choice", "grid_search", "grid", "list", "value", "sequence")
_SCALE = ("scale", "log", "log_scale", "log_base", "distribution", "type", "prior", "sampling", "_type", "kind")
_CALL = re.compile(r"^\s*(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_]\w*)\s*\((?P<arguments>.*)\)\s*$", re.DOTALL)
_CHOOSERS = {"choice", "choices", "categorical", "suggest_categorical", "grid_search", "ordinal", "sample_from"}
_INTEGERS = {"randint", "lograndint", "qrandint", "qlograndint", "suggest_int", "integer", "integers", "int"}
_FLOATS = {
    "uniform", "loguniform", "quniform", "qloguniform", "log_uniform", "suggest_float", "suggest_uniform",
    "suggest_loguniform", "suggest_discrete_uniform", "interval", "range", "float", "real", "linspace", "logspace",
}  # fmt: skip


def is_foreign(key: str) -> bool:
    """Whether other tools write this key beside a parameter."""
    return key.lower() in {*_LOW, *_HIGH, *_STEP, *_VALUES, *_SCALE, "bounds", "domain"}


def right_line(path: str, domain: Any) -> str | None:
    """The line of this grammar that says what `domain` seems to mean; None when it resembles nothing known."""
    body = None
    if isinstance(domain, str):
        body = _from_call(domain)
    elif isinstance(domain, Mapping):
        body = _from_mapping(domain)
    return None if body is None else f"{path}: {body}"


def _from_call(text: str) -> str | None:
    match = _CALL.match(text)
    if match is None or match["name"] not in _CHOOSERS | _INTEGERS | _FLOATS:
        return None
    name = match["name"]
    positional, named = _arguments(match["arguments"])
    if name in _CHOOSERS:
        values = next((part for part in positional if isinstance(part, list)), positional)
        return flow(values) if values else None
    if positional and _is_label(positional[0]):
        positional = positional[1:]
    fields: dict[str, Any] = dict(zip(("low", "high", "step"), positional, strict=False))
    fields.update(named)
    if "log" in name:
        fields["log"] = True
    if name in _INTEGERS and "step" not in fields:
        fields["step"] = 1
    return _from_mapping(fields)


def _is_label(value: Any) -> bool:
    """Whether a first argument is the parameter's own name, as Optuna and Hyperopt take it."""
    return isinstance(value, str) and not value[:1].isdigit()


def _arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named arguments of a call, each read as a YAML scalar or flow list."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for part in _split(text):
        name, equals, value = part.partition("=")
        if equals and name.strip().isidentifier():
            named[name.strip()] = _read(value)
        elif part.strip():
            positional.append(_read(part))
    return positional, named


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _read(text: str) -> Any:
    lowered = {"True": True, "False": False, "None": None}
    if text.strip() in lowered:
        return lowered[text.strip()]
    try:
        return loads_yaml(text.strip()).data
    except InputError:
        return text.strip()


def _from_mapping(domain: Mapping[Any, Any]) -> str | None:
    fields = {str(key).lower(): value for key, value in domain.items()}
    inner = fields.get("range")
    if isinstance(inner, Mapping):
        return _from_mapping({**{k: v for k, v in fields.items() if k != "range"}, **inner})
    values = next((fields[key] for key in _VALUES if isinstance(fields.get(key), Sequence)), None)
    if values is not None and not isinstance(values, str):
        return flow(list(values))
    bounds = next((fields[key] for key in ("bounds", "range", "domain") if isinstance(fields.get(key), Sequence)), None)
    ends = bounds if bounds is not None and not isinstance(bounds, str) and len(bounds) == 2 else _ends(fields)
    if ends is None:
        return None
    body: dict[str, Any] = {"range": list(ends)}
    step = next((fields[key] for key in _STEP if fields.get(key) is not None), None)
    if step is None and any(str(fields.get(key, "")).startswith("int") for key in _SCALE):
        step = 1
    if step is not None:
        body["step"] = step
    if any("log" in str(fields.get(key, "")).lower() or (key in _SCALE[1:3] and fields.get(key) is True) for key in _SCALE):
        body["log"] = True
    return flow(body)


def _ends(fields: Mapping[str, Any]) -> tuple[Any, Any] | None:
    low = next((fields[key] for key in _LOW if key in fields), None)
    high = next((fields[key] for key in _HIGH if key in fields), None)
    return None if low is None or high is None else (low, high)


def flow(value: Any) -> str:
    """`value` as one line of YAML."""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True)
    return text.strip().removesuffix("...").strip()
