"""`dse report`: write report.html of a stored study again."""

from __future__ import annotations

from dse.commands.output import Output
from dse.commands.study_text import accuracy, write_page
from dse.study import load_study


def run(name: str, output: Output) -> int:
    """Write the page and print where it is."""
    study = load_study(name)
    page = write_page(study, accuracy(study))
    output.answer(str(page), {"study": study.name, "report": str(page)})
    return 0
