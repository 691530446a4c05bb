"""Comparing: errors, tolerances, traces that are not at hand, rows that break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simcore.errors import InputError
from simcore.validation import compare
from simcore.validation.case import Case, TraceFile, Value, printed, series
from simcore.validation.compare import find_trace, validation_cases

TRACE = TraceFile(names=("a.jsonl", "b.jsonl"), where="a place")
Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Makes these cases the only ones: of module `paper`, system "A paper"."""

    def sources(*cases: Case) -> None:
        module = SimpleNamespace(SYSTEM="A paper", SOURCE="arXiv 0", cases=lambda: list(cases))
        other = SimpleNamespace(SYSTEM="another", SOURCE="arXiv 1", cases=lambda: [])
        monkeypatch.setattr(compare, "names", lambda family: ["other", "paper"])
        monkeypatch.setattr(compare, "find", lambda family, name, contract: {"paper": module, "other": other}[name])

    return sources


def case(published: Value = 10.0, ours: Value = 10.0, tolerance: float = 0.1, **more: Any) -> Case:
    return Case(**{"quantity": "q", "published": published, "ours": lambda *_: ours, "tolerance": tolerance, **more})


def only(**options: Any) -> compare.Compared:
    (row,) = validation_cases(**options)
    return row


@pytest.mark.parametrize(
    ("one", "error", "passed"),
    [
        (case(ours=11.0), 0.1, True),
        (case(ours=11.01), 0.101, False),
        (case(ours=8.9), -0.11, False),
        (case(ours=10.05, tolerance=printed(1), absolute=True), 0.05, True),
        (case(ours=10.051, tolerance=printed(1), absolute=True), 0.051, False),
        (case(0.0, 0.0, 0.0, absolute=True), 0.0, True),
        (case(tolerance=0.0), 0.0, True),
        (case(("a", "b", "c"), ("a", "b", "c"), 0.0), 0.0, True),
        (case(("a", "b", "c"), ("b", "a", "c"), 0.0), 1 / 3, False),
        (case(("a", "b", "c"), ("c", "b", "a"), 0.0), 1.0, False),
    ],
)
def test_errors(publish: Publish, one: Case, error: float, passed: bool) -> None:
    publish(one)
    row = only()
    assert row.error == pytest.approx(error)
    assert row.passed is passed
    assert row.failed is not passed


def test_a_known_gap_does_not_fail_unless_it_breaks(publish: Publish) -> None:
    publish(case(ours=20.0, known_gap="why"))
    assert (only().passed, only().failed, only().as_dict()["reason"]) == (False, False, "why")
    publish(case(ours=10.0, known_gap="why"))
    assert only().passed
    publish(case(ours=("a",), known_gap="why"))
    assert only().failed


@pytest.mark.parametrize("ours", [("a", "b"), float("nan"), float("inf")])
def test_what_is_no_answer_fails(publish: Publish, ours: Value) -> None:
    publish(case(ours=ours))
    assert only().failed
    assert only().broken
    publish(case(("a", "b"), ("a", "c"), 0.0))
    assert "does not order" in str(only().broken)


def test_a_row_that_raises_has_failed_and_hides_no_other(publish: Publish) -> None:
    def broken() -> float:
        raise ZeroDivisionError("no\nway")

    publish(case(ours=10.0, at="1"), Case(quantity="q", at="2", published=1.0, ours=broken, tolerance=0.0), case(at="3"))
    assert [row.passed for row in validation_cases()] == [True, False, True]
    assert validation_cases()[1].as_dict()["reason"] == "ZeroDivisionError: no way"


def test_a_row_without_its_trace_is_skipped_and_says_so(publish: Publish, tmp_path: Path) -> None:
    publish(case(trace=TRACE))
    for options in ({}, {"traces": tmp_path}):
        row = only(**options)
        assert (row.passed, row.failed, row.ours) == (None, False, None)
        assert row.skipped == "needs trace a.jsonl (--traces FOLDER), published as a place"
        assert row.as_dict()["skipped"] is True
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "b.jsonl.zst").touch()
    assert only(traces=tmp_path).passed


def test_traces_are_found_in_folders_and_packed(tmp_path: Path) -> None:
    assert find_trace(TRACE, None) is None
    deep = tmp_path / "1" / "2" / "3"
    deep.mkdir(parents=True)
    (deep / "a.jsonl.gz").touch()
    assert find_trace(TRACE, tmp_path) == deep / "a.jsonl.gz"
    (tmp_path / "1" / "a.jsonl").touch()
    assert find_trace(TRACE, tmp_path) == tmp_path / "1" / "a.jsonl"
    assert find_trace(TRACE, tmp_path / "1" / "2") == deep / "a.jsonl.gz"


def test_one_system(publish: Publish) -> None:
    publish(case())
    for name in ("A paper", "a PAPER", "paper"):
        assert len(validation_cases(system=name)) == 1
    assert validation_cases(system="other") == []
    with pytest.raises(InputError, match=r"--system: unknown system; got papre\. Did you mean paper"):
        validation_cases(system="papre")


def test_traces_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--traces: must be a folder of traces"):
        validation_cases(traces=tmp_path / "none")


def test_progress_is_told(publish: Publish) -> None:
    publish(case(at="1"), case(at="2"))
    seen: list[tuple[int, int]] = []
    validation_cases(progress=lambda done, of: seen.append((done, of)))
    assert seen == [(0, 2), (1, 2)]


def test_a_series_is_computed_once() -> None:
    calls: list[int] = []

    def ours() -> list[float]:
        calls.append(1)
        return [1.0, 2.0]

    cases = series("q", {"one": 1.0, "two": 2.0}, ours, tolerance=0.0)
    assert [(c.at, c.published, c.ours()) for c in cases] == [("one", 1.0, 1.0), ("two", 2.0, 2.0)]
    assert len(calls) == 1
    by_name = series("q", {"one": 1.0, "two": 2.0}, lambda: {"two": 2.0, "one": 1.0}, tolerance=0.0)
    assert [c.ours() for c in by_name] == [1.0, 2.0]
