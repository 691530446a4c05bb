"""A study on disk while it is searched: settings, trials, the log of the batch under way; started or gone on with."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna.trial import FrozenTrial

from dse.objective import Result
from dse.seams import Settings
from dse.storage.evaluations import Evaluations
from dse.storage.folder import SETTINGS, SPACE, read_settings, write_settings, write_text
from dse.storage.journal import JOURNAL, START_OVER, Journal
from dse.urls import without_password
from dse.versions import DISTRIBUTION, versions
from simcore.errors import InputError
from simcore.yamlio import dump_yaml, load_yaml

if TYPE_CHECKING:
    from dse.space import Space

_log = logging.getLogger("dse")
ID, BASE = "id", "base"
OTHER = "use another --study NAME for a search of its own"
SHOWN = 3
"""Differences between two spaces that a message names."""


class Store:
    """Opened under the study's lock by `open_store`.

    Args:
        settings: `resumed` tells whether trials were stored before.
        journal: the stored trials.
        evaluations: the log of the batch under way.
        trials: what was stored when it was opened.
        base: the evaluated base scenario; None: not evaluated yet.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        evaluations: Evaluations,
        trials: list[FrozenTrial],
        base: Result | None = None,
    ) -> None:
        self.settings, self.journal, self.evaluations = settings, journal, evaluations
        self.trials, self.base = trials, base

    def keep_base(self, result: Result) -> None:
        """Remember the evaluated base scenario.

        Raises:
            StorageError: it cannot be written.
        """
        recorded = read_settings(self.settings.folder) or {}
        write_settings(self.settings.folder, {**recorded, BASE: asdict(result)})
        self.base = result

    def close(self) -> None:
        """Release files and connections."""
        self.evaluations.close()
        self.journal.close()


def open_store(space: Space, settings: Settings, url: str | None, resume: bool) -> Store:
    """Start the study of `settings`, or go on with it.

    Args:
        space: what is searched.
        settings: as wanted now.
        url: of the storage, password included; None: the journal in the folder.
        resume: whether stored trials may be gone on with.

    Raises:
        InputError: trials are stored and `resume` is false; they belong to another space or other settings; a file is
            damaged.
        StorageError: something cannot be written.
    """
    recorded = read_settings(settings.folder)
    if recorded is not None and recorded["storage"] != settings.storage:
        rule = f"the study is stored in {recorded['storage'] or JOURNAL}"
        hint = f"pass the same --storage, or {OTHER}"
        raise InputError(rule, file=str(settings.folder), value=settings.storage or JOURNAL, hint=hint)
    evaluations = Evaluations(settings.folder)
    try:
        journal = Journal(settings.folder, settings.name, url, driving=True)
        study = journal.study
        trials = journal.trials() if study is not None else []
        if study is None and recorded is not None and recorded.get(BASE):
            raise InputError(f"has lost the study {settings.name}", file=journal.where, hint=START_OVER)
        known = recorded.get(ID) if recorded is not None else None
        if study is not None and study.user_attrs.get(ID) != known and (trials or settings.storage):
            raise _stranger(settings, journal, len(trials))
        if recorded is None or not (trials or evaluations.found):
            return _started(space, settings, journal, evaluations)
        if not resume:
            raise _exists(settings, len(trials))
        check_versions(settings.folder, recorded)
        check_same(space, settings, recorded)
        if settings.trials > recorded["trials"]:
            write_settings(settings.folder, {**recorded, "trials": settings.trials})
        return Store(replace(settings, resumed=True), journal, evaluations, trials, recorded_base(recorded))
    except BaseException:
        evaluations.close()
        raise


def _started(space: Space, settings: Settings, journal: Journal, evaluations: Evaluations) -> Store:
    identity = uuid.uuid4().hex
    if journal.study is not None:
        journal.delete()
    write_text(settings.folder / SPACE, dump_yaml(space.resolved()))
    about = {
        "space_sha256": space.sha256,
        "sampler": settings.sampler,
        "seed": settings.seed,
        "batch_size": settings.batch_size,
        ID: identity,
    }
    write_settings(
        settings.folder,
        {
            "name": settings.name,
            **about,
            "trials": settings.trials,
            "storage": settings.storage,
            "versions": versions(),
        },
    )
    journal.create(space, about)
    return Store(settings, journal, evaluations, [])


