"""The shape of the code is checked like its results: import direction, sizes, no import circles."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "simcore").rglob("*.py")) + sorted((ROOT / "dse").rglob("*.py"))
MAIN_LOOPS = 100


def test_import_contracts_hold() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 500, "split this file"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0].end_lineno + 1 if ast.get_docstring(node) else node.lineno
            limit = MAIN_LOOPS if "serving" in path.parts else 50
            assert node.end_lineno - first < limit, f"{node.name} is too long"


def test_nothing_inside_a_package_imports_its_face() -> None:
    for package in ("simcore", "dse"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    assert all(alias.name != package for alias in node.names), path
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    assert node.module != package, path


def test_search_meets_the_simulator_only_through_its_face() -> None:
    allowed = {"simcore", "simcore.errors", "simcore.units", "simcore.yamlio", "simcore.plugins"}
    for path in (ROOT / "dse").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            used = {m for m in modules if m and m.split(".")[0] == "simcore"}
            assert used <= allowed, f"{path}: {used - allowed}"
