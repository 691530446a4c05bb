"""The error tree: one root; what a user can cause is an `InputError` with where, which rule, what came and a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class SimcoreError(Exception):
    """Root of every error this project raises on purpose."""


class InternalError(SimcoreError):
    """One of our own laws does not hold (for example a conservation law); never the user's fault."""


class _Missing:
    """Marks "no value was involved", since None is a value a user may write."""

    def __repr__(self) -> str:
        return "MISSING"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()


class InputError(SimcoreError, ValueError):
    """The user's input is wrong. Prints as one message: file and line, dotted path, rule, value, remedy.

    Args:
        rule: what must hold, as a short phrase ("must be at least 0").
        file: the file it came from.
        path: dotted path inside the file ("tiers.hbm.capacity").
        value: what came instead, if a value was involved.
        hint: the remedy, or the nearest right name.
        line: line number in the file, from 1.
    """

    def __init__(
        self,
        rule: str,
        *,
        file: str | None = None,
        path: str | None = None,
        value: Any = MISSING,
        hint: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(rule)
        self.rule = rule
        self.file = str(file) if file is not None else None
        self.path = path
        self.value = value
        self.hint = hint
        self.line = line

    def __str__(self) -> str:
        where = self.file or ""
        if where and self.line is not None:
            where += f":{self.line}"
        parts = [p for p in (where, self.path) if p]
        text = ": ".join([*parts, self.rule])
        if self.value is not MISSING:
            text += f"; got {shown(self.value)}"
        if self.hint:
            text += f". {self.hint[0].upper()}{self.hint[1:]}"
        return text

    def within(self, *, file: str | None = None, prefix: str | None = None, line: int | None = None) -> InputError:
        """A copy with context the raiser could not know. What is already set stays."""
        path = ".".join(p for p in (prefix, self.path) if p) or None
        return type(self)(
            self.rule,
            file=self.file if self.file is not None else file,
            path=path,
            value=self.value,
            hint=self.hint,
            line=self.line if self.line is not None else line,
        )

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """The `--json` shape of an error; `line` is there only where one is known."""
        value = None if self.value is MISSING else self.value
        if not isinstance(value, (str, int, float, bool, type(None))):
            value = shown(value)
        line = {} if self.line is None else {"line": self.line}
        fields = {"file": self.file, **line, "path": self.path, "rule": self.rule, "value": value, "hint": self.hint}
        return {"error": fields}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.rule, self.file, self.path, self.value, self.hint, self.line)


def _rebuild(kind: type[InputError], rule: str, *fields: Any) -> InputError:
    file, path, value, hint, line = fields
    return kind(rule, file=file, path=path, value=value, hint=hint, line=line)


def shown(value: Any) -> str:
    """`value` as a user would type it, shortened to fit a message."""
    text = value if isinstance(value, str) else repr(value)
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif value is None:
        text = "nothing"
    text = " ".join(text.split()) or '""'
    return text if len(text) <= 120 else text[:117] + "..."


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The closest right spelling of `name`, or None when nothing is close."""
    found = difflib.get_close_matches(str(name), [str(n) for n in names], n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest right name, else the list of names."""
    known = sorted(str(n) for n in names)
    close = nearest(name, known)
    if close is not None:
        return f"did you mean {close}?"
    return f"one of: {', '.join(known)}" if known else "none exists"
