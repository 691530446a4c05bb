"""The face of the package: everything it names is there, and is imported when it is first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import simcore


def test_everything_named_is_there() -> None:
    assert [name for name in simcore.__all__ if not hasattr(simcore, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = simcore.nothing  # type: ignore[attr-defined]


def test_what_types_are_checked_against_is_what_is_imported() -> None:
    tree = ast.parse(Path(str(simcore.__file__)).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        (str(node.module), alias.name) for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    later = {(f"simcore.{module}", name) for module, names in simcore._LATER.items() for name in names.split()}
    assert declared == later
    assert {name for _, name in later} | {"InputError", "SimcoreError"} == set(simcore.__all__)


def test_the_face_alone_is_light() -> None:
    code = "import simcore, sys; print([m for m in ('numpy', 'numba', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
