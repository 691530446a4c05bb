"""`dse validate`: the table, the JSON object, the exit status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simcore.validation import compare
from simcore.validation.case import Case, TraceFile
from tests.dse.cli.conftest import Dse

KEYS = {
    "system", "quantity", "at", "unit", "published", "ours", "error", "error_kind", "tolerance", "pass", "known_gap", "skipped",
    "reason", "fitted_on", "source",
}  # fmt: skip
Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Adds a source with these cases to those there are."""

    def source(*cases: Case) -> None:
        class Module:
            SYSTEM = "Invented"
            SOURCE = "nowhere"

            @staticmethod
            def cases() -> list[Case]:
                return list(cases)

        known, real = compare.names, compare.find
        monkeypatch.setattr(compare, "names", lambda family: [*known(family), "invented"])
        monkeypatch.setattr(compare, "find", lambda f, name, c: Module if name == "invented" else real(f, name, c))

    return source


def case(ours: Any = 1.0, published: Any = 1.0, **more: Any) -> Case:
    return Case(**{"quantity": "a thing", "published": published, "ours": lambda: ours, "tolerance": 0.01, **more})


def test_what_is_computed_without_traces(dse: Dse) -> None:
    done = dse("validate", "--system", "Model configurations", "--json")
    assert done.status == 0
    assert set(done.data) == {"cases", "counts"}
    assert done.data["counts"] == {
        "quantities": 2, "values": 38, "known_gaps": 0, "passed": 38, "failed": 0, "skipped": 0,
    }  # fmt: skip
    assert all(set(row) == KEYS for row in done.data["cases"])
    row = next(row for row in done.data["cases"] if row["at"] == "opt-13b")
    assert (row["published"], row["ours"], row["error"], row["pass"], row["reason"]) == (819_200, 819_200, 0, True, None)


def test_one_line_a_quantity_and_its_worst_point(dse: Dse, publish: Publish) -> None:
    publish(
        case(at="1"),
        case(1.005, at="2", unit="ms"),
        case(1.009, at="3", unit="ms", fitted_on="what is here"),
        case(("a", "b"), ("a", "b"), quantity="an order of two", tolerance=0.0),
    )
    done = dse("validate", "--system", "invented")
    assert done.status == 0
    assert done.out == (
        "   (n): the worst of n points  published   ours    error  allowed\n"
        "\n"
        "Invented: nowhere\n"
        "   a thing                             1  1.000        0      1 %\n"
        "   a thing, ms (2)                     1  1.009  +0.9 %*      1 %\n"
        "   an order of two                 order   same      0 %      0 %\n"
        "\n"
        " * our constants were fitted to what is here\n"
        "   Every point: dse validate --all; with the source of each: --json\n"
        "\n"
        "3 quantities, 4 values: 4 within tolerance, 0 known gaps, 0 failed, 0 skipped.\n"
    )
    every = dse("validate", "--system", "invented", "--all")
    assert "a thing, ms, 2" in every.out
    assert "a thing, ms, 3" in every.out


def test_a_row_that_fails_gives_status_1_and_says_which(dse: Dse, publish: Publish) -> None:
    publish(case(at="1"), case(1.02, at="2"))
    done = dse("validate", "--system", "invented")
    assert done.status == 1
    assert " ! a thing (2)" in done.out
    assert " ! Failed: Invented, a thing, 2: outside its tolerance" in done.out
    assert "1 within tolerance, 0 known gaps, 1 failed" in done.out
    assert dse("validate", "--system", "invented", "--json").status == 1


def test_a_known_gap_does_not(dse: Dse, publish: Publish) -> None:
    publish(case(2.0, known_gap="counted otherwise"))
    done = dse("validate", "--system", "invented")
    assert done.status == 0
    assert " ~ a thing" in done.out
    assert " ~ Known gap: Invented, a thing: counted otherwise" in done.out
    assert "0 within tolerance, 1 known gap, 0 failed" in done.out


def test_a_row_whose_trace_is_missing_is_there_and_has_not_passed(dse: Dse, publish: Publish, folder: Path) -> None:
    publish(case(trace=TraceFile(names=("t.jsonl",), where="a place")))
    for traces in ((), ("--traces", str(folder))):
        done = dse("validate", "--system", "invented", *traces)
        assert done.status == 0
        assert " - a thing" in done.out
        assert "Skipped: Invented, a thing: needs trace t.jsonl (--traces FOLDER)," in done.out
        assert "0 within tolerance, 0 known gaps, 0 failed, 1 skipped" in done.out
    row = dse("validate", "--system", "invented", "--json").data["cases"][0]
    assert (row["pass"], row["ours"], row["skipped"]) == (None, None, True)


def test_every_system_without_traces_fits_eighty_columns(dse: Dse) -> None:
    for options in ((), ("--all",)):
        done = dse("validate", *options)
        assert done.status == 0, done.out
        assert max(map(len, done.out.splitlines())) <= 80
        assert "mooncake_conversation.jsonl (--traces FOLDER)" in " ".join(done.out.split())
        assert " 0 failed, " in done.out.replace("\n", " ")


def test_mistakes(dse: Dse) -> None:
    done = dse("validate", "--system", "Moncake")
    assert done.status == 2
    assert "--system: unknown system; got Moncake. Did you mean Mooncake" in done.err
    done = dse("validate", "--traces", "nowhere")
    assert done.status == 2
    assert "--traces: must be a folder of traces" in done.err
