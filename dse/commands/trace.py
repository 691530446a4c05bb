"""`dse trace describe`: a trace in numbers, before anything is simulated."""

from __future__ import annotations

from pathlib import Path

import simcore
from dse.analysis.trace_text import trace_lines
from dse.commands.mrc_arguments import reading_mistake
from dse.commands.output import Output, ProgressLine
from simcore.errors import InputError

WIDEST = 100


def describe(path: Path, reader: str | None, options: tuple[str, ...], output: Output) -> int:
    """Read a trace of any known format and print what it holds."""
    progress = ProgressLine(output, lambda done, of: f"reuse distances {100 * done // of} %")
    try:
        found = simcore.describe_trace(path, reader=reader, options=options, progress=progress)
    except InputError as error:
        raise reading_mistake(error, path, reader, options) from None
    finally:
        progress.close()
    flags = [*(["--reader", reader] if reader else []), *(part for option in options for part in ("--option", option))]
    output.answer("\n".join(trace_lines(found, min(output.width, WIDEST), flags)), found)
    return 0
