"""What stands beside a path in `search`: a list of choices, or {choices | range, step, log, when, tie}."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.space.dimension import Dimension
from dse.space.expressions import number_text
from dse.space.foreign import flow, is_foreign, right_line
from dse.space.quantities import dimension_of
from simcore.errors import InputError, did_you_mean
from simcore.units import EXAMPLES, exact_bytes, parse_quantity

_NUMBER = re.compile(r"^\s*[+-]?[\d._]+(?:[eE][+-]?\d+)?")
KEYS = ("choices", "range", "step", "log", "when", "tie")


@dataclass(frozen=True)
class Domain:
    """A domain as read, before it is tied to concrete paths. `when` is still text."""

    choices: tuple[Any, ...] | None = None
    low: float | int | None = None
    high: float | int | None = None
    step: float | int | None = None
    unit: str | None = None
    display: str = ""
    log: bool = False
    when: Any = None
    tie: bool = False

    def dimension(self, path: str, targets: tuple[str, ...]) -> Dimension:
        """The dimension of these targets, without its condition."""
        return Dimension(path, targets, self.choices, self.low, self.high, self.step, self.unit, self.log, display=self.display)


def read_domain(path: str, raw: Any) -> Domain:
    """Read what stands beside `path`.

    Raises:
        InputError: not of the grammar; `path` of the error is relative to this entry, the hint holds the right line.
    """
    if isinstance(raw, list):
        return Domain(choices=_choices(raw), unit=_unit(raw))
    if not isinstance(raw, Mapping):
        line = right_line(path, raw) or (f"{path}: [{flow(raw)}]" if raw is not None else f"{path}: [value, value]")
        raise InputError("must be a list of choices, or {range: [low, high], step: ...}", value=raw, hint=f"write {line}")
    _check_keys(path, raw)
    tie, log = (_flag(raw, key) for key in ("tie", "log"))
    if "choices" in raw:
        choices = raw["choices"]
        if not isinstance(choices, list):
            raise InputError("must be a list", path="choices", value=choices, hint=f"write {path}: [{flow(choices)}]")
        for key in ("step", "log"):
            if key in raw:
                raise InputError("belongs to a range, not to choices", path=key)
        return Domain(choices=_choices(choices), unit=_unit(choices), when=raw.get("when"), tie=tie)
    return _range(path, raw, tie, log)


def _check_keys(path: str, raw: Mapping[str, Any]) -> None:
    unknown = [key for key in raw if key not in KEYS]
    ours = "choices" in raw or isinstance(raw.get("range"), list)
    foreign = [key for key in unknown if not ours or is_foreign(str(key))]
    line = right_line(path, raw) if foreign or isinstance(raw.get("range"), Mapping) else None
    if line is not None:
        value = flow(dict(raw))
        raise InputError("is the spelling of another tool", value=value, hint=f"write {line}")
    if unknown:
        raise InputError("unknown key", path=str(unknown[0]), hint=did_you_mean(str(unknown[0]), KEYS))
    if ("choices" in raw) == ("range" in raw):
        rule = "must have choices or range, not both" if "choices" in raw else "must have choices or range"
        raise InputError(rule, value=flow(dict(raw)), hint=f"for example {path}: {{range: [low, high], step: step}}")


def _flag(raw: Mapping[str, Any], key: str) -> bool:
    value = raw.get(key, False)
    if not isinstance(value, bool):
        raise InputError("must be true or false", path=key, value=value)
    return value


def _choices(values: list[Any]) -> tuple[Any, ...]:
    if not values:
        raise InputError("must have at least one choice", value="[]")
    seen: dict[str, Any] = {}
    for value in values:
        key = same_value(value)
        if key in seen:
            rule = "has a choice twice" if value == seen[key] else f"has a choice twice: {flow(seen[key])} is {flow(value)}"
            raise InputError(rule, value=value, hint="keep one of them")
        seen[key] = value
    return tuple(values)


def same_value(value: Any) -> str:
    """Equal text for values that mean the same: "1 TiB" and "1024 GiB", 0 and "0 GiB"."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number, dimension = parse_quantity(value)
            return json.dumps([float(number), dimension if number else "zero"])
        except InputError:
            pass
    return json.dumps(value, sort_keys=True, default=str)


def _unit(values: list[Any]) -> str | None:
    dimension = dimension_of(values)
    return None if dimension in ("word", None) else "number" if dimension == "any" else dimension


