"""Where answers go: text or one JSON object on standard output, everything else on standard error.

With `--json` file descriptor 1 points at standard error while a command runs, so that a library which prints (even from
a subprocess) cannot spoil the object. Imports nothing heavy: this module loads with `dse --help`.
"""

from __future__ import annotations

import json as jsonlib
import math
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from typer.exceptions import TyperException

BOLD_GREEN, PLAIN = "\x1b[1;32m", "\x1b[0m"
WIDEST = 160


class OutputError(Exception):
    """Standard output takes no more."""


@dataclass(frozen=True)
class Output:
    """What a command writes to."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    json_fd: int = -1

    _current: ClassVar[Output | None] = None

    @classmethod
    @contextmanager
    def opened(cls, *, json: bool) -> Iterator[Output]:
        """The output of one run of `dse`; restores file descriptor 1 at the end."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        kept = -1
        if json:
            sys.stdout.flush()
            kept = os.dup(1)
            os.dup2(2, 1)
        before, Output._current = Output._current, cls(json=json, json_fd=kept)
        aside = redirect_stdout(sys.stderr) if json else nullcontext()
        try:
            with aside:
                yield Output._current
        finally:
            Output._current = before
            if json:
                os.dup2(kept, 1)
                os.close(kept)

    @classmethod
    def current(cls) -> Output:
        """The output of the run in progress."""
        return cls._current or cls()

    def configured(self, *, quiet: bool, verbose: bool) -> Self:
        """The same output with the command's own `-q` and `-v`."""
        return replace(self, quiet=quiet, verbose=verbose)

    def answer(self, text: str, data: Mapping[str, Any]) -> None:
        """The command's answer: `text` for people, `data` with `--json`."""
        if self.json:
            self.object(data)
        else:
            self.text(text)

    def text(self, text: str) -> None:
        """Text on standard output; a reader that has left (`| head`) is no error."""
        try:
            print(text, flush=True)
        except OSError as error:
            _give_up(error)

    def object(self, data: Mapping[str, Any]) -> None:
        """One JSON object on the real standard output."""
        line = jsonlib.dumps(plain(data), allow_nan=False) + "\n"
        payload = memoryview(line.encode())
        fd = self.json_fd if self.json_fd >= 0 else 1
        try:
            while payload:
                payload = payload[os.write(fd, payload) :]
        except OSError as error:
            _give_up(error)

    def warn(self, text: str) -> None:
        """Something the user must know, also with -q, on standard error."""
        print(text, file=sys.stderr)

    def note(self, text: str) -> None:
        """A diagnostic on standard error; silent with `-q`."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    @property
    def width(self) -> int:
        """Columns to print in: the terminal's, 80 when there is none."""
        return max(40, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))

    @property
    def colour(self) -> bool:
        """Whether standard output is a terminal that may be coloured."""
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
        return wanted and not self.json and sys.stdout.isatty()


class ProgressLine:
    """How far work is, in one line on standard error; on a terminal only, and not with `-q`.

    Args:
        say: the line, of (done, in all).
        first: the line before anything is done.
    """

    def __init__(self, output: Output, say: Callable[[int, int], str], first: str = "") -> None:
        self._say = say
        self._live = not output.quiet and sys.stderr.isatty()
        self._shown = ""
        self._draw(first)

    def __call__(self, done: int, of: int) -> None:
        self._draw(self._say(done, of))

    def _draw(self, text: str) -> None:
        if self._live and text != self._shown:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = text

    def close(self) -> None:
        """Take the line away."""
        self._draw("")


def _give_up(error: OSError) -> None:
    """Send what is still buffered nowhere, so that the interpreter does not stumble over it at its end.

    Raises:
        OutputError: it is more than a reader that has left.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not isinstance(error, BrokenPipeError):
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None


def highlighted(lines: Sequence[str], marked: Collection[int], colour: bool) -> list[str]:
    """`lines` with those at positions `marked` coloured, if colour is wanted."""
    return [f"{BOLD_GREEN}{line}{PLAIN}" if colour and i in marked else line for i, line in enumerate(lines)]


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: numpy scalars and arrays unwrapped, numbers that are not finite as null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, type(None))) else str(value)


def report_error(error: Exception, output: Output, *, traceback: bool = False) -> int:
    """Say once what is wrong, in the form asked for, and return the exit status."""
    from simcore.errors import InputError, SimcoreError

    if traceback and not isinstance(error, TyperException):
        from traceback import print_exception

        print_exception(error, file=sys.stderr)
    hint = None
    if isinstance(error, InputError):
        fields, message, status = error.as_dict(), str(error), 2
    else:
        if isinstance(error, TyperException):
            message, status = _usage(error), error.exit_code
        elif isinstance(error, (SimcoreError, OutputError)):
            message, status = str(error), 1
        else:
            message, status = " ".join(f"failed inside: {type(error).__name__}: {error}".split()).rstrip(": "), 1
            hint = None if traceback else "run it again with -v for the traceback"
        fields = {"error": {"file": None, "path": None, "rule": message, "value": None, "hint": hint}}
    text = f"dse: {message}" + (f"; {hint}" if hint else "")
    try:
        if output.json and not isinstance(error, OutputError):
            output.object(fields)
        else:
            print(text, file=sys.stderr)
    except OutputError:
        print(text, file=sys.stderr)
    return status


def _usage(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    text = " ".join(error.format_message().split())
    return f"{text} See: {context.command_path} --help" if context is not None else text
