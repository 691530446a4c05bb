"""The files that `--output` names are replaced in one step, or left as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dse.commands.written import check_outputs, write_output
from simcore.errors import InputError


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "curve.json"
    write_output(file, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_output(file, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["curve.json"]
    assert file.read_bytes() == b"old"


def test_what_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder that does not exist"):
        check_outputs([tmp_path / "none" / "a.png"])
    with pytest.raises(InputError, match=r"must end in one of \.png"):
        check_outputs([tmp_path / "a.svg"])
    check_outputs([tmp_path / "a.png"])
