"""Every command: what it prints, in which form, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.progress import Progress
from dse.study import load_study
from tests.dse.cli.conftest import Done, Dse

Search = Callable[..., Done]
FRONT_KEYS = ["study", "objectives", "constraints", "counts", "hypervolume", "front"]


def test_search_prints_the_front_and_where_the_report_is(searched: Search, folder: Path) -> None:
    done = searched()
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("toy   40 designs in ") and "feasible" in lines[0]
    assert "What drives it" in lines and "How far to trust it" in lines and "Next" in lines
    assert "studies/toy/report.html" in done.out and (folder / "studies/toy/report.html").is_file()
    assert "dse search toy.yaml --tracking-uri none --trials 80 --resume" in done.out
    assert "dse ui" not in done.out, "nothing is recorded there"
    assert done.out.isascii()


def test_progress_goes_to_standard_error_a_line_each_tenth(searched: Search) -> None:
    lines = searched().err.splitlines()
    assert [line.split()[1] for line in lines] == [f"{n}/40" for n in range(4, 41, 4)]
    assert all("hypervolume" in line and "front" in line for line in lines)


def test_quiet_leaves_standard_error_empty(searched: Search) -> None:
    done = searched("-q")
    assert done.status == 0 and done.err == "" and "Next" in done.out


def test_verbose_says_which_constraints_cost_a_trial(searched: Search) -> None:
    assert "Constraints judged after simulating: tpot_p99 <= 80 ms; quality_loss <= 0.02" in searched("-v").err


def test_search_as_json(searched: Search) -> None:
    data = searched("--json").data
    assert list(data) == FRONT_KEYS
    assert data["objectives"] == ["ttft_p99_s", "hbm_cost_usd"]
    assert data["counts"].keys() == {"complete", "feasible", "failed", "duplicates"} and data["counts"]["complete"] == 40
    assert 0 < data["hypervolume"] < 1
    for design in data["front"]:
        assert list(design) == ["number", "design", "metrics"]
        assert design["design"]["tiers.hbm.capacity"].endswith(" GiB")
        assert design["metrics"]["ttft_p99_s"] > 0


def test_each_member_has_its_own_front(searched: Search) -> None:
    data = searched("--json", combine="each").data
    assert {d["member"] for d in data["front"]} == {"request_rate=2", "request_rate=4", "request_rate=8"}


def test_pinned_paths_are_kept_in_the_next_commands(searched: Search) -> None:
    done = searched("--set", "kv_format=fp8_e4m3", "--study", "pinned", "--seed", "3")
    assert done.status == 0
    text = " ".join(done.out.replace("\\\n", "").split())
    assert (
        "dse search toy.yaml --set kv_format=fp8_e4m3 --study pinned --seed 3 --tracking-uri none --trials 80 --resume" in text
    )


def test_front_says_the_same_as_the_search(searched: Search, dse: Dse) -> None:
    def table(text: str) -> list[str]:
        lines = text.splitlines()
        return lines[1 : lines.index("How far to trust it")]

    done = searched()
    again = dse("front", "toy")
    assert again.status == 0 and table(again.out) == table(done.out)
    assert dse("front", "studies/toy").out == again.out
    assert "dse search studies/toy/space.yaml --trials 80 --resume" in again.out


def test_the_continuing_commands_work_as_printed(searched: Search, dse: Dse) -> None:
    searched()
    more = dse("search", "studies/toy/space.yaml", "--trials", "50", "--resume", "--tracking-uri", "none", "--json")
    assert more.status == 0 and more.data["counts"]["complete"] == 50


def test_front_as_json_all_and_knee(searched: Search, dse: Dse) -> None:
    searched()
    data = dse("front", "toy", "--json").data
    assert list(data) == FRONT_KEYS
    study = load_study("toy")
    every = dse("front", "toy", "--all").out
    assert all(f" {t.number} " in every or f"*{t.number} " in every for t in study.front)
    knee = dse("front", "toy", "--knee", "--json").data["knees"][0]
    assert knee["number"] in [t.number for t in study.front]
    assert all(set(s) == {"number", "changes", "moves"} for s in knee["steps"])
    assert f"Why design {knee['number']}" in dse("front", "toy", "--knee").out


@pytest.mark.parametrize("where", ["hbm_cost_usd <= 1200", "tiers.cxl.capacity == 0", "ttft_p99 <= 2 s and tpot_p99 <= 75 ms"])
def test_front_under_one_more_condition(where: str, searched: Search, dse: Dse) -> None:
    searched()
    done = dse("front", "toy", "--where", where)
    assert done.status == 0 and f"Under {where}: " in done.out
    data = dse("front", "toy", "--where", where, "--json").data
    assert data["front"] and data["where"] == where


def test_a_condition_nothing_meets_ends_with_3(searched: Search, dse: Dse) -> None:
    searched()
    done = dse("front", "toy", "--where", "hbm_cost_usd <= 1")
    assert done.status == 3 and "0 of" in done.out


def test_nothing_feasible_ends_with_3(searched: Search, dse: Dse) -> None:
    done = searched(limit="45 ms")
    assert done.status == 3
    assert "Nothing meets all constraints. Nearest:" in done.out and "(exit 3)" in done.out
    assert "Smallest change that admits one" in done.out and "Feasible on one member alone" in done.out
    assert dse("front", "toy").status == 3
    data = dse("front", "toy", "--json").data
    assert data["front"] == [] and data["counts"]["feasible"] == 0
    assert all("tpot_p99 <= 45 ms" in design["misses"] for design in data["nearest"])


def test_a_resumed_search_keeps_the_sampler_of_its_study(searched: Search, dse: Dse) -> None:
    assert searched("--sampler", "random").status == 0
    more = dse("search", "toy.yaml", "--trials", "45", "--resume", "--tracking-uri", "none", "-q")
    assert more.status == 0 and load_study("toy").settings.sampler == "random"


def test_report_is_written_again(searched: Search, dse: Dse, folder: Path) -> None:
    searched()
    page = folder / "studies" / "toy" / "report.html"
    page.unlink()
    assert dse("report", "toy").out == "studies/toy/report.html\n" and page.is_file()
    assert dse("report", "toy", "--json").data == {"study": "toy", "report": "studies/toy/report.html"}


def test_presets(dse: Dse) -> None:
    assert "llama-3.1-8b" in dse("presets").out
    table = dse("presets", "gpus").out
    assert "h100-sxm" in table and "planning value" in table and max(map(len, table.splitlines())) <= 80
    one = dse("presets", "gpus", "h100-sxm")
    assert "15 USD/GiB   planning value" in one.out and "source" in one.out and "date" in one.out
    assert dse("presets", "--json").data["presets"]["tiers"]
    assert dse("presets", "tiers", "cxl2-x8", "--json").data["preset"]["source"]


def test_version_and_help(dse: Dse) -> None:
    assert dse("--version").out.strip()
    for help_text in (dse("--help").out, dse().out):
        assert "search" in help_text and help_text.isascii()


def test_ui_without_a_record_says_how_to_make_one(dse: Dse) -> None:
    done = dse("ui")
    assert done.status == 2 and "nothing is recorded there yet" in done.err


def test_a_study_that_was_moved_is_named_by_its_path(searched: Search, dse: Dse, folder: Path) -> None:
    searched()
    (folder / "studies" / "toy").rename(folder / "moved study")
    text = dse("front", "moved study").out
    assert "dse front 'moved study' --knee" in text and "dse simulate 'moved study/designs/" in text
    assert "--resume" not in text, "a search writes to studies/ only"


# -- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", "nowhere.yaml"], "nowhere.yaml"),
        (["search", "toy.yaml", "--sampler", "tpee"], "did you mean tpe?"),
        (["search", "toy.yaml", "--backend", "proces"], "did you mean process?"),
        (["search", "toy.yaml", "--set", "tiers.hbm.capacty=4GiB"], "tiers.hbm.capacty"),
        (["search", "toy.yaml", "--study", "../out"], "must be a plain name"),
        (["search", "toy.yaml", "--trials", "0"], "--trials"),
        (["search", "toy.yaml", "--tracking-uri", "htp://x"], "did you mean http://?"),
        (["search"], "SPACE"),
        (["serch"], "Did you mean 'search'?"),
        (["search", "toy.yaml", "--trails", "3"], "--trails"),
        (["front", "toyy"], "no such study"),
        (["front", "toy", "--knee", "--all"], "--knee"),
        (["simulate", "toy.yaml"], "this is a space file, not a scenario"),
        (["simulate", "nowhere.yaml"], "no such file"),
        (["presets", "gpu"], "did you mean gpus?"),
        (["presets", "gpus", "h100"], "unknown GPU preset"),
    ],
)
def test_the_users_mistakes_end_with_2_and_one_message(
    arguments: list[str], said: str, dse: Dse, space: Callable[..., str]
) -> None:
    space()
    done = dse(*arguments)
    assert done.status == 2 and done.out == ""
    assert said.lower() in done.err.lower() and len(done.err.splitlines()) == 1 and "Traceback" not in done.err
    shown = dse(*arguments, "--json")
    assert shown.status == 2 and shown.err == ""
    assert set(shown.data["error"]) == {"file", "path", "rule", "value", "hint"}


def test_a_second_search_in_a_study_names_the_ways_out(searched: Search) -> None:
    searched()
    done = searched()
    assert done.status == 2 and "--resume" in done.err and "--study" in done.err
    assert searched("--resume").status == 0


def test_a_failure_inside_ends_with_1(dse: Dse, space: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by design")

    monkeypatch.setattr("dse.commands.search.run_search", broken)
    arguments = ["search", space(), "--tracking-uri", "none", "-q"]
    done = dse(*arguments)
    assert done.status == 1
    assert done.err == "dse: failed inside: ZeroDivisionError: by design; run it again with -v for the traceback\n"
    assert "Traceback" in dse(*arguments, "-v").err
    assert dse(*arguments, "--json").data["error"]["rule"] == "failed inside: ZeroDivisionError: by design"


def test_an_interrupted_search_ends_with_130_and_can_go_on(searched: Search, dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Progress.__call__

    def interrupt(self: Progress, done: int, **state: float) -> None:
        shown(self, done, **state)  # type: ignore[arg-type]
        if done == 15:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "__call__", interrupt)
    done = searched("-q")
    assert done.status == 130
    stored, command, look = done.out.splitlines()
    count = int(stored.split()[2])
    assert stored == f"Stopped after {count} of 40 designs; all stored."
    assert command == "Continue: dse search toy.yaml --tracking-uri none --resume"
    assert look == "The front so far: dse front toy"
    assert len(load_study("toy").trials) == count >= 15
    monkeypatch.setattr(Progress, "__call__", shown)
    again = dse("search", "toy.yaml", "--trials", "40", "--tracking-uri", "none", "--resume", "--json")
    assert again.status == 0 and again.data["counts"]["complete"] == 40


def test_json_survives_what_a_library_prints(searched: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Progress.__call__

    def noisy(self: Progress, done: int, **state: float) -> None:
        os.write(1, b"noise from a library\n")
        print("noise from python")
        subprocess.run(["echo", "noise from a subprocess"], check=True)
        shown(self, done, **state)  # type: ignore[arg-type]

    monkeypatch.setattr(Progress, "__call__", noisy)
    done = searched("--json", "--trials", "2")
    assert done.status == 0 and done.data["counts"]["complete"] == 2
    assert "noise from a library" in done.err and "noise from a subprocess" in done.err


# -- as a program ----------------------------------------------------------------------------------------------------

HEAVY = ("optuna", "pandas", "numba", "mlflow", "sklearn", "plotly", "numpy", "pydantic", "rich", "simcore")


def _python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


def test_help_loads_nothing_heavy() -> None:
    done = _python("-X", "importtime", "-m", "dse.cli", "--help")
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 0 and not loaded & set(HEAVY)
    took_us = max(int(line.split("|")[1]) for line in done.stderr.splitlines() if line.endswith("runpy"))
    assert took_us < 300_000


def test_a_reader_that_leaves_is_no_error(searched: Search) -> None:
    searched()
    command = f"'{sys.executable}' -m dse.cli front toy --all | head -1"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=environment)
    assert done.stderr == "" and done.returncode == 0 and len(done.stdout.splitlines()) == 1


def test_plain_c_locale_and_piped_text_are_the_same(searched: Search, dse: Dse) -> None:
    searched()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONUTF8": "0",
    }
    piped = _python("-m", "dse.cli", "front", "toy", env=environment)
    assert piped.returncode == 0 and piped.stdout == dse("front", "toy").out
