"""A space written back as its own file: complete, absolute, with the hash of every file it leans on."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.space.dimension import Dimension
from dse.space.domains import range_line
from dse.space.files import content_sha256, named_files, replaced
from dse.space.members import ALONE, Member

if TYPE_CHECKING:
    from dse.space.space import Space

NOT_IDENTITY = ("name", "description", "files")
"""Keys of a resolved space that do not decide its trials (and `budget.trials`: a search may be continued)."""


def resolved(space: Space) -> dict[str, Any]:
    """The space as plain YAML data."""
    data: dict[str, Any] = {"name": space.name}
    if space.description:
        data["description"] = space.description
    data["scenario"] = copy.deepcopy(dict(space.base))
    data["search"] = {d.path: _domain(d) for d in space.dimensions}
    if [m.name for m in space.members] != [ALONE] or space.members[0].overrides:
        members = {m.name: _member(m, space.combine) for m in space.members}
        data["scenarios"] = {"members": members, "combine": space.combine}
    data["objectives"] = [metric.name for metric in space.objectives]
    written = [c.text for c in (*space.path_constraints, *space.metric_constraints) if not c.built_in]
    if written:
        data["constraints"] = written
    if space.allow_saturated:
        data["allow_saturated"] = True
    data["budget"] = {"trials": space.trials, "seed": space.seed}
    data["replications"] = space.replications
    files = {path: space.recorded_files.get(path) or content_sha256(path) for path in sorted(set(named_files(data)))}
    files |= {path: digest for path, digest in space.recorded_files.items() if path not in files}
    if files:
        data["files"] = files
    return data


def _domain(dimension: Dimension) -> Any:
    if dimension.choices is not None and dimension.when is None and not dimension.tied:
        return list(copy.deepcopy(dimension.choices))
    body: dict[str, Any] = {}
    body |= {"choices": list(copy.deepcopy(dimension.choices))} if dimension.choices is not None else range_line(dimension)
    if dimension.when is not None:
        body["when"] = dimension.when.text
    if dimension.tied:
        body["tie"] = True
    return body


def _member(member: Member, combine: str) -> dict[str, Any]:
    fields = copy.deepcopy(dict(member.overrides))
    return {**fields, "weight": member.weight} if combine == "mean" else fields


def identity(data: Mapping[str, Any], scenarios: Sequence[Mapping[str, Any] | None]) -> str:
    """SHA-256 of what decides the trials of a resolved space, order included (tiers and samplers depend on it).

    A file counts by its content, not by where it lies.

    Args:
        data: the resolved space.
        scenarios: written out with the numbers of their presets.
    """
    files = data.get("files") or {}
    kept = {key: value for key, value in data.items() if key not in NOT_IDENTITY}
    kept["budget"] = {key: value for key, value in data["budget"].items() if key != "trials"}
    text = json.dumps(replaced([kept, scenarios], files), separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
