"""What the names of an expression mean, and whether its units fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dse.space.bound import Bare, Bound, BoundComparison, Linear, Symbol
from dse.space.expressions import Comparison, Expression, Side, Sum, Word
from dse.space.quantities import STRICT
from simcore.errors import InputError, did_you_mean, nearest
from simcore.units import EXAMPLES, parse_quantity


class Scope(Protocol):
    """Names an expression may use."""

    def symbol(self, name: str) -> Symbol | None:
        """The meaning of a name, None when unknown."""

    def names(self) -> Iterable[str]:
        """Every known name, for hints."""


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
    if isinstance(left, Bare) and isinstance(right, Bare):
        raise InputError("names no path and no metric", value=text)
    if not isinstance(left, Symbol) and not isinstance(right, Symbol):
        raise InputError("compares a number with a word", value=text)
    if left is None or right is None:
        word_path = next(side for side in words if isinstance(side, Symbol))
        raise InputError("compares a word with a number", value=text, hint=f"{word_path.name} is a word")
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
        if found in ("any", dimension) or (found == "number" and dimension not in STRICT | {"any"}):
            continue
        if dimension == "any" or (dimension == "number" and found not in STRICT):
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
    if found == dimension or (found == "number" and (value == 0 or dimension not in STRICT)) or dimension == "any":
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