def _exists(settings: Settings, count: int) -> InputError:
    return InputError(
        f"the study {settings.name} exists with {count} trials",
        file=str(settings.folder),
        hint=f"go on with it by --resume, or start another by --study NAME (or remove {settings.folder})",
    )


def _stranger(settings: Settings, journal: Journal, count: int) -> InputError:
    if settings.storage:
        rule = f"this storage already has a study {settings.name}, which is not the one of {settings.folder}"
        return InputError(rule, path="--storage", value=journal.where, hint="use another --study NAME")
    rule = f"{SETTINGS} does not belong to the {count} trials in {JOURNAL}"
    return InputError(rule, file=str(settings.folder), hint=START_OVER)


def check_versions(folder: Path, recorded: Mapping[str, Any]) -> None:
    """Refuse to mix trials of two versions of this program in one study; warn when a library has another version.

    Raises:
        InputError: naming both versions.
    """
    before, now = recorded.get("versions", {}), versions()
    if before.get(DISTRIBUTION, now[DISTRIBUTION]) != now[DISTRIBUTION]:
        rule = f"the study was made by {DISTRIBUTION} {before[DISTRIBUTION]}, this is {now[DISTRIBUTION]}"
        raise InputError(f"{rule}: their figures may differ", file=str(folder), hint=f"{OTHER}, or remove {folder}")
    changed = [f"{name} {before[name]} -> {now[name]}" for name in now if before.get(name, now[name]) != now[name]]
    if changed:
        _log.warning("%s was begun with other libraries, figures may differ: %s", folder, ", ".join(changed))


def check_same(space: Space, settings: Settings, recorded: Mapping[str, Any]) -> None:
    """Refuse to mix trials of two searches in one study.

    Raises:
        InputError: naming what differs.
    """
    folder = str(settings.folder)
    if recorded["space_sha256"] != space.sha256:
        found = differences(_resolved(settings.folder), space.resolved())
        named = "; ".join(found[:SHOWN]) + (f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        rule = f"the study is of another space: {named}"
        if not found:
            rule = "a preset that the space names has other numbers than when the study was made"
        raise InputError(rule, file=folder, hint=f"{OTHER}, or remove {folder}")
    wanted = {"sampler": settings.sampler, "seed": settings.seed, "batch_size": settings.batch_size}
    for name, value in wanted.items():
        if recorded[name] != value:
            rule = f"the study was started with {name.replace('_', ' ')} {recorded[name]}"
            raise InputError(rule, file=folder, value=value, hint=f"leave it out to go on, or {OTHER}")


def _resolved(folder: Path) -> Any:
    try:
        return load_yaml(folder / SPACE).data
    except InputError:
        return {}


def differences(before: Any, after: Any) -> list[str]:
    """Dotted paths at which two resolved spaces differ, as "path: before -> after"; names and trial budgets aside."""
    old, new = _flat(before), _flat(after)
    ignored = ("name", "description", "budget.trials")
    found = []
    for path in dict.fromkeys([*old, *new]):
        if path not in ignored and old.get(path, "absent") != new.get(path, "absent"):
            found.append(f"{path}: {old.get(path, 'absent')} -> {new.get(path, 'absent')}")
    return found


def _flat(data: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(data, Mapping) and data:
        return {k: v for key, value in data.items() for k, v in _flat(value, f"{prefix}.{key}" if prefix else str(key)).items()}
    if isinstance(data, (list, tuple)):
        return {prefix: "[" + ", ".join(str(item) for item in data) + "]"}
    return {prefix: "null" if data is None else str(data)}


def recorded_base(recorded: Mapping[str, Any]) -> Result | None:
    """The evaluated base scenario of a study folder."""
    return Result(**recorded[BASE]) if recorded.get(BASE) else None


def recorded_url(recorded: Mapping[str, Any] | None, url: str | None) -> str | None:
    """The storage URL to open: the one given, else the one the study was started with."""
    return url if url is not None or recorded is None else recorded["storage"]


def stored_url(url: str | None) -> str | None:
    """What a study folder remembers of a storage URL."""
    return without_password(url) if url else None
