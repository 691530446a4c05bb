"""`dse front`: the front of a stored study, all of it, around its knee, or under one more condition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.analysis.text import Run, compared, headed, table_text
from dse.analysis.values import wrapped
from dse.analysis.view import KNEE, Front, fronts_of
from dse.analysis.whatif import SINGLE_CHANGES, Step, neighbours, single_changes, step_lines, why
from dse.commands.output import Output
from dse.commands.study_text import (
    PROSE,
    accuracy,
    coloured,
    continuing,
    design_object,
    exit_status,
    study_object,
    study_text,
)
from dse.space import Constraint, read_expression
from dse.study import Study, load_study
from dse.tracking.mlflow_state import read_state
from dse.trial import Trial
from simcore.errors import InputError

NOTHING = 3


def run(name: str, every: bool, knee: bool, where: str | None, output: Output) -> int:
    """Print the front, or the part of the answer that was asked for."""
    if knee and (every or where):
        raise InputError("does not go with --all or --where", path="--knee", hint="run it alone")
    study = load_study(name)
    if not study.trials:
        hint = f"continue: {continuing(study)} --resume" if continuing(study) else None
        raise InputError("has no designs yet", file=str(study.folder), hint=hint)
    if where is not None:
        return _where(study, where, every, output)
    if knee and exit_status(study) == 0:
        return _knee(study, output)
    if every and exit_status(study) == 0:
        lines = headed(study.space, study.trials, _facts(study), min(output.width, PROSE))
        for front in fronts_of(study):
            lines += coloured(table_text(front, _facts(study), width=output.width, every=True), output)
        output.answer("\n".join(lines), study_object(study))
        return 0
    output.answer(study_text(study, _facts(study, accuracy(study)), output), study_object(study))
    return exit_status(study)


def _facts(study: Study, trust: tuple[str, ...] = ()) -> Run:
    page = study.folder / "report.html"
    tracked = "dse ui" if read_state(study.folder) is not None else None
    total = study.settings.trials
    missing = len(study.trials) < total and len(study.trials) != study.space.size()
    return Run(
        study.name,
        str(study.folder),
        statements=trust,
        report=str(page) if page.exists() else None,
        record=tracked,
        again=continuing(study),
        wanted=total if missing else None,
    )


def _where(study: Study, text: str, every: bool, output: Output) -> int:
    """The front among the designs that meet one more condition: what that constraint would have left."""
    try:
        condition = read_expression(study.space, text)
    except InputError as error:
        raise error.within(prefix="--where") from None
    lines = headed(study.space, study.trials, _facts(study), min(output.width, PROSE))
    data = {**study_object(study), "where": condition.text, "front": list[dict[str, Any]]()}
    for front in fronts_of(study):
        kept = tuple(t for t in front.trials if t.feasible and holds(front, condition, t))
        left = replace(front, trials=kept)
        lines += ["", f"Under {condition.text}: {len(kept)} of {len(front.feasible)} feasible designs."]
        if kept:
            lines += coloured(table_text(left, _facts(study), width=output.width, every=every), output)
        data["front"] += [design_object(left, t) for t in left.designs]
    output.answer("\n".join(lines), data)
    return 0 if data["front"] else NOTHING


def holds(front: Front, condition: Constraint, trial: Trial) -> bool:
    """Whether a design meets a condition on paths or on the metrics of this front."""
    if condition.kind == "path":
        return condition.holds(front.space.lookup(trial.point))
    return condition.holds(lambda key: front.value(trial, key))


def _knee(study: Study, output: Output) -> int:
    lines = headed(study.space, study.trials, _facts(study), min(output.width, PROSE))
    data = {**study_object(study), "knees": list[dict[str, Any]]()}
    for front in fronts_of(study):
        lines += ["", *knee_lines(front, min(output.width, PROSE))]
        if front.knee is not None:
            data["knees"].append(_knee_object(front, front.knee))
    output.answer("\n".join(lines), data)
    return 0


def knee_lines(front: Front, width: int) -> list[str]:
    """Why the knee, its neighbours on the front, and single changes to it that were evaluated."""
    lines = wrapped(compared(front), width)
    if front.knee is None:
        return [*lines, "No knee: that takes two objectives and three designs on the front."]
    lines += ["", f"Why design {front.knee.number}", *wrapped(f"  The {KNEE}.", width, "  ")]
    lines += wrapped(f"  {why(front)}", width, "  ")
    lines += ["", "Steps along the front", *step_lines(front, neighbours(front, front.knee), front.knee, width)]
    single = single_changes(front, front.knee)[:SINGLE_CHANGES]
    if single:
        lines += ["", "One change to it, among the feasible designs evaluated"]
        lines += step_lines(front, single, front.knee, width)
    return lines


def _knee_object(front: Front, knee: Trial) -> dict[str, Any]:
    def shown(step: Step) -> dict[str, Any]:
        changes = {path: {"from": before, "to": after} for path, before, after in step.changes}
        moves = {m.key: move for m, move in zip(front.objectives, step.moves, strict=True)}
        return {"number": step.trial.number, "changes": changes, "moves": moves}

    return {
        "number": knee.number,
        **({"member": front.member} if front.member is not None else {}),
        "steps": [shown(s) for s in neighbours(front, knee)],
        "single_changes": [shown(s) for s in single_changes(front, knee)[:SINGLE_CHANGES]],
    }
