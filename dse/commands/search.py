"""`dse search`: from a space file to its front."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.analysis.text import Run
from dse.commands.output import Output
from dse.commands.study_text import accuracy, exit_status, study_object, study_text, write_page
from dse.progress import Progress
from dse.space import load_space
from dse.storage.folder import study_folder
from dse.study import run_search, total_trials
from dse.tracking.mlflow_run import MlflowTracker
from dse.tracking.null import NullTracker

if TYPE_CHECKING:
    from dse.space import Space
    from dse.study import Study

INTERRUPTED = 130
UNTRACKED = "none"


@dataclass(frozen=True)
class Request:
    """What the user asked for; None leaves the choice to the study or the space."""

    space: str
    assignments: tuple[str, ...] = ()
    trials: int | None = None
    seed: int | None = None
    sampler: str | None = None
    backend: str = "serial"
    workers: int | None = None
    storage: str | None = None
    tracking_uri: str | None = None
    study: str | None = None
    resume: bool = False

    @property
    def again(self) -> str:
        """The command without what a continued study knows by itself, copyable."""
        parts = ["dse", "search", self.space]
        parts += [part for text in self.assignments for part in ("--set", text)]
        parts += ["--study", self.study] if self.study else []
        parts += ["--seed", str(self.seed)] if self.seed is not None else []
        parts += ["--tracking-uri", self.tracking_uri] if self.tracking_uri else []
        return shlex.join(parts)


def run(request: Request, output: Output) -> int:
    """Search, write the report, print the front, close the record (which may take a while, so it comes last)."""
    space = load_space(request.space, request.assignments)
    folder = study_folder(request.study or space.name)
    tracker = NullTracker() if request.tracking_uri == UNTRACKED else MlflowTracker(request.tracking_uri)
    total = total_trials(space, folder, request.trials, request.resume)
    if output.verbose:
        for line in announcement(space):
            output.note(line)
    progress = Progress(folder.name, total, quiet=output.quiet)
    progress.start()
    began = time.monotonic()
    try:
        study = run_search(
            space,
            sampler=request.sampler,
            backend=request.backend,
            workers=request.workers,
            folder=folder,
            storage=request.storage,
            tracker=tracker,
            resume=request.resume,
            progress=progress,
            trials=request.trials,
            seed=request.seed,
        )
    except BaseException:
        progress.erase()
        raise
    progress.close()
    spent = time.monotonic() - began
    trust = accuracy(study)
    page = write_page(study, trust)
    record = None if isinstance(tracker, NullTracker) else _ui_command(request)
    facts = Run(study.name, str(study.folder), spent, trust, str(page), record, request.again)
    status = _answer(study, facts, total, output)
    tracker.finish(study)
    if tracker.not_recorded:
        output.warn(tracker.not_recorded)
    return status


def _answer(study: Study, facts: Run, total: int, output: Output) -> int:
    if study.status == "interrupted":
        output.answer(interrupted_text(study, facts, total), study_object(study))
        return INTERRUPTED
    output.answer(study_text(study, facts, output), study_object(study))
    return exit_status(study)


def interrupted_text(study: Study, facts: Run, total: int) -> str:
    """What is stored, and how to go on."""
    lines = [f"Stopped after {len(study.trials)} of {total} designs; all stored.", f"Continue: {facts.again} --resume"]
    if any(t.feasible for t in study.trials):
        lines.append(f"The front so far: dse front {facts.typed}")
    return "\n".join(lines)


def _ui_command(request: Request) -> str:
    return shlex.join(["dse", "ui", *(["--tracking-uri", request.tracking_uri] if request.tracking_uri else [])])


def announcement(space: Space) -> list[str]:
    """What is about to be searched, and which constraints cost a trial."""
    product = space.product()
    size = "no countable number of" if product is None else f"up to {product:,}"
    lines = [f"{space.name}: {len(space.dimensions)} dimensions, {size} designs, {len(space.members)} scenarios each."]
    for title, found in (
        ("checked before, free", space.path_constraints),
        ("judged after simulating", space.metric_constraints),
    ):
        lines += [f"Constraints {title}: {'; '.join(c.text for c in found)}."] if found else []
    return lines
