"""An expression tied to what its names mean: units checked once, then decided, measured and described on values.

A bound expression is plain data (it pickles); the values come in through a function from name to value in base units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from dse.space.expressions import Comparison, Expression, Side, Sum, Word, number_text
from simcore.errors import InputError, did_you_mean, nearest
from simcore.units import EXAMPLES, GIB, exact_bytes, format_value, parse_quantity

Value = float | int | str | bool | None
Lookup = Callable[[str], Value]

_STRICT = {"bytes", "seconds", "bytes_per_second", "flops", "watts", "usd_per_gib"}
"""Dimensions whose numbers must carry a unit."""
_PRINTED = {"bytes": "bytes", "seconds": "s", "bytes_per_second": "bytes/s", "usd": "USD", "fraction": "ratio"}
_NEGATED = {"<=": ">", ">=": "<", "<": ">=", ">": "<=", "==": "!=", "!=": "=="}
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "==", "!=": "!="}
_LEAST = 1e-12
"""The violation of a strict comparison that is missed by nothing."""


@dataclass(frozen=True)
class Symbol:
    """What a name in an expression stands for.

    Args:
        name: canonical: the dotted path, or the exported key of a metric.
        kind: path or metric.
        dimension: of its numbers in base units; "word" for text and booleans; "any" for a 0 without a unit.
        words: the words it can take, if they are known.
        unit: of a metric, for printing.
    """

    name: str
    kind: Literal["path", "metric"]
    dimension: str
    words: tuple[str, ...] | None = None
    unit: str | None = None


class Scope(Protocol):
    """Names an expression may use."""

    def symbol(self, name: str) -> Symbol | None:
        """The meaning of a name, None when unknown."""

    def names(self) -> Iterable[str]:
        """Every known name, for hints."""


@dataclass(frozen=True)
class Linear:
    """`sum(factor * value(name)) + constant` in base units. `text` is the side as written."""

    terms: tuple[tuple[float, Symbol], ...]
    constant: float | int
    text: str
    dimension: str

    def value(self, lookup: Lookup) -> float | int | None:
        total: float | int = self.constant
        for factor, symbol in self.terms:
            value = lookup(symbol.name)
            if value is None or isinstance(value, str):
                return None
            total += value if factor == 1 else factor * value
        return total

    def printed(self, lookup: Lookup) -> str:
        """The value with its unit; a constant as it was written."""
        if not self.terms and not self.text.replace(".", "").isdigit():
            return self.text
        value = self.value(lookup)
        unit = next((s.unit for _, s in self.terms if s.unit), None) or _PRINTED.get(self.dimension, "")
        if self.dimension == "bytes" and isinstance(value, int) and value >= 0 and all(s.kind == "path" for _, s in self.terms):
            return exact_bytes(value) if value else "0"
        return format_value(value, unit) if unit or value is None else number_text(value)


@dataclass(frozen=True)
class Bare:
    """A word, or a boolean, to compare a path with."""

    word: str | bool

    def value(self, lookup: Lookup) -> str | bool:
        return self.word

    def printed(self, lookup: Lookup) -> str:
        return str(self.word).lower() if isinstance(self.word, bool) else self.word


@dataclass(frozen=True)
class BoundComparison:
    """One comparison with its meaning."""

    left: Linear | Bare | Symbol
    operator: str
    right: Linear | Bare | Symbol

    def symbols(self) -> tuple[Symbol, ...]:
        found: list[Symbol] = []
        for side in (self.left, self.right):
            if isinstance(side, Symbol):
                found.append(side)
            elif isinstance(side, Linear):
                found += [symbol for _, symbol in side.terms]
        return tuple(found)

    def violation(self, lookup: Lookup) -> float | None:
        """Scaled excess over the limit: positive when missed, None when a value is unknown."""
        left, right = _side_value(self.left, lookup), _side_value(self.right, lookup)
        if left is None or right is None:
            return None
        if self.operator in ("==", "!="):
            return self._unequal(left, right)
        assert not isinstance(left, str) and not isinstance(right, str)
        excess = left - right if self.operator in ("<=", "<") else right - left
        scaled = excess / self._scale(left, right)
        return _LEAST if scaled == 0 and self.operator in ("<", ">") else scaled

    def _unequal(self, left: float | int | str | bool, right: float | int | str | bool) -> float:
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        if self.operator == "!=":
            return 1.0 if same else -1.0
        if same:
            return 0.0
        if isinstance(left, (str, bool)) or isinstance(right, (str, bool)):
            return 1.0
        return abs(left - right) / self._scale(left, right)

    def _scale(self, left: float, right: float) -> float:
        constant_left = isinstance(self.left, Linear) and not self.left.terms
        limit = abs(left if constant_left else right)
        if limit:
            return limit
        dimension = self.left.dimension if isinstance(self.left, Linear) else "number"
        return float(GIB) if dimension == "bytes" else 1.0

    def describe(self, lookup: Lookup) -> str:
        """What is the case instead: "tpot_p99 86 ms > 80 ms"."""
        left, operator, right = self.left, self.operator, self.right
        if isinstance(left, Linear) and not left.terms:
            left, operator, right = right, _MIRRORED[operator], left
        text = f"{_side_text(left)} {_side_printed(left, lookup)} {_NEGATED[operator]} "
        if isinstance(right, Symbol) or (isinstance(right, Linear) and right.terms):
            text += f"{_side_text(right)} "
        return text + _side_printed(right, lookup)


def _side_value(side: Linear | Bare | Symbol, lookup: Lookup) -> Value:
    return lookup(side.name) if isinstance(side, Symbol) else side.value(lookup)


def _side_text(side: Linear | Bare | Symbol) -> str:
    return side.name if isinstance(side, Symbol) else side.text if isinstance(side, Linear) else str(side.word)


def _side_printed(side: Linear | Bare | Symbol, lookup: Lookup) -> str:
    if not isinstance(side, Symbol):
        return side.printed(lookup)
    value = lookup(side.name)
    return str(value).lower() if isinstance(value, bool) else "nothing" if value is None else str(value)


@dataclass(frozen=True)
class Bound:
    """An expression with its meaning; same shape as `Expression`."""

    alternatives: tuple[tuple[BoundComparison, ...], ...]
    text: str

    def symbols(self) -> tuple[Symbol, ...]:
        found = (s for group in self.alternatives for comparison in group for s in comparison.symbols())
        return tuple(dict.fromkeys(found))

    def holds(self, lookup: Lookup) -> bool:
        """Whether it is true. A comparison with an unknown value is false."""
        return any(all(_met(c.violation(lookup)) for c in group) for group in self.alternatives)

    def violation(self, lookup: Lookup) -> float | None:
        """Scaled excess: 0 or less when it holds. The worst of an `and`, the best of an `or`; None when unknown."""
        groups: list[float] = []
        for group in self.alternatives:
            excesses = [c.violation(lookup) for c in group]
            known = [e for e in excesses if e is not None]
            if len(known) == len(excesses):
                groups.append(max(known))
        return min(groups) if groups else None

    def describe(self, lookup: Lookup) -> str:
        """How it is missed: the comparison that misses by most, of the alternative that misses by least."""

        def excess(comparison: BoundComparison) -> float:
            value = comparison.violation(lookup)
            return float("inf") if value is None else value

        group = min(self.alternatives, key=lambda g: max(map(excess, g)))
        return max(group, key=excess).describe(lookup)


def _met(violation: float | None) -> bool:
    return violation is not None and violation <= 0


def bind(expression: Expression, scope: Scope) -> Bound:
    """Give every name its meaning and check the units.

    Raises:
        InputError: unknown name, mixed units, a bare number for a quantity, an impossible comparison.
    """
    groups = (tuple(_bind_comparison(c, scope) for c in group) for group in expression.alternatives)
    return Bound(tuple(groups), str(expression))


def _bind_comparison(comparison: Comparison, scope: Scope) -> BoundComparison:
    words = [_word_of(side, scope) for side in (comparison.left, comparison.right)]
    if words[0] is None and words[1] is None:
        return _numeric(comparison, scope)
    return _worded(comparison, words, scope)


def _word_of(side: Side, scope: Scope) -> Bare | Symbol | None:
    """The side as a word or a path that holds words; None for a number."""
    if isinstance(side, Word):
        return Bare(side.text)
    name = side.alone
    if name is None:
        return None
    symbol = scope.symbol(name)
    if symbol is None:
        return Bare(name == "true") if name in ("true", "false") else Bare(name)
    return symbol if symbol.dimension == "word" else None


def _worded(comparison: Comparison, words: list[Bare | Symbol | None], scope: Scope) -> BoundComparison:
    text = str(comparison)
    (left, right), sides = words, (comparison.left, comparison.right)
    for word, other, side in ((left, right, sides[0]), (right, left, sides[1])):
        suspicious = isinstance(word, Bare) and isinstance(side, Sum) and word.word is not True and word.word is not False
        if suspicious and (not isinstance(other, Symbol) or _is_path_like(str(side), scope)):
            raise _unknown(str(side), scope, text)
    if not isinstance(left, Symbol) and not isinstance(right, Symbol):
        raise InputError("compares a number with a word", value=text)
    if left is None or right is None:
        symbol = left if isinstance(left, Symbol) else right
        raise InputError("compares a word with a number", value=text, hint=f"{_side_text(symbol)} is a word" if symbol else None)
    if comparison.operator not in ("==", "!="):
        raise InputError("words are compared with == or !=", value=text)
    for word, other in ((left, right), (right, left)):
        if isinstance(word, Bare) and isinstance(other, Symbol) and other.words is not None:
            _check_word(word, other, text)
    return BoundComparison(left, comparison.operator, right)


def _is_path_like(name: str, scope: Scope) -> bool:
    """A dotted name that starts like a path of the scenario is a misspelt path, not a word."""
    head, dot, _ = name.partition(".")
    return bool(dot) and any(known == head or known.startswith(f"{head}.") for known in scope.names())


def _check_word(word: Bare, symbol: Symbol, text: str) -> None:
    shown = word.printed(lambda _: None)
    if symbol.words is not None and shown not in symbol.words:
        rule = f"{symbol.name} is never {shown}"
        close = nearest(shown, symbol.words)
        hint = f"did you mean {close}?" if close else f"it may be: {', '.join(symbol.words)}"
        raise InputError(rule, value=text, hint=hint)


def _unknown(name: str, scope: Scope, text: str) -> InputError:
    return InputError(f"unknown path or metric {name}", value=text, hint=_nearest_hint(name, scope))


def _nearest_hint(name: str, scope: Scope) -> str:
    names = list(scope.names())
    if nearest(name, names):
        return did_you_mean(name, names)
    return "paths start inside scenario (tiers.hbm.capacity); metrics are those of the METRICS table (ttft_p99)"


def _numeric(comparison: Comparison, scope: Scope) -> BoundComparison:
    text = str(comparison)
    assert isinstance(comparison.left, Sum) and isinstance(comparison.right, Sum)
    if comparison.left.is_constant and comparison.right.is_constant:
        raise InputError("names no path and no metric", value=text)
    known = [_dimensions(side, scope, text) for side in (comparison.left, comparison.right)]
    dimension = _common(known[0] + known[1], text)
    left, right = (_linear(side, scope, dimension, text) for side in (comparison.left, comparison.right))
    return BoundComparison(left, comparison.operator, right)


def _dimensions(side: Sum, scope: Scope, text: str) -> list[tuple[str, str]]:
    """(what, dimension) of every name of a side."""
    found = []
    for term in side.terms:
        if term.name is None:
            continue
        symbol = scope.symbol(term.name)
        if symbol is None:
            raise _unknown(term.name, scope, text)
        if symbol.dimension == "word":
            raise InputError(f"{symbol.name} is a word, it cannot be added or multiplied", value=text)
        found.append((term.name, symbol.dimension))
    return found


def _common(known: list[tuple[str, str]], text: str) -> str:
    """The dimension all names share; a plain number goes with any rate or ratio, a unitless 0 with everything."""
    dimension, named = "any", ""
    for name, found in known:
        if found in ("any", dimension) or (found == "number" and dimension not in _STRICT | {"any"}):
            continue
        if dimension == "any" or (dimension == "number" and found not in _STRICT):
            dimension, named = found, name
        else:
            mixed = f"mixes {_shown_dimension(dimension)} ({named}) with {_shown_dimension(found)} ({name})"
            raise InputError(mixed, value=text)
    return dimension


def _shown_dimension(dimension: str) -> str:
    return {"number": "a plain number", "fraction": "a ratio"}.get(dimension, dimension.replace("_", " "))


def _linear(side: Sum, scope: Scope, dimension: str, text: str) -> Linear:
    terms: list[tuple[float, Symbol]] = []
    constant: float | int = 0
    for term in side.terms:
        if term.name is not None:
            symbol = scope.symbol(term.name)
            assert symbol is not None
            terms.append((term.factor, symbol))
        else:
            amount = _amount(str(term.constant), dimension, text)
            constant += amount if term.factor > 0 else -amount
    return Linear(tuple(terms), constant, str(side), dimension)


def _amount(constant: str, dimension: str, text: str) -> float | int:
    value, found = parse_quantity(constant)
    if found == dimension or (found == "number" and (value == 0 or dimension not in _STRICT)) or dimension == "any":
        return value
    if found == "fraction" and dimension == "number":
        return value
    example = EXAMPLES.get(dimension, "")
    if found == "number":
        unit = example.split(" ", 1)[1]
        raise InputError("needs a unit", value=text, hint=f'write it like "{constant} {unit}"')
    wanted = _shown_dimension(dimension)
    rule = f"compares {wanted} with {_shown_dimension(found)} ({constant})"
    raise InputError(rule, value=text, hint=f"for example {example}" if example else f"write {wanted}")


def dimension_of(values: Iterable[Any]) -> str | None:
    """The dimension all `values` share as YAML: "bytes", "number", "word", "any" (only 0); None for mappings and lists."""
    result = "any"
    for value in values:
        if isinstance(value, (Mapping, list, tuple)):
            return None
        if value is not None:
            result = _joined(result, _dimension(value))
    return result


def _joined(one: str, other: str) -> str:
    if one == other or other == "any":
        return one
    if one == "any":
        return other
    pair = {one, other}
    return (pair - {"number"}).pop() if "number" in pair and not pair & (_STRICT | {"word"}) else "word"


def _dimension(value: Any) -> str:
    if isinstance(value, bool):
        return "word"
    try:
        number, dimension = parse_quantity(value)
    except InputError:
        return "word"
    return "any" if number == 0 and dimension == "number" else dimension


@lru_cache(maxsize=65536)
def _parsed(text: str) -> float | int | str:
    try:
        return parse_quantity(text)[0]
    except InputError:
        return text


def base_value(value: Any) -> Value:
    """A YAML value as expressions see it: a quantity in base units, a word, a boolean; None for anything else."""
    if isinstance(value, str):
        return _parsed(value)
    return value if isinstance(value, (bool, int, float)) else None
