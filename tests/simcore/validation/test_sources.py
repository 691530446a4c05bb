"""Every row of every source: it says where it is from, and ours is within its tolerance or a known gap."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from simcore.plugins import find, names
from simcore.validation.compare import CONTRACT, SOURCES, Compared, _compared

ALLOWED_GAPS = 3
MODULES = {name: find(SOURCES, name, CONTRACT) for name in names(SOURCES)}
ROWS = [
    Compared(case=case, system=module.SYSTEM, source=case.source or module.SOURCE)
    for module in MODULES.values()
    for case in module.cases()
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.system}: {row.case.quantity} {row.case.at}".strip())
def test_a_row_is_within_its_tolerance_or_a_known_gap(row: Compared, request: pytest.FixtureRequest) -> None:
    traces = request.getfixturevalue("shared") / "traces" if row.case.trace else None
    done = _compared(row, traces)
    assert done.skipped is None, done.skipped
    assert not done.failed, done.as_dict()
    if row.case.known_gap is not None:
        assert done.passed is False, "no gap any more: take the mark away"
        assert len(row.case.known_gap) > 30


def test_there_are_enough_of_them_and_few_gaps() -> None:
    assert len({(row.system, row.case.quantity) for row in ROWS}) >= 15
    assert sum(row.case.known_gap is not None for row in ROWS) <= ALLOWED_GAPS


@pytest.mark.parametrize("name", MODULES)
def test_a_source_says_what_is_published_where(name: str) -> None:
    module = MODULES[name]
    assert len(module.__doc__ or "") > 100
    assert module.SYSTEM and module.SOURCE
    cases = module.cases()
    assert cases
    assert len({(case.quantity, case.at) for case in cases}) == len(cases), "two rows of one name"


@pytest.mark.parametrize("name", MODULES)
def test_published_numbers_and_ours_do_not_come_from_one_another(name: str) -> None:
    """What a row returns as ours is never the typed number: no function of a source returns a constant."""
    tree = ast.parse(Path(str(MODULES[name].__file__)).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Return):
            assert not isinstance(node.value, ast.Constant), f"{name}, line {node.lineno}"
        if isinstance(node, ast.Lambda):
            assert not isinstance(node.body, ast.Constant), f"{name}, line {node.lineno}"
