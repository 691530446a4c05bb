"""The little language of `when` and `constraints`: text to a tree, and back. Nothing is ever evaluated as code.

    expression := all ("or" all)*               all  := comparison ("and" comparison)*
    comparison := side ("<=" | ">=" | "<" | ">" | "==" | "!=") side
    side       := term (("+" | "-") term)*      term := number "*" name | name "*" number | name | number [unit] | "text"

A name is a dotted path or a metric; which of the two, or a bare word, is decided by `dse.space.binding`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simcore.errors import InputError
from simcore.units import parse_quantity

OPERATORS = ("<=", ">=", "==", "!=", "<", ">")
_WORD = r"\w+(?:-+\w+)*"
_UNIT = r"%|(?!(?:and|or)\b)[A-Za-z$]+(?:/[A-Za-z]+)?|/[a-z]+"
_TOKENS = re.compile(
    rf"""\s*(?:
      (?P<operator><=|>=|==|!=|<|>)
    | (?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) (?:\s*(?P<unit>{_UNIT})(?![\w.]))?
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<name>(?!\d){_WORD}(?:\.(?:\*|{_WORD}))*)
    | (?P<sign>[+\-*])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Term:
    """`factor * name`, or a constant: a number with its unit as written (then `factor` is its sign)."""

    factor: float
    name: str | None = None
    constant: str | None = None

    def __str__(self) -> str:
        size = abs(self.factor)
        if self.name is None:
            return str(self.constant)
        return self.name if size == 1 else f"{number_text(size)} * {self.name}"


