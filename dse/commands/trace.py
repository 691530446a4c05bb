"""`dse trace describe`: a trace in numbers, before anything is simulated."""

from __future__ import annotations

import sys
from pathlib import Path

import simcore
from dse.analysis.trace_text import trace_lines
from dse.commands.output import Output
from simcore.errors import InputError

WIDEST = 100


def describe(path: Path, reader: str | None, options: tuple[str, ...], output: Output) -> int:
    """Read a trace of any known format and print what it holds."""
    progress = _Progress(quiet=output.quiet)
    try:
        found = simcore.describe_trace(path, reader=reader, options=options, progress=progress)
    except InputError as error:
        raise _as_flags(error) from None
    finally:
        progress.close()
    flags = [*(["--reader", reader] if reader else []), *(part for option in options for part in ("--option", option))]
    output.answer("\n".join(trace_lines(found, min(output.width, WIDEST), flags)), found)
    return 0


def _as_flags(error: InputError) -> InputError:
    """The same mistake, its remedy in words of the command line."""
    hint = error.hint.replace("reader: NAME", "--reader NAME") if error.hint else error.hint
    return InputError(error.rule, file=error.file, path=error.path, value=error.value, hint=hint, line=error.line)


class _Progress:
    """How far the pass over the accesses is, in one line of a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._live = not quiet and sys.stderr.isatty()
        self._shown = ""

    def __call__(self, done: int, total: int) -> None:
        text = f"reuse distances {100 * done // total} %"
        if self._live and text != self._shown:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            self._shown = text

    def close(self) -> None:
        """Wipe the line."""
        if self._shown:
            print(f"\r{' ' * len(self._shown)}\r", end="", file=sys.stderr, flush=True)
