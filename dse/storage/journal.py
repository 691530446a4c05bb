"""Where the trials of a study are kept: an Optuna journal in its folder, or the database of an Optuna storage URL."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial

from dse.asking.asker import quiet
from dse.front import targets
from dse.storage.folder import INTACT, StorageError, complete_lines, writing
from dse.urls import without_password
from simcore.errors import InputError

if TYPE_CHECKING:
    from dse.space import Space

JOURNAL = "study.journal"
STALE_S = 2.0
"""Age from which a journal lock is taken for left behind by a killed process; an append holds it for milliseconds."""
START_OVER = "restore it from a copy, or start over with another --study NAME"


class Journal:
    """The stored trials of one study.

    Args:
        folder: of the study.
        name: of the Optuna study.
        url: of an Optuna storage; None: the journal in the folder.
        driving: whether this process holds the study's lock, so that what a killed one left behind is cleared away.
            Without it nothing is written.

    Raises:
        InputError: the journal is damaged, or the storage cannot be opened.
        StorageError: it cannot be written.
    """

    def __init__(self, folder: Path, name: str, url: str | None = None, *, driving: bool = False) -> None:
        self._path, self._name, self._url = folder / JOURNAL, name, url
        self.where = without_password(url) if url else str(self._path)
        self._storage = self._open(driving)

    def _open(self, driving: bool) -> BaseStorage:
        if self._url:
            return open_url(self._url)
        if not driving and not self._path.exists():
            raise InputError("no such file", file=self.where, hint=START_OVER)
        with writing(self._path):
            if driving:
                free_lock(self._path)
                if self._path.exists():
                    complete_lines(self._path)
            try:
                return JournalStorage(JournalFileBackend(str(self._path)))
            except OSError:
                raise
            except Exception as error:
                raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> InputError:
        if self._url:
            return InputError(f"cannot be read: {_reason(error)}", path="--storage", value=self.where)
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        return InputError(f"is damaged ({' '.join(reason.split())})", file=self.where, hint=START_OVER)

    @property
    def study(self) -> optuna.Study | None:
        """The Optuna study; None if the storage has none of the name."""
        with quiet():
            try:
                return optuna.load_study(study_name=self._name, storage=self._storage)
            except KeyError:
                return None

    def create(self, space: Space, attributes: dict[str, Any]) -> None:
        """Make the Optuna study, with names and directions of the objectives for Optuna's own tools."""
        wanted = targets(space)
        directions = ["maximize" if target.metric.direction == "max" else "minimize" for target in wanted]
        with quiet(), self._storing("the study"):
            study = optuna.create_study(storage=self._storage, study_name=self._name, directions=directions)
            study.set_metric_names([target.name for target in wanted])
            for name, value in attributes.items():
                study.set_user_attr(name, value)

    def delete(self) -> None:
        """Remove the Optuna study."""
        with quiet(), self._storing("the study"):
            optuna.delete_study(study_name=self._name, storage=self._storage)

    def trials(self) -> list[FrozenTrial]:
        """Every stored trial in order.

        Raises:
            InputError: the journal is damaged.
        """
        study = self.study
        if study is None:
            raise InputError(f"has no study {self._name}", file=self.where, hint=START_OVER)
        try:
            return list(study.get_trials(deepcopy=False))
        except Exception as error:
            raise self._damaged(error) from None

    def append(self, trial: FrozenTrial) -> None:
        """Add a finished trial.

        Raises:
            StorageError: it could not be stored; what was stored before is intact.
        """
        study = self.study
        assert study is not None
        with quiet(), self._storing("a trial"):
            study.add_trial(trial)

    @contextmanager
    def _storing(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not self._url:
                with suppress(OSError, StorageError):
                    complete_lines(self._path)
            raise StorageError(f"cannot store {what} in {self.where}: {_reason(error)}. {INTACT}") from error

    def close(self) -> None:
        """Release connections."""
        self._storage.remove_session()


def open_url(url: str) -> BaseStorage:
    """The Optuna storage of a URL.

    Raises:
        InputError: it is no such URL, its driver is missing, or its server does not answer.
    """
    shown = without_password(url)
    try:
        with quiet():
            return RDBStorage(url)
    except ImportError as error:
        wants_postgres = url.startswith("postgres")
        hint = "pip install 'cache-dse[postgres]'" if wants_postgres else "install the driver it names"
        rule = f"its database driver is not installed ({_reason(error)})"
        raise InputError(rule, path="--storage", value=shown, hint=hint) from None
    except Exception as error:
        hint = "for example sqlite:///studies.db or postgresql://user@host/database; a password can come from PGPASSWORD"
        raise InputError(f"cannot be opened: {_reason(error)}", path="--storage", value=shown, hint=hint) from None


def _reason(error: Exception) -> str:
    """The first line of the innermost cause."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def free_lock(journal: Path) -> None:
    """Remove the lock a killed process left on a journal; one that is in use is gone in milliseconds."""
    lock = journal.with_name(journal.name + ".lock")
    while True:
        try:
            age = time.time() - os.lstat(lock).st_mtime
        except FileNotFoundError:
            return
        if age >= STALE_S or age < 0:
            lock.unlink(missing_ok=True)
            return
        time.sleep(0.05)
