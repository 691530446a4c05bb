"""Finished evaluations of the batch under way, one line each, on disk before anything else happens to them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from dse.objective import Result
from dse.storage.folder import complete_lines, writing
from simcore.errors import InputError

FILE = "evaluations.jsonl"


class Evaluations:
    """A log of results by design key. A kill can only cut off its last line, which is dropped.

    Args:
        folder: of the study.

    Raises:
        InputError: the log is damaged before its last line.
        StorageError: it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.found: dict[str, Result] = self._read()
        with writing(self._path):
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def _read(self) -> dict[str, Result]:
        if not self._path.exists():
            return {}
        complete_lines(self._path)
        found = {}
        for number, line in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                result = Result(**json.loads(line))
            except (ValueError, TypeError):
                hint = "delete the file: only the evaluations of the last batch are in it, and they will be made again"
                raise InputError("is damaged", file=str(self._path), line=number, hint=hint) from None
            found[result.key] = result
        return found

    def add(self, result: Result) -> None:
        """Write a result through to the disk.

        Raises:
            StorageError: it cannot be written; the log is as it was.
        """
        line = json.dumps(asdict(result), allow_nan=False, separators=(",", ":")).encode() + b"\n"
        with writing(self._path):
            before = os.fstat(self._descriptor).st_size
            try:
                written = os.write(self._descriptor, line)
                if written < len(line):
                    os.write(self._descriptor, line[written:])
                os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, before)
                raise
        self.found[result.key] = result

    def clear(self) -> None:
        """Empty the log: its batch is stored."""
        with writing(self._path):
            os.ftruncate(self._descriptor, 0)
        self.found.clear()

    def close(self) -> None:
        """Release the file, and remove it if nothing is in it."""
        os.close(self._descriptor)
        if not self.found:
            self._path.unlink(missing_ok=True)
