"""What `search` and `front` say about a study: the text and the JSON object are made here, from the same trials."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simcore
from dse.analysis.infeasible import infeasible_lines, nearest
from dse.analysis.text import Run, Text, commands, fronts_text, headed
from dse.analysis.values import wrapped
from dse.analysis.view import Front, fronts_of
from dse.commands.output import Output, highlighted
from dse.storage.folder import STUDIES
from simcore.errors import SimcoreError

if TYPE_CHECKING:
    from dse.space import Space
    from dse.study import Study
    from dse.trial import Trial

PROSE = 80


def statements(space: Space, trial: Trial | None) -> tuple[str, ...]:
    """What the simulator says about its own accuracy on this design (the base scenario without one)."""
    point: Mapping[str, Any] = {} if trial is None else trial.point
    try:
        return tuple(simcore.trust(simcore.build_scenario(space.scenario(point), base_dir=space.base_dir)))
    except SimcoreError as error:
        return (f"Accuracy unknown: the scenario cannot be built here ({error}).",)


def accuracy(study: Study) -> tuple[str, ...]:
    """The simulator's statements about the knee, or the cheapest design of the front."""
    first = next((f for f in fronts_of(study) if f.designs), None)
    return statements(study.space, None if first is None else first.knee or first.designs[0])


def continuing(study: Study) -> str:
    """The command that goes on with a study, known from its folder alone; empty for one that is not in studies/."""
    if study.folder != STUDIES / study.name:
        return ""
    name = "" if study.name == study.space.name else f" --study {shlex.quote(study.name)}"
    return f"dse search {shlex.quote(str(study.folder / 'space.yaml'))}{name}"


def exit_status(study: Study) -> int:
    """3 when nothing is feasible, 1 when every design failed inside, else 0."""
    if any(t.feasible for t in study.trials):
        return 0
    return 1 if study.trials and all(t.state == "failed" for t in study.trials) else 3


def study_text(study: Study, run: Run, output: Output) -> str:
    """The whole text at the end of a search."""
    prose = min(output.width, PROSE)
    lines = headed(study.space, study.trials, run, prose, exit_status(study))
    lines += wrapped(study.note, prose) if study.note else []
    found = fronts_of(study)
    if exit_status(study):
        lines += ["", *infeasible_lines(found[0], prose), "", "Next", *commands(found[0], run, prose)]
        return "\n".join(lines)
    return "\n".join([*lines, *coloured(fronts_text(found, run, width=output.width), output)])


def coloured(text: Text, output: Output) -> list[str]:
    """The lines of a text, its marked ones coloured on a terminal."""
    return highlighted(text.lines, text.marked, output.colour)


def study_object(study: Study) -> dict[str, Any]:
    """The JSON object of `search` and `front`."""
    found = fronts_of(study)
    data: dict[str, Any] = {
        "study": study.name,
        "objectives": [m.key for m in study.space.objectives],
        "constraints": [c.text for c in (*study.space.path_constraints, *study.space.metric_constraints)],
        "counts": study.counts,
        "hypervolume": study.hypervolume,
        "front": [design_object(front, trial) for front in found for trial in front.designs],
    }
    if not any(t.feasible for t in study.trials):
        data["nearest"] = [
            {**design_object(found[0], t), "misses": study.space.misses(t.metrics)} for t in nearest(study.trials)
        ]
    return data


def design_object(front: Front, trial: Trial) -> dict[str, Any]:
    """One design: number, point, metrics; the member on a member's front."""
    values = trial.combined if front.member is None else trial.metrics[front.member]
    data = {"number": trial.number, "design": dict(trial.point), "metrics": dict(values)}
    return data if front.member is None else {**data, "member": front.member}


def write_page(study: Study, trust: Sequence[str]) -> Path:
    """Write report.html into the study's folder."""
    from dse.analysis.report import write_report
    from dse.versions import versions

    settings = study.settings
    provenance = {
        "sampler": settings.sampler,
        "seed": str(settings.seed),
        "batch": str(settings.batch_size),
        **versions(),
    }
    try:
        return write_report(study.folder, study.space, study.trials, statements=trust, provenance=provenance, base=study.base)
    except OSError as error:
        (study.folder / "report.html.part").unlink(missing_ok=True)
        rule = f"{study.folder / 'report.html'}: cannot be written: {error.strerror or error}"
        raise SimcoreError(f"{rule}. All trials are stored; then: dse report {shlex.quote(study.name)}") from None
