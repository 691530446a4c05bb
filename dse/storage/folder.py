"""A study's folder: its name, its settings file, and writing files so that a kill or a full disk damages none."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dse.space import check_name
from simcore.errors import InputError, SimcoreError, did_you_mean

STUDIES = Path("studies")
SETTINGS, SPACE, FRONT, TRIALS, DESIGNS = "study.json", "space.yaml", "front.csv", "trials.parquet", "designs"
_REQUIRED = {"name", "space_sha256", "sampler", "seed", "batch_size", "trials", "storage"}


INTACT = "All that was stored before is intact; --resume goes on from it"


class StorageError(SimcoreError):
    """Something could not be written. What was stored before is intact."""


def study_folder(name: str, root: Path = STUDIES) -> Path:
    """The folder of the study called `name`.

    Raises:
        InputError: the name is not one plain folder name.
    """
    return root / check_name(name, "--study")


def find_study(name_or_path: str | Path, root: Path = STUDIES) -> Path:
    """The folder of an existing study, from its path or its name under `root`.

    Raises:
        InputError: there is none; the nearest name is in the hint.
    """
    wanted = Path(name_or_path)
    for folder in (wanted, root / wanted):
        if (folder / SETTINGS).is_file():
            return folder
    known = sorted(path.parent.name for path in root.glob(f"*/{SETTINGS}"))
    hint = did_you_mean(wanted.name, known) if known else "start one: dse search SPACE"
    rule = "is not a study folder" if wanted.is_dir() else "no such study"
    raise InputError(rule, value=str(name_or_path), hint=hint)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failed write into one message.

    Raises:
        StorageError: the disk is full, the folder is read-only, ...
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"cannot write {path}: {reason}. {INTACT}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Write beside the file, then take its place. Raises OSError; the old file stays."""
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file in one step.

    Raises:
        StorageError: it cannot be written; the old file stays.
    """
    with writing(path):
        replace_file(path, content)


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step, UTF-8 and as given.

    Raises:
        StorageError: it cannot be written; the old file stays.
    """
    write_bytes(path, text.encode())


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write `study.json`: the mark that a study has been started here."""
    write_text(folder / SETTINGS, json.dumps(settings, indent=1) + "\n")


def read_settings(folder: Path) -> dict[str, Any] | None:
    """`study.json`; None if there is no study.

    Raises:
        InputError: it is damaged.
    """
    path = folder / SETTINGS
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"is damaged: {error}", file=str(path), hint="restore it, or use another --study NAME") from None
    missing = _REQUIRED - set(data if isinstance(data, dict) else ())
    if missing:
        rule = f"is damaged: {', '.join(sorted(missing))} missing"
        raise InputError(rule, file=str(path), hint="restore it, or use another --study NAME")
    return dict(data)


def complete_lines(path: Path) -> int:
    """Cut off what follows the last complete line of a file of JSON lines: the rest of a write that was killed.

    Returns:
        Bytes left.
    """
    with writing(path), path.open("r+b") as file:
        content = file.read()
        size = content.rfind(b"\n") + 1
        if size < len(content):
            file.truncate(size)
    return size
