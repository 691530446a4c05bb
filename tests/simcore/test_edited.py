"""Files that changed under the running process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import simcore.edited
from simcore.edited import edited
from simcore.plugins import from_file


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was there when the process started."""
    path = tmp_path / "old.py"
    path.write_text("A = 1\n")
    (tmp_path / "other.py").write_text("A = 2\n")
    time.sleep(0.02)
    monkeypatch.setattr(simcore.edited, "STARTED_NS", time.time_ns())
    time.sleep(0.02)
    return path


def test_a_file_is_edited_once_it_changed(old: Path) -> None:
    assert not edited([old], [])
    old.write_text("A = 3\n")
    assert edited([old], [])


@pytest.mark.skipif(os.name != "posix", reason="there is only the date")
def test_an_old_date_does_not_hide_an_edit(old: Path) -> None:
    (old.parent / "other.py").replace(old)
    os.utime(old, (1, 1))
    assert edited([old], [])


def test_a_file_that_is_gone_is_edited(old: Path) -> None:
    old.unlink()
    assert edited([old], [])


def test_a_module_that_knows_its_source_is_compared_with_it(old: Path) -> None:
    old.write_text("A = 3\n")
    module = from_file("simcore.policies", old)
    assert edited([old], []) and not edited([old], [module])
    old.write_text("A = 4\n")
    assert edited([old], [module]) and not edited([old], [from_file("simcore.policies", old)])
    old.unlink()
    assert edited([old], [module])
