"""The text a user reads, whole: held against golden files, within its width, plain ASCII, the same when piped.

After a change that is meant, GOLDEN_REFRESH=1 makes these tests write the golden files anew; read the diff.
"""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.analysis import report_html
from dse.analysis.front_table import front_table, pick_rows
from dse.analysis.report_data import Study as ReportStudy
from dse.analysis.text import Run, headed
from dse.analysis.view import KNEE, fronts_of
from dse.commands.front import knee_lines
from dse.commands.output import BOLD_GREEN, Output, highlighted
from dse.commands.study_text import study_text
from dse.study import Study
from tests.dse.toy_study import toy_study

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "terminal"
RUN = Run(
    name="toy",
    folder="studies/toy",
    elapsed_s=41.3,
    statements=(
        "TTFT +-18 %, TPOT +-8 %: calibrated.",
        "Prices are planning values of 2026-11 (dse presets), not quotes.",
    ),
    report="studies/toy/report.html",
    record="dse ui",
    again="dse search search_spaces/toy.yaml",
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return toy_study(tmp_path_factory.mktemp("toy"), 600)


def shown(study: Study, monkeypatch: pytest.MonkeyPatch, width: int = 80) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    return study_text(study, RUN, Output()) + "\n"


def check(name: str, text: str) -> None:
    """Hold `text` against its golden file."""
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN_REFRESH"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_end_of_a_search(study: Study, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(study, monkeypatch, width)
    check(f"front_{width}", text)
    copyable = re.compile(r"^  (dse|studies)")
    assert max(len(line) for line in text.splitlines() if not copyable.match(line)) <= width


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("each", {"combine": "each"}),
        ("mean", {"combine": "mean"}),
        ("one_objective", {"objectives": "ttft_p99"}),
        ("three_objectives", {"objectives": "ttft_p99, hbm_cost_usd, tpot_p99"}),
        ("nothing_feasible", {"limit": "45 ms"}),
        ("nothing_feasible_anywhere", {"limit": "30 ms"}),
    ],
)
def test_other_kinds_of_search(name: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(toy_study(tmp_path, 200, **options), monkeypatch)
    check(name, text)
    assert text.isascii() and max(map(len, text.splitlines())) <= 80


def test_the_knee_is_called_the_same_everywhere(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(f" * {KNEE}") <= 80
    page = report_html.front_sections(ReportStudy(study.space, study.trials, study.base))
    knee = "\n".join(knee_lines(fronts_of(study)[0], 80))
    assert all(KNEE in text for text in (shown(study, monkeypatch), knee, page))


def test_why_designs_failed_stands_under_the_header(study: Study) -> None:
    failed = dataclasses.replace(study.trials[0], state="failed", error="MemoryError: no blocks left")
    lines = headed(study.space, [failed, *study.trials[1:40]], RUN, 80)
    assert lines[-1] == "1 failed, first: design 0: MemoryError: no blocks left"
    assert len(headed(study.space, study.trials[:40], RUN, 80)) == len(lines) - 1


def test_why_the_knee(study: Study) -> None:
    check("knee", "\n".join(knee_lines(fronts_of(study)[0], 80)) + "\n")


def test_text_is_ascii_and_has_no_trailing_blanks(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(study, monkeypatch)
    assert text.isascii()
    assert all(line == line.rstrip() for line in text.splitlines())


def test_only_the_knee_row_is_coloured(study: Study) -> None:
    front = fronts_of(study)[0]
    assert front.knee is not None
    table, _ = front_table(front, pick_rows(front))
    lines = highlighted(table.lines, {table.knee_line or 0}, True)
    assert [f"*{front.knee.number} " in line for line in lines] == [line.startswith(BOLD_GREEN) for line in lines]


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_is_left_out_when_unwanted(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Output().colour
    monkeypatch.setenv(variable, value)
    assert not Output().colour


@given(width=st.integers(40, 200))
def test_the_table_fits_and_keeps_ends_and_knee(study: Study, width: int) -> None:
    front = fronts_of(study)[0]
    rows = pick_rows(front)
    assert len(rows) <= 9
    assert all(t in rows for t in (front.designs[0], front.designs[-1], front.knee))
    assert [front.designs.index(t) for t in rows] == sorted(front.designs.index(t) for t in rows)
    table, left_out = front_table(front, rows, width)
    assert max(map(len, table.lines)) <= width
    assert all("TTFT p99" in line and "HBM cost" in line for line in table.lines[:1])
    has_shares = any("prompt tokens from" in line for line in table.lines)
    if width < 80 and left_out:
        assert not has_shares


@given(limit=st.integers(3, 9))
def test_rows_are_spread_over_the_front(study: Study, limit: int) -> None:
    front = fronts_of(study)[0]
    rows = pick_rows(front, limit)
    assert len(rows) == min(limit, len(front.designs)) and len({t.number for t in rows}) == len(rows)
