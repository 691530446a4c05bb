"""Expressions: text to tree and back, meaning against Python's own reading of the same text, nothing executed."""

from __future__ import annotations

import contextlib
import math
import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.space.binding import bind
from dse.space.bound import Symbol
from dse.space.expressions import OPERATORS, Comparison, Expression, Sum, Term, Word, parse
from dse.space.quantities import base_value, dimension_of
from simcore.errors import InputError

GIB = 2**30
names = st.sampled_from(["a", "b", "c", "tiers.hbm.capacity", "cxl2-x8", "engine.max_num_seqs", "groups.*.k", "x_1.y-2"])
factors = st.integers(1, 50).map(float) | st.floats(1e-6, 1e9, allow_nan=False)
signs = st.sampled_from([1.0, -1.0])
units = st.sampled_from(["", " GiB", " ms", " %", " GB/s", " /s", " USD", " tokens/s"])
constants = st.builds(lambda n, u: f"{n}{u}", st.integers(0, 10**6) | st.sampled_from(["0.5", "1e-3", "2.25"]), units)
terms = st.builds(lambda s, f, n: Term(s * f, n), signs, factors, names) | st.builds(
    lambda s, c: Term(s, constant=c), signs, constants
)
sums = st.lists(terms, min_size=1, max_size=3).map(lambda found: Sum(tuple(found)))
sides = sums | st.text("abc .-'x<>=0*", max_size=8).map(Word)
comparisons = st.builds(Comparison, sides, st.sampled_from(OPERATORS), sides)
expressions = st.lists(st.lists(comparisons, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(
    lambda groups: Expression(tuple(groups))
)


class Plain:
    """A scope in which every name is a plain number, or what it is told."""

    def __init__(self, **symbols: Symbol) -> None:
        self.symbols = symbols

    def symbol(self, name: str) -> Symbol | None:
        return self.symbols.get(name)

    def names(self) -> Iterable[str]:
        return self.symbols


NUMBERS = Plain(**{n: Symbol(n, "path", "number") for n in "abcde"})
MIXED = Plain(
    size=Symbol("size", "path", "bytes"),
    other=Symbol("other", "path", "bytes"),
    count=Symbol("count", "path", "number"),
    load=Symbol("load", "path", "word", ("cheaper", "threshold")),
    flag=Symbol("flag", "path", "word"),
    share=Symbol("share", "path", "fraction"),
    nothing=Symbol("nothing", "path", "any"),
    tpot_p99=Symbol("tpot_p99_s", "metric", "seconds", unit="s"),
    quality_loss=Symbol("quality_loss", "metric", "fraction", unit="ratio"),
    hbm_cost_usd=Symbol("hbm_cost_usd", "metric", "usd", unit="USD"),
)


@given(expressions)
def test_printing_and_parsing_are_inverse(expression: Expression) -> None:
    assert parse(str(expression)) == expression


number_terms = st.builds(lambda s, f, n: Term(s * f, n), signs, st.integers(1, 9).map(float), st.sampled_from("abcde"))
number_constants = st.builds(lambda s, n: Term(s, constant=str(n)), signs, st.integers(0, 30))
number_sums = st.lists(number_terms | number_constants, min_size=1, max_size=3).map(lambda found: Sum(tuple(found)))
named_sums = st.builds(lambda t, rest: Sum((t, *rest)), number_terms, st.lists(number_terms, max_size=2))
number_expressions = st.lists(
    st.lists(st.builds(Comparison, named_sums, st.sampled_from(OPERATORS), number_sums), min_size=1, max_size=3).map(tuple),
    min_size=1,
    max_size=3,
).map(lambda groups: Expression(tuple(groups)))


@given(number_expressions, st.fixed_dictionaries({n: st.integers(-20, 20) for n in "abcde"}))
def test_meaning_is_that_of_python(expression: Expression, values: dict[str, int]) -> None:
    """The grammar is a subset of Python's, so Python itself is the naive twin."""
    expected = eval(str(expression), {"__builtins__": {}}, dict(values))
    bound = bind(parse(str(expression)), NUMBERS)
    assert bound.holds(values.get) is expected
    violation = bound.violation(values.get)
    assert violation is not None and (violation <= 0) is expected


@given(number_expressions)
def test_bound_expressions_cross_processes(expression: Expression) -> None:
    bound = bind(expression, NUMBERS)
    assert pickle.loads(pickle.dumps(bound)) == bound


@pytest.mark.parametrize(
    "text",
    [
        "a <= 3",
        "2*a+b >= c * 3 - 4",
        "load==threshold",
        "a<=1 and b>2 or c!=3",
        "size <= 1.5 GiB",
        'load == "a b"',
        "share <= 5%",
    ],
)
def test_spellings_parse(text: str) -> None:
    assert parse(str(parse(text))) == parse(text)


def test_number_may_stand_on_either_side() -> None:
    assert parse("a * 2 >= b") == parse("2 * a >= b")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "empty"),
        ("a", "needs a comparison"),
        ("a <=", "where the end stands"),
        ("a <= 3 <= 5", "two comparisons in a row.*Join them"),
        ("a = 3", "Equality is =="),
        ("(a <= 3)", "No parentheses"),
        ("a in [x, y]", "Write x == a or x == b"),
        ("2 a.b <= 5", "Write 2 \\* a.b"),
        ("2 a <= 5", "unknown unit 'a'"),
        ("a <= 5 GiB * b", "a factor has no unit"),
        ("a <= 3 and", "where the end stands"),
        ("a / 2 <= 3", "0.5 \\* path"),
        ("a & b", "Write and"),
        ("size <= 80 GiBB", "unknown unit 'GiBB'.*Did you mean GiB"),
        ("a.b.*c <= 1", "needs a comparison"),
        ("a * b <= 1", "plain number after"),
    ],
)
def test_bad_grammar(text: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        parse(text)


@pytest.mark.parametrize("value", [5, None, True, ["a <= 3"]])
def test_only_text_is_an_expression(value: Any) -> None:
    with pytest.raises(InputError, match="must be an expression"):
        parse(value)


def test_mapping_form_shows_the_right_line() -> None:
    with pytest.raises(InputError, match="Write tpot_p99 <= 80 ms"):
        parse({"tpot_p99": "80 ms"})


@given(st.text(max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """Nothing else can come out of text, whatever it is."""
    with contextlib.suppress(InputError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true') == 0", "a <= open('/etc/passwd')", "lambda: 1", "a.__class__() == 1", "f'{a}' == b"],
)
def test_code_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        bind(parse(text), NUMBERS)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("size <= 1 GiB", {"size": GIB}, True),
        ("size < 1 GiB", {"size": GIB}, False),
        ("size == 0", {"size": 0}, True),
        ("size >= 2 * other", {"size": 4, "other": 2}, True),
        ("size + other <= 1 TiB", {"size": 512 * GIB, "other": 512 * GIB}, True),
        ("size - other > 0", {"size": 2, "other": 3}, False),
        ("load == threshold", {"load": "threshold"}, True),
        ("threshold == load", {"load": "cheaper"}, False),
        ("load != threshold", {"load": "cheaper"}, True),
        ("flag == true", {"flag": True}, True),
        ("flag == false", {"flag": True}, False),
        ("tpot_p99 <= 80 ms", {"tpot_p99_s": 0.08}, True),
        ("quality_loss <= 2 %", {"quality_loss": 0.02}, True),
        ("quality_loss <= 0.02", {"quality_loss": 0.021}, False),
        ("hbm_cost_usd <= 800", {"hbm_cost_usd": 799.0}, True),
        ("hbm_cost_usd <= 800 USD", {"hbm_cost_usd": 801.0}, False),
        ("count == 16 or size == 0", {"count": 16, "size": 5}, True),
        ("nothing <= 4 GiB", {"nothing": 0}, True),
        ("size <= 1 GiB", {}, False),
        ("load == threshold", {}, False),
    ],
)
def test_meaning_with_units_and_words(text: str, values: dict[str, Any], expected: bool) -> None:
    assert bind(parse(text), MIXED).holds(values.get) is expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("size <= 64", 'needs a unit.*Write it like "64 GiB"'),
        ("tpot_p99 <= 80", 'needs a unit.*Write it like "80 ms"'),
        ("tpot_p99 <= 80 GiB", "compares seconds with bytes"),
        ("size <= tpot_p99", "mixes"),
        ("size + count <= 3 GiB", "mixes bytes .size. with a plain number .count."),
        ("load <= threshold", "== or !="),
        ("load == treshold", "load is never treshold.*Did you mean threshold"),
        ("load == 3", "compares a word with a number"),
        ("load + size <= 3 GiB", "is a word"),
        ("szie <= 3 GiB", "unknown path or metric szie.*Did you mean size"),
        ("tpot_p98 <= 80 ms", "unknown path or metric tpot_p98.*Did you mean tpot_p99"),
        ("3 <= 4", "names no path and no metric"),
        ("size <= 3 GiB and cuont == 2", "unknown path or metric cuont"),
        ("2 * szie >= size", "unknown path or metric szie"),
        ("size == big", "unknown path or metric big"),
        ('size == "big"', "compares a number with a word"),
        ('"a" == "b"', "names no path and no metric"),
    ],
)
def test_bad_meaning(text: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        bind(parse(text), MIXED)


@pytest.mark.parametrize(
    ("text", "values", "violation", "said"),
    [
        ("tpot_p99 <= 80 ms", {"tpot_p99_s": 0.088}, 0.1, "tpot_p99 88.0 ms > 80 ms"),
        ("80 ms >= tpot_p99", {"tpot_p99_s": 0.088}, 0.1, "tpot_p99 88.0 ms > 80 ms"),
        ("tpot_p99 < 80 ms", {"tpot_p99_s": 0.08}, 1e-12, "tpot_p99 80.0 ms >= 80 ms"),
        ("quality_loss <= 0.02", {"quality_loss": 0.031}, 0.55, "quality_loss 3.10 % > 2.00 %"),
        ("quality_loss <= 2 %", {"quality_loss": 0.01}, -0.5, None),
        ("size >= 4 GiB", {"size": 3 * GIB}, 0.25, "size 3 GiB < 4 GiB"),
        ("size >= other", {"size": 3 * GIB, "other": 4 * GIB}, 0.25, "size 3 GiB < other 4 GiB"),
        ("size <= 0", {"size": 3 * GIB}, 3.0, "size 3 GiB > 0"),
        ("load == threshold", {"load": "cheaper"}, 1.0, "load cheaper != threshold"),
        ("count != 3", {"count": 3}, 1.0, "count 3 == 3"),
        (
            "tpot_p99 <= 80 ms and quality_loss <= 2 %",
            {"tpot_p99_s": 0.088, "quality_loss": 0.03},
            0.5,
            "quality_loss 3.00 % > 2 %",
        ),
        (
            "tpot_p99 <= 80 ms or quality_loss <= 2 %",
            {"tpot_p99_s": 0.088, "quality_loss": 0.03},
            0.1,
            "tpot_p99 88.0 ms > 80 ms",
        ),
    ],
)
def test_violation_is_the_scaled_excess(text: str, values: dict[str, Any], violation: float, said: str | None) -> None:
    bound = bind(parse(text), MIXED)
    found = bound.violation(values.get)
    assert found is not None and math.isclose(found, violation, rel_tol=1e-9)
    if said is not None:
        assert bound.describe(values.get) == said


def test_unknown_value_has_no_violation() -> None:
    assert bind(parse("tpot_p99 <= 80 ms"), MIXED).violation({}.get) is None
    assert bind(parse("tpot_p99 <= 80 ms or size == 0"), MIXED).violation({"size": 0}.get) == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, "64 GiB"], "bytes"),
        ([0], "any"),
        ([16, 32], "number"),
        (["lru", "fifo"], "word"),
        ([True, False], "word"),
        ([4, "8 /s"], "per_second"),
        (["4 GiB", "80 ms"], "word"),
        ([4, "8 GiB"], "word"),
        ([None, 100], "number"),
        (["bf16", {"k": "bf16"}], None),
    ],
)
def test_dimension_of_choices(values: list[Any], expected: str | None) -> None:
    assert dimension_of(values) == expected


@pytest.mark.parametrize(
    ("value", "base"), [("4 GiB", 4 * GIB), ("lru", "lru"), (True, True), (3, 3), (None, None), ({}, None)]
)
def test_base_value(value: Any, base: Any) -> None:
    assert base_value(value) == base


def test_stars_take_the_keys_of_the_match() -> None:
    filled = parse("tiers.*.policy == sieve and count <= 3").with_stars(("dram",))
    assert str(filled) == "tiers.dram.policy == sieve and count <= 3"
    with pytest.raises(InputError, match="more \\* than"):
        parse("a.*.b.* == x").with_stars(("dram",))
