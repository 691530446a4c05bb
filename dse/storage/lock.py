"""One search at a time drives a study."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from dse.storage.folder import writing
from simcore.errors import InputError

LOCK = ".driver.lock"


class DriverLock:
    """Held while a search runs. The kernel releases it when the process ends, however it ends, so it never has to be
    removed.

    Args:
        folder: of the study; made if missing.

    Raises:
        InputError: on entering, another search holds it.
        StorageError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._descriptor = -1

    def __enter__(self) -> Self:
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._descriptor, 200, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise InputError(
                f"another search is running in this study ({holder})",
                file=str(self._path.parent),
                hint="wait for it or stop it, or use another --study NAME",
            ) from None
        with writing(self._path):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._descriptor)
