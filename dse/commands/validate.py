"""`dse validate`: published and measured quantities against ours."""

from __future__ import annotations

from pathlib import Path

import simcore
from dse.analysis.validation_text import counts, validation_text
from dse.commands.output import Output, ProgressLine


def run(system: str | None, traces: Path | None, every: bool, output: Output) -> int:
    """Compute our side of every published quantity and print both; 1 if one misses its tolerance and is no known gap."""
    progress = ProgressLine(output, lambda done, of: f"computing {done + 1}/{of}", "computing")
    try:
        rows = simcore.validation_cases(system=system, traces=traces, progress=progress)
    finally:
        progress.close()
    data = {"cases": [row.as_dict() for row in rows], "counts": counts(rows)}
    output.answer("\n".join(validation_text(rows, output.width, every=every)), data)
    return 1 if any(row.failed for row in rows) else 0
