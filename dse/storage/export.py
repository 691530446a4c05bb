"""The files of a study for people and other tools: front.csv, trials.parquet, designs/NNN.yaml. All follow from the trials."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.front import equals, front, front_members
from dse.storage.folder import DESIGNS, FRONT, TRIALS, write_bytes, write_text, writing
from simcore.units import parse_quantity
from simcore.yamlio import dump_yaml

if TYPE_CHECKING:
    from dse.space import Dimension, Space
    from dse.trial import Trial

_SUFFIX = {"bytes": "_bytes", "seconds": "_s", "bytes_per_second": "_bytes_per_s", "usd": "_usd", "per_second": "_per_s"}
EQUAL = "equal_designs"


def export(folder: Path, space: Space, trials: Sequence[Trial]) -> None:
    """Write every file anew.

    Raises:
        StorageError: one cannot be written.
    """
    write_text(folder / FRONT, front_csv(space, trials))
    write_bytes(folder / TRIALS, trials_parquet(space, trials))
    chosen = {trial.number: trial for member in front_members(space) for trial in front(space, trials, member)}
    write_designs(folder / DESIGNS, space, list(chosen.values()))


def front_csv(space: Space, trials: Sequence[Trial]) -> str:
    """The front as CSV: the same bytes for the same trials, whatever evaluated them and however long it took.

    Columns: number; member, if there is a front for each; the objectives; the searched dimensions, quantities as
    numbers with the unit in the name, empty where inactive; the other metrics over the scenario set (of the member, on
    a member's front); with several members each one's objectives as "key[member]"; numbers of designs that equal this
    one in every objective."""
    rows = [
        _front_row(space, trials, trial, member) for member in front_members(space) for trial in front(space, trials, member)
    ]
    objectives = [metric.key for metric in space.objectives]
    header = ["number", *objectives, *(column(dimension) for dimension in space.dimensions)]
    names = list(dict.fromkeys(name for row in rows for name in row if name != EQUAL)) or header
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, EQUAL])
    writer.writerows([_cell(row.get(name)) for name in (*names, EQUAL)] for row in rows)
    return text.getvalue()


def _front_row(space: Space, trials: Sequence[Trial], trial: Trial, member: str | None) -> dict[str, Any]:
    values = trial.combined if member is None else trial.metrics[member]
    objectives = [metric.key for metric in space.objectives]
    row: dict[str, Any] = {"number": trial.number}
    if member is not None:
        row["member"] = member
    row |= {key: values.get(key) for key in objectives}
    row |= design_columns(space, trial)
    row |= {key: value for key, value in values.items() if key not in row}
    if member is None and len(trial.metrics) > 1:
        row |= {f"{key}[{name}]": found.get(key) for name, found in trial.metrics.items() for key in objectives}
    row[EQUAL] = " ".join(str(number) for number in equals(space, trials, trial, member))
    return row


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def column(dimension: Dimension) -> str:
    """The column of a dimension: its path, with the unit its numbers are in."""
    return dimension.path + _SUFFIX.get(dimension.unit or "", "")


def design_columns(space: Space, trial: Trial) -> dict[str, Any]:
    """A design by column: numbers in base units, words as they are, None where a dimension is inactive."""
    return {column(dimension): _plain(dimension, trial.point.get(dimension.path)) for dimension in space.dimensions}


def _plain(dimension: Dimension, value: Any) -> Any:
    if value is None:
        return None
    if dimension.unit is not None:
        return parse_quantity(value)[0]
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def trials_parquet(space: Space, trials: Sequence[Trial]) -> bytes:
    """Every trial as a Parquet file: what it is, its design, its metrics over the set and by member, its excesses."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    head = {
        "number": pa.array([t.number for t in trials], pa.int64()),
        "key": pa.array([t.key for t in trials], pa.string()),
        "state": pa.array([t.state for t in trials], pa.string()),
        "feasible": pa.array([t.feasible for t in trials], pa.bool_()),
        "error": pa.array([t.error for t in trials], pa.string()),
        "duplicates": pa.array([t.duplicates for t in trials], pa.int64()),
        "started_s": pa.array([t.started_s for t in trials], pa.float64()),
        "seconds": pa.array([t.seconds for t in trials], pa.float64()),
    }
    for dimension in space.dimensions:
        cells = [_plain(dimension, t.point.get(dimension.path)) for t in trials]
        head[column(dimension)] = pa.array(cells, pa.string() if dimension.unit is None else pa.float64())
    numbers: list[tuple[str, list[Mapping[str, float | None]]]] = [("{}", [t.combined for t in trials])]
    names = [member.name for member in space.members] if len(space.members) > 1 else []
    numbers += [(f"{{}}[{name}]", [t.metrics.get(name, {}) for t in trials]) for name in names]
    numbers.append(("violation: {}", [t.violations for t in trials]))
    for label, rows in numbers:
        for key in dict.fromkeys(key for row in rows for key in row):
            head[label.format(key)] = pa.array([row.get(key) for row in rows], pa.float64())
    sink = io.BytesIO()
    pq.write_table(pa.table(head), sink)
    return sink.getvalue()


def write_designs(folder: Path, space: Space, designs: Sequence[Trial]) -> None:
    """One file per design: what `dse simulate` needs to give the study's metrics again. Files of other designs are
    removed.

    Raises:
        StorageError: one cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{trial.number:03d}.yaml": trial for trial in designs}
    for name, trial in wanted.items():
        write_text(folder / name, dump_yaml(design_data(space, trial)))
    with writing(folder):
        for path in folder.glob("*.yaml"):
            if path.name not in wanted and path.stem.isdigit():
                path.unlink()


def design_data(space: Space, trial: Trial) -> dict[str, Any]:
    """A design with the complete scenario of every member, and the metrics the study found.

    `seed: null` is the workload's own seed; `replications` simulations are averaged, on that seed and those that follow
    it."""
    return {
        "design": dict(trial.point),
        "members": {member.name: space.scenario(trial.point, member) for member in space.members},
        "combine": space.combine,
        "weights": {member.name: member.weight for member in space.members},
        "seed": None,
        "replications": space.replications,
        "metrics": {name: dict(values) for name, values in trial.metrics.items()},
        "combined": dict(trial.combined),
    }
