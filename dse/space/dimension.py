"""One dimension of a space: what a path may be, in words and in numbers, and its face towards Optuna."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dse.space.bound import Bound
from dse.space.expressions import number_text
from simcore.units import MIB, exact_bytes, parse_quantity

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution


@dataclass(frozen=True)
class Dimension:
    """A searched path: a list of choices, or a range of numbers.

    Args:
        path: as written; a `*` stays only where one dimension is tied over several targets.
        targets: the concrete dotted paths it sets.
        choices: YAML values; None for a range.
        low, high, step: ends (both included) and grid of a range in base units; step None: continuous.
        unit: dimension of the values ("bytes", "seconds", "number", ...); None for words and mappings.
        log: the range is searched on a logarithmic scale; with a step its values are the multiples of the step.
        when: the condition under which it counts; None: always.
        display: the unit its numbers are written in ("GiB"); "" for plain numbers.
    """

    path: str
    targets: tuple[str, ...]
    choices: tuple[Any, ...] | None = None
    low: float | int | None = None
    high: float | int | None = None
    step: float | int | None = None
    unit: str | None = None
    log: bool = False
    when: Bound | None = None
    display: str = ""

    @property
    def tied(self) -> bool:
        """Whether one value is set on several targets."""
        return len(self.targets) > 1 or "*" in self.path

    @property
    def continuous(self) -> bool:
        return self.choices is None and self.step is None

    def values(self) -> tuple[Any, ...] | None:
        """Every value as in YAML, in order; None for a continuous range."""
        if self.choices is not None:
            return self.choices
        if self.step is None:
            return None
        first, last, _ = self._grid
        return tuple(self._value(i) for i in range(first, last + 1))

    def size(self) -> int | None:
        """The number of values; None for a continuous range."""
        if self.choices is not None:
            return len(self.choices)
        if self.step is None:
            return None
        first, last, _ = self._grid
        return last - first + 1

    def ends(self) -> tuple[Any, ...]:
        """The choices, or the lowest and the highest value of a range."""
        if self.choices is not None:
            return self.choices
        if self.step is None:
            return tuple(dict.fromkeys((self.value_at(self.low), self.value_at(self.high))))
        first, last, _ = self._grid
        return tuple(dict.fromkeys((self._value(first), self._value(last))))

    # -- numbers -------------------------------------------------------------------------------------------------------

    @cached_property
    def scale(self) -> float | int:
        """Base units in one display unit."""
        return parse_quantity(f"1 {self.display}")[0] if self.display else 1

    @cached_property
    def _grid(self) -> tuple[int, int, Decimal]:
        """First and last index of a stepped range and its origin: value = origin + index * step, in display units."""
        low, high, step = (self._display(x) for x in (self.low, self.high, self.step))
        if self.log:
            return math.ceil(low / step), math.floor(high / step), Decimal(0)
        return 0, math.floor((high - low) / step), low

    def _display(self, value: float | int | None) -> Decimal:
        assert value is not None
        if isinstance(value, int) and isinstance(self.scale, int):
            return Decimal(value) / Decimal(self.scale)
        return Decimal(number_text(float(f"{value / self.scale:.12g}")))

    def _value(self, index: int) -> Any:
        """The YAML value at an index of the grid."""
        _, _, origin = self._grid
        number = origin + index * self._display(self.step)
        return self._yaml(number)

    def value_at(self, number: float | int | None) -> Any:
        """The YAML value nearest to a number in base units, inside the range."""
        assert number is not None and self.low is not None and self.high is not None
        number = min(max(number, self.low), self.high)
        if self.step is not None:
            first, last, origin = self._grid
            index = round((self._display(number) - origin) / self._display(self.step))
            return self._value(min(max(index, first), last))
        if self.unit == "bytes":
            rounded = round(number / MIB) * MIB
            return exact_bytes(rounded if self.low <= rounded <= self.high else round(number)) if number else 0
        return self._yaml(self._display(number))

    def _yaml(self, number: Decimal) -> Any:
        if self.unit == "bytes":
            amount = int((number * int(self.scale)).to_integral_value())
            return exact_bytes(amount) if amount else 0
        whole = number == number.to_integral_value()
        if not self.display:
            return int(number) if whole and isinstance(self.low, int) and isinstance(self.step, int) else float(number)
        return f"{int(number) if whole else float(number)} {self.display}" if number else 0

    # -- Optuna --------------------------------------------------------------------------------------------------------

    @property
    def parameter(self) -> str:
        """The name of its Optuna parameter: the path, with the unit a number counts in ("tiers.hbm.capacity [GiB]")."""
        if self.choices is not None:
            return self.path
        step = self._display(self.step) if self.log and self.step is not None else Decimal(1)
        counted = " ".join(x for x in (f"{step.normalize():f}" if step != 1 else "", self.display) if x)
        return f"{self.path} [{counted}]" if counted else self.path

    @cached_property
    def labels(self) -> dict[str, Any]:
        """Short text of each choice -> its YAML value."""
        return {choice_label(choice): choice for choice in self.choices or ()}

    @cached_property
    def _counts_whole(self) -> bool:
        """Whether the parameter of a stepped range is a whole number."""
        _, _, origin = self._grid
        numbers = (origin, self._display(self.step))
        return self.log or all(number == number.to_integral_value() for number in numbers)

    def _bounds(self) -> tuple[Decimal, Decimal, Decimal]:
        """Low, high and step of the parameter of a stepped range."""
        first, last, origin = self._grid
        if self.log:
            return Decimal(first), Decimal(last), Decimal(1)
        step = self._display(self.step)
        return origin, origin + last * step, step

    def distribution(self) -> BaseDistribution:
        """The Optuna distribution of `parameter`."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices is not None:
            return CategoricalDistribution(list(self.labels))
        if self.step is None:
            return FloatDistribution(float(self._display(self.low)), float(self._display(self.high)), log=self.log)
        low, high, step = self._bounds()
        if self._counts_whole:
            return IntDistribution(int(low), int(high), log=self.log, step=int(step))
        return FloatDistribution(float(low), float(high), step=float(step))

    def suggest(self, trial: Trial) -> Any:
        """Ask the trial's sampler for a YAML value."""
        if self.choices is not None:
            return self.decode(trial.suggest_categorical(self.parameter, list(self.labels)))
        if self.step is None:
            low, high = float(self._display(self.low)), float(self._display(self.high))
            return self.decode(trial.suggest_float(self.parameter, low, high, log=self.log))
        bounds = self._bounds()
        if self._counts_whole:
            start, stop, stride = map(int, bounds)
            return self.decode(trial.suggest_int(self.parameter, start, stop, step=stride, log=self.log))
        low, high, step = map(float, bounds)
        return self.decode(trial.suggest_float(self.parameter, low, high, step=step))

    def decode(self, parameter: Any) -> Any:
        """The YAML value of an Optuna parameter value."""
        if self.choices is not None:
            return self.labels[parameter]
        number = float(parameter)
        if self.step is None:
            return self.value_at(number * self.scale)
        if self.log:
            return self._value(round(number))
        _, _, origin = self._grid
        return self._value(round((Decimal(repr(number)) - origin) / self._display(self.step)))

    def encode(self, value: Any) -> Any:
        """The Optuna parameter value of a YAML value; the inverse of `decode`."""
        if self.choices is not None:
            return choice_label(value)
        number = self._display(parse_quantity(value)[0])
        if self.step is None:
            return float(number)
        if self.log:
            return round(number / self._display(self.step))
        return int(number) if self._counts_whole else float(number)


def choice_label(choice: Any) -> str:
    """A choice as short text: words as they stand, mappings as compact flow text."""
    if isinstance(choice, str):
        return choice
    return json.dumps(choice, sort_keys=False, separators=(",", ":"))