def _range(path: str, raw: Mapping[str, Any], tie: bool, log: bool) -> Domain:
    ends = raw["range"]
    if not isinstance(ends, list) or len(ends) != 2:
        line = right_line(path, {"range": ends} if isinstance(ends, Mapping) else ends)
        hint = f"write {line or f'{path}: {{range: [low, high]}}'}"
        raise InputError("must be [low, high]", path="range", value=ends, hint=hint)
    numbers = {name: _quantity(value, where) for name, where, value in _named(raw)}
    unit = _shared_unit(path, raw, {name: found for name, (_, found) in numbers.items()})
    low, high = numbers["low"][0], numbers["high"][0]
    step = numbers["step"][0] if "step" in numbers else None
    if low > high:
        hint = f"write {path}: {{range: [{flow(ends[1])}, {flow(ends[0])}]}}"
        raise InputError("low must not be above high", path="range", value=flow(ends), hint=hint)
    if step is not None and step <= 0:
        raise InputError("must be above 0", path="step", value=raw["step"])
    if log and low <= 0:
        hint = "a logarithmic range starts above 0; to allow 0 as well, list the choices"
        raise InputError("low must be above 0 when log is true", path="range", value=flow(ends), hint=hint)
    if step is None and unit == "number" and isinstance(low, int) and isinstance(high, int):
        step = 1
    display = _display(ends, raw.get("step"))
    domain = Domain(None, low, high, step, unit, display, log, raw.get("when"), tie)
    if step is not None and not domain.dimension(path, ()).size():
        raise InputError(f"holds no multiple of the step {flow(raw['step'])}", path="range", value=flow(ends))
    return domain


def _named(raw: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    low, high = raw["range"]
    found = [("low", "range[0]", low), ("high", "range[1]", high)]
    return [*found, ("step", "step", raw["step"])] if "step" in raw else found


def _quantity(value: Any, where: str) -> tuple[float | int, str]:
    try:
        return parse_quantity(value)
    except InputError as error:
        raise error.within(prefix=where) from None


def _shared_unit(path: str, raw: Mapping[str, Any], found: dict[str, str]) -> str:
    """The dimension of ends and step; a bare 0 goes with any, another bare number beside a quantity is refused."""
    written = {name: value for name, _, value in _named(raw)}
    units = {unit for name, unit in found.items() if not (unit == "number" and parse_quantity(written[name])[0] == 0)}
    if len(units) > 1:
        bare = next((name for name, unit in found.items() if unit == "number"), None)
        if bare is None:
            raise InputError(f"mixes {' and '.join(sorted(units))}", value=flow(dict(raw)))
        dimension = next(unit for unit in units if unit != "number")
        right = {name: f"{flow(value)} {_example_unit(dimension)}" if found[name] == "number" and value else flow(value)
                 for name, value in written.items()}  # fmt: skip
        line = f"{path}: {{range: [{right['low']}, {right['high']}]" + (f", step: {right['step']}" if "step" in right else "")
        where = "step" if bare == "step" else "range"
        raise InputError("needs a unit", path=where, value=written[bare], hint=f"write {line}}}")
    return units.pop() if units else "number"


def _example_unit(dimension: str) -> str:
    return EXAMPLES.get(dimension, " ").split(" ", 1)[1]


def _display(ends: list[Any], step: Any) -> str:
    """The unit values are written in: that of the step, or of an end that is not 0."""
    for value in (step, ends[0], ends[1]):
        if isinstance(value, str) and parse_quantity(value)[1] != "number":
            return _NUMBER.sub("", value).strip()
    return ""


def range_line(dimension: Dimension) -> dict[str, Any]:
    """A range as YAML data that reads back equal."""
    assert dimension.low is not None and dimension.high is not None
    body: dict[str, Any] = {"range": [_exact(dimension, dimension.low), _exact(dimension, dimension.high)]}
    if dimension.step is not None:
        body["step"] = _exact(dimension, dimension.step)
    if dimension.log:
        body["log"] = True
    return body


def _exact(dimension: Dimension, number: float | int) -> Any:
    """A number of the range in the unit it was written in; whole bytes where that unit cannot hold it."""
    if not dimension.display:
        return number
    text = f"{number_text(float(f'{number / dimension.scale:.15g}'))} {dimension.display}"
    return text if parse_quantity(text)[0] == number else exact_bytes(int(number))
