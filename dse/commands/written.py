"""The files that `--output` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.storage.folder import replace_file
from simcore.errors import InputError

PICTURES = (".png", ".html", ".json")


def check_outputs(files: Sequence[Path]) -> None:
    """Figures, known by their suffix, before the work whose result they show.

    Raises:
        InputError: another suffix, or no folder to write into.
    """
    for file in files:
        if file.suffix.lower() not in PICTURES:
            raise InputError(f"must end in one of {', '.join(PICTURES)}", path="--output", value=str(file))
        check_folder(file)


def check_folder(path: Path) -> None:
    """Before the work whose result is to be written.

    Raises:
        InputError: there is no such folder.
    """
    if not path.absolute().parent.is_dir():
        raise InputError("is in a folder that does not exist", path="--output", value=str(path))


def write_output(path: Path, content: bytes) -> None:
    """Raises:
    InputError: it cannot be written; an old file stays as it was.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a pipe or a device has no place to take
        else:
            replace_file(path, content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path="--output", value=str(path)) from None