@dataclass(frozen=True)
class Sum:
    """Terms added up; a single name alone may turn out to be a bare word."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        text = "-" if self.terms[0].factor < 0 else ""
        text += str(self.terms[0])
        return text + "".join(f" {'-' if term.factor < 0 else '+'} {term}" for term in self.terms[1:])

    @property
    def alone(self) -> str | None:
        """The name, if this is one name and nothing else."""
        return self.terms[0].name if len(self.terms) == 1 and self.terms[0].factor == 1 else None

    @property
    def is_constant(self) -> bool:
        return all(term.name is None for term in self.terms)


@dataclass(frozen=True)
class Word:
    """Quoted text."""

    text: str

    def __str__(self) -> str:
        return f"'{self.text}'" if '"' in self.text else f'"{self.text}"'


Side = Sum | Word


@dataclass(frozen=True)
class Comparison:
    left: Side
    operator: str
    right: Side

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class Expression:
    """Alternatives joined by `or`, each a tuple of comparisons joined by `and`. Its text parses back equal."""

    alternatives: tuple[tuple[Comparison, ...], ...]

    def __str__(self) -> str:
        return " or ".join(" and ".join(str(c) for c in group) for group in self.alternatives)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(c for group in self.alternatives for c in group)

    def with_stars(self, matched: tuple[str, ...]) -> Expression:
        """The expression with the stars of each of its names replaced, in order, by `matched`."""

        def side(of: Side) -> Side:
            if isinstance(of, Word):
                return of
            terms = (Term(t.factor, t.name and _fill(t.name, matched), t.constant) for t in of.terms)
            return Sum(tuple(terms))

        groups = (tuple(Comparison(side(c.left), c.operator, side(c.right)) for c in g) for g in self.alternatives)
        return Expression(tuple(groups))


def _fill(name: str, matched: tuple[str, ...]) -> str:
    if name.count("*") > len(matched):
        raise InputError("has more * than the path it belongs to", value=name)
    for key in matched[: name.count("*")]:
        name = name.replace("*", key, 1)
    return name


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    unit: str | None = None


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while text[position:].strip():
        match = _TOKENS.match(text, position)
        if match is None:
            raise _unreadable(text, text[position:].strip())
        position = match.end()
        kind = match.lastgroup or ""
        if match["number"] is not None:
            found.append(_Token("number", match["number"], match["unit"]))
        elif kind == "name" and match["name"] in ("and", "or"):
            found.append(_Token("joint", match["name"]))
        else:
            found.append(_Token(kind, match[kind]))
    return found


def _unreadable(text: str, rest: str) -> InputError:
    grouping = "no parentheses here: `and` binds before `or`, and every constraint has a line of its own"
    hints = {
        "(": grouping,
        ")": grouping,
        "[": "write x == a or x == b",
        "=": "equality is ==",
        "&": "write and",
        "|": "write or",
        "/": "divide by multiplying: 0.5 * path",
    }
    hint = hints.get(rest[0], "for example: tiers.dram.capacity >= 2 * tiers.hbm.capacity")
    return InputError(f"cannot be read from {rest!r} on", value=text, hint=hint)


def parse(text: object) -> Expression:
    """Text to a tree.

    Raises:
        InputError: it does not follow the grammar.
    """
    if not isinstance(text, str):
        raise InputError("must be an expression", value=text, hint=_form_hint(text))
    return _Parser(text).expression()


def _form_hint(value: object) -> str:
    if isinstance(value, dict) and len(value) == 1:
        ((name, limit),) = value.items()
        return f"write {name} <= {limit}"
    return "for example: tpot_p99 <= 80 ms"


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.position = 0

    def expression(self) -> Expression:
        if not self.tokens:
            raise InputError("must be an expression, this is empty", hint="for example: tpot_p99 <= 80 ms")
        alternatives = [self._all()]
        while self._take("joint", "or"):
            alternatives.append(self._all())
        if self.position < len(self.tokens):
            raise self._unexpected("and, or, or the end")
        return Expression(tuple(alternatives))

    def _all(self) -> tuple[Comparison, ...]:
        group = [self._comparison()]
        while self._take("joint", "and"):
            group.append(self._comparison())
        return tuple(group)

    def _comparison(self) -> Comparison:
        left = self._side()
        operator = self._take("operator")
        if operator is None:
            raise self._unexpected("a comparison (<= >= < > == !=)")
        comparison = Comparison(left, operator.text, self._side())
        following = self._peek()
        if following is not None and following.kind == "operator":
            raise InputError("has two comparisons in a row", value=self.text, hint="join them: a <= b and b <= c")
        return comparison

    def _side(self) -> Side:
        quoted = self._take("text")
        if quoted is not None:
            return Word(quoted.text[1:-1])
        terms = [self._term(-1.0 if self._take("sign", "-") else 1.0)]
        while sign := self._take("sign", "+") or self._take("sign", "-"):
            terms.append(self._term(-1.0 if sign.text == "-" else 1.0))
        return Sum(tuple(terms))

    def _term(self, sign: float) -> Term:
        number = self._take("number")
        if number is not None:
            if self._take("sign", "*"):
                if number.unit is not None:
                    raise InputError("a factor has no unit", value=self.text, hint="write number * path")
                return Term(sign * _plain(number.text), self._name("a path after *").text)
            constant = number.text if number.unit is None else f"{number.text} {number.unit}"
            parse_quantity(constant)
            return Term(sign, constant=constant)
        name = self._name("a path, a metric or a value")
        if self._take("sign", "*"):
            factor = self._take("number")
            if factor is None or factor.unit is not None:
                self.position -= factor is not None
                raise self._unexpected("a plain number after *")
            return Term(sign * _plain(factor.text), name.text)
        return Term(sign, name.text)

    def _name(self, wanted: str) -> _Token:
        name = self._take("name")
        if name is None:
            raise self._unexpected(wanted)
        return name

    def _peek(self) -> _Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _take(self, kind: str, text: str | None = None) -> _Token | None:
        token = self._peek()
        if token is None or token.kind != kind or (text is not None and token.text != text):
            return None
        self.position += 1
        return token

    def _unexpected(self, wanted: str) -> InputError:
        token = self._peek()
        found = repr(token.text) if token else "the end"
        hint = None
        if token and token.kind == "name" and token.text == "in":
            hint = "write x == a or x == b"
        elif token and token.kind == "name" and self.position and self.tokens[self.position - 1].kind == "number":
            hint = f"write {self.tokens[self.position - 1].text} * {token.text}"
        return InputError(f"needs {wanted} where {found} stands", value=self.text, hint=hint)


def _plain(text: str) -> float:
    return float(parse_quantity(text)[0])
