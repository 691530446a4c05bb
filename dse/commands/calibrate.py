"""`dse calibrate`: constants fitted to a user's measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import simcore
from dse.analysis.calibration_text import as_object, lines
from dse.commands.output import Output
from dse.commands.written import check_folder, write_output
from simcore.errors import InputError


def run(files: Sequence[str], said: Mapping[str, Any], written: str | None, output: Output) -> int:
    """Fit, write the file of constants, print what came out."""
    target = Path(written) if written else None
    if target is not None and target.suffix not in (".yaml", ".yml"):
        raise InputError("must end in .yaml, so that engine.family knows it for a path", path="--output", value=written)
    if target is not None and target.exists() and not target.is_file():
        raise InputError("must be a file", path="--output", value=written)
    if target is not None:
        check_folder(target)
    found = simcore.calibrate_files(files, said)
    if target is not None and found.text:
        write_output(target, found.text.encode())
    where = str(target) if target is not None and found.text else None
    output.answer("\n".join(lines(found, where)), as_object(found, where))
    return 0
