"""The report: one page, self-contained, the same bytes for the same study, safe with any text, right in its numbers."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import simcore
from dse.analysis import report_data as data_module
from dse.analysis.report import script_json, write_report
from dse.analysis.report_data import Study, report_data
from dse.analysis.report_words import asked_facts, scenario_facts, searched_facts, summary
from dse.space import Space, load_space
from dse.trial import Trial

SPACE = """\
# How little HBM will do?
name: sample
scenario:
  family: kv
  model: llama-3.1-8b
  gpu: h100-sxm
  replicas: 2
  tiers:
    hbm:  {capacity: 16 GiB}
    dram: {preset: ddr5-host, capacity: 64 GiB}
    cxl:  {preset: cxl2-x8, capacity: 128 GiB}
  workload: {preset: chat-multi-tenant, request_rate: 3}
search:
  tiers.hbm.capacity:  {range: [4 GiB, 48 GiB], step: 4 GiB, log: true}
  tiers.cxl.capacity:  [0, 128 GiB]
  tiers.cxl.policy:    [lru, sieve]
scenarios:
  over: {workload.request_rate: [2, 4]}
objectives: [ttft_p99, hbm_cost_usd]
constraints:
  - tpot_p99 <= 60 ms
budget: {trials: 40, seed: 0}
"""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    path = tmp_path_factory.mktemp("space") / "sample.yaml"
    path.write_text(SPACE)
    return load_space(str(path))


def figures(space: Space, point: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Closed forms with a trade-off, a constraint that small pools miss, and a tier that may be absent."""
    lookup = space.lookup(point)
    hbm, cxl = (float(lookup(f"tiers.{tier}.capacity") or 0) / 2**30 for tier in ("hbm", "cxl"))  # type: ignore[arg-type]
    found: dict[str, dict[str, float | None]] = {}
    for rate, member in ((2, space.members[0]), (4, space.members[1])):
        h1, h2, h3 = hbm / (hbm + 20 * rate), 0.3, cxl / (cxl + 300)
        values: dict[str, float | None] = {
            "ttft_p99_s": rate * (1 - h1) * (1 - h3) + 0.1,
            "tpot_p99_s": 0.01 * rate + 0.2 / hbm,
            "hit_ratio_hbm": h1,
            "hit_ratio_dram": h2,
            "hbm_cost_usd": 600 + 30 * hbm,
            "hbm_excess_bytes": -1e9,
            "rejected_requests": 0.0,
            "saturated": 0.0,
            "quality_loss": None,
        }
        found[member.name] = values | ({"hit_ratio_cxl": h3} if cxl else {})
    return found


def trials_of(space: Space) -> tuple[Trial, ...]:
    trials = []
    for number, point in enumerate(space.enumerate()):
        if number % 11 == 10:
            trials.append(Trial(number, point, str(number), "failed", error="ValueError: no room"))
            continue
        metrics = figures(space, point)
        combined, violations = space.combine_metrics(metrics), space.judge(metrics)
        trials.append(Trial(number, point, str(number), "complete", metrics, combined, violations))
    return tuple(trials)


@pytest.fixture(scope="module")
def trials(space: Space) -> tuple[Trial, ...]:
    found = trials_of(space)
    assert {t.state for t in found} == {"complete", "failed"} and {t.feasible for t in found} == {True, False}
    return found


class Outline(HTMLParser):
    """Tags, attributes and text of a page, scripts and styles apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def page_of(folder: Path, space: Space, trials: tuple[Trial, ...], **more: Any) -> str:
    path = write_report(folder, space, trials, **more)
    assert path == folder / "report.html" and [p.name for p in folder.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def test_one_file_that_needs_nothing_else(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    page = page_of(tmp_path, space, trials)
    assert len(page.encode()) < 6_000_000
    outline = Outline(page)
    assert not outline.open
    assert not [tag for tag, attributes in outline.tags if attributes.keys() & {"src", "href"}]
    assert "default-src 'none'" in page
    assert page.count("* plotly.js v") == 1


def test_same_study_same_bytes_in_any_process(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    path = tmp_path / "sample.yaml"
    path.write_text(SPACE)
    code = (
        "import sys, pathlib; from dse.space import load_space; from dse.analysis.report import write_report;"
        "from tests.dse.analysis.test_report import trials_of;"
        "space = load_space(sys.argv[1]); folder = pathlib.Path(sys.argv[2]); folder.mkdir(parents=True);"
        "write_report(folder, space, trials_of(space))"
    )
    pages = []
    for seed in ("1", "2"):
        folder = tmp_path / seed / "sample"
        root = Path(__file__).parents[3]
        subprocess.run(
            [sys.executable, "-c", code, path, folder], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, cwd=root
        )
        pages.append((folder / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_it_says_what_was_found(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    page = page_of(
        tmp_path, space, trials, statements=["TTFT +-18 %."], provenance={"sampler": "nsga2", "seed": "5", "optuna": "5.0.0"}
    )
    text = " ".join(Outline(page).text.split())
    feasible = sum(t.feasible for t in trials)
    failed = sum(t.state == "failed" for t in trials)
    for said in (
        "How little HBM will do?",
        f"{len(trials)} designs",
        f"{feasible} feasible",
        f"{failed} failed",
        "Infeasible designs",
        "ValueError: no room",
        "What drives it",
        "TTFT +-18 %.",
        "Every design is tried at request_rate 2 and 4 per second; the worst counts.",
        "nsga2",
        "optuna",
        space.sha256,
        "preset: chat-multi-tenant",
    ):
        assert said in text or said in page, said


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"quoted\" 'it' {{style}} $x \\1"


def test_no_text_breaks_out_of_its_place(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    member = dataclasses.replace(space.members[0], name=HOSTILE)
    hostile = dataclasses.replace(space, description=HOSTILE, name=HOSTILE, members=(member, space.members[1]))
    first = dataclasses.replace(trials[0], point={**trials[0].point, "tiers.cxl.policy": HOSTILE})
    renamed = tuple(
        dataclasses.replace(t, metrics={m.name: v for m, v in zip(hostile.members, t.metrics.values(), strict=True)})
        if t.metrics
        else dataclasses.replace(t, error=HOSTILE)
        for t in (first, *trials[1:])
    )
    page = page_of(tmp_path, hostile, renamed, statements=[HOSTILE], provenance={HOSTILE: HOSTILE})
    plain = Outline(page_of(tmp_path, space, trials))
    outline = Outline(page)
    assert not outline.open
    assert {tag for tag, _ in outline.tags} <= {tag for tag, _ in plain.tags}
    assert sum(tag == "script" for tag, _ in outline.tags) == 3
    assert outline.text.count(HOSTILE) >= 4
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data is not None and HOSTILE in json.loads(data[1])["tiers"][0]["hits"]


def test_script_json_holds_any_text() -> None:
    text = script_json({"a": HOSTILE, "b": [None, 1.5], "c": "\u2028"})
    assert "<" not in text and "&" not in text and "\u2028" not in text
    assert json.loads(text) == {"a": HOSTILE, "b": [None, 1.5], "c": "\u2028"}


def test_figures_hold_the_studys_numbers_in_the_units_shown(space: Space, trials: tuple[Trial, ...]) -> None:
    study = Study(space, trials)
    data = report_data(study)
    complete = [t for t in trials if t.state == "complete"]
    assert data["trials"]["number"] == [t.number for t in complete]
    assert data["objectives"] == ["ttft_p99_s", "hbm_cost_usd"]
    (view,) = data["views"]
    units = {m["key"]: m["unit"] for m in data["metrics"]}
    scale = {"s": 1.0, "ms": 1e-3}[units["ttft_p99_s"]]
    for shown, trial in zip(view["values"]["ttft_p99_s"], complete, strict=True):
        assert math.isclose(shown * scale, trial.combined["ttft_p99_s"] or 0.0, rel_tol=1e-4)
    assert "quality_loss" not in units
    (front,) = study.fronts
    assert [data["trials"]["number"][i] for i in view["front"]] == [t.number for t in front.designs]
    hbm, cxl, policy = data["dimensions"]
    assert hbm["unit"] == "GiB" and hbm["values"][0] == 4 and hbm["log"]
    assert cxl["values"][0] == 0 and policy["values"][0] is None and policy["words"] == ["lru", "sieve"]
    lengths = {len(d["values"]) for d in data["dimensions"]} | {len(v) for v in view["values"].values()}
    assert lengths == {len(complete)}


def test_a_design_is_coloured_by_the_constraint_it_misses_most(space: Space, trials: tuple[Trial, ...]) -> None:
    data = report_data(Study(space, trials))
    by_number = {t.number: t for t in trials}
    for number, worst, misses in zip(*(data["trials"][k] for k in ("number", "worst", "misses")), strict=True):
        trial = by_number[number]
        assert (worst == -1) == trial.feasible == (not misses)
        if worst >= 0:
            assert trial.violations[data["constraints"][worst].removeprefix("misses ")] == max(trial.violations.values())
            assert "tpot_p99" in misses[0] and "60" in misses[0]


def test_hit_ratios_stand_at_the_capacity_of_their_tier(space: Space, trials: tuple[Trial, ...]) -> None:
    data = report_data(Study(space, trials))
    hbm, dram, cxl = data["tiers"]
    assert [t["name"] for t in (hbm, dram, cxl)] == ["HBM", "DRAM", "CXL"]
    assert set(dram["capacity"]) == {64} and not dram["searched"] and hbm["searched"]
    assert cxl["absent"] == sum(t.point["tiers.cxl.capacity"] == 0 for t in trials if t.state == "complete")
    for capacity, hit in zip(cxl["capacity"], cxl["hits"]["request_rate=2"], strict=True):
        assert (capacity, hit) in ((None, None), (128, pytest.approx(100 * 128 / 428, rel=1e-4)))


def test_each_member_has_its_front(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    each = dataclasses.replace(space, combine="each")
    text = Outline(page_of(tmp_path, each, trials)).text
    assert "The front at request_rate=2" in text and "The front at request_rate=4" in text
    views = report_data(Study(each, trials))["views"]
    assert [v["member"] for v in views] == ["request_rate=2", "request_rate=4"]
    assert views[0]["values"] != views[1]["values"]


def test_nothing_feasible_shows_the_nearest_and_a_remedy(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    text = SPACE.replace("60 ms", "15 ms")
    path = tmp_path / "strict.yaml"
    path.write_text(text)
    strict = load_space(str(path))
    folder = tmp_path / "strict"
    folder.mkdir()
    said = Outline(page_of(folder, strict, trials_of(strict))).text
    assert "No design meets every constraint. Nearest:" in said
    assert "Smallest change that admits one" in said


@pytest.mark.parametrize("count", [0, 1])
def test_hardly_any_trials(tmp_path: Path, space: Space, trials: tuple[Trial, ...], count: int) -> None:
    assert not Outline(page_of(tmp_path, space, trials[:count])).open


def test_only_failures(tmp_path: Path, space: Space) -> None:
    failed = tuple(Trial(i, {}, str(i), "failed", error="boom") for i in range(3))
    text = Outline(page_of(tmp_path, space, failed)).text
    assert "Every design failed." in text and "3 x boom" in text


def test_a_long_study_is_thinned_but_keeps_its_front(
    space: Space, trials: tuple[Trial, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(data_module, "MAX_TRIALS", 5)
    study = Study(space, trials)
    assert {t.number for t in study.fronts[0].designs} <= {t.number for t in study.drawn}
    assert len(study.drawn) <= 5 + len(study.fronts[0].designs)
    assert (
        f"The figures show {len(study.drawn)} of {len(study.complete)} designs"
        in Outline(page_of(tmp_path, space, trials)).text
    )


def test_the_base_is_drawn_and_spoken_of(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    metrics = figures(space, {"tiers.hbm.capacity": "16 GiB", "tiers.cxl.capacity": "128 GiB"})
    base = Trial(-1, {}, "base", "complete", metrics, space.combine_metrics(metrics), space.judge(metrics))
    (view,) = report_data(Study(space, trials, base))["views"]
    assert view["base"]["hbm_cost_usd"] == 1080
    assert "the space's own scenario" in Outline(page_of(tmp_path, space, trials, base=base)).text


def test_the_scenario_in_words(space: Space) -> None:
    said = summary(space)
    assert "llama-3.1-8b on 2 replicas of h100-sxm under chat-multi-tenant" in said
    assert "HBM is backed by DRAM (ddr5-host) and CXL (cxl2-x8)." in said
    assert "Minimised: TTFT p99 and HBM cost." in said
    facts = dict(scenario_facts(space))
    assert facts["CXL tier"] == "cxl2-x8, capacity and policy searched"
    assert facts["DRAM tier"] == "ddr5-host, capacity 64 GiB"
    assert "tpot_p99 <= 60 ms" in dict(asked_facts(space))["Constraints"]
    assert simcore.find_metric("ttft_p99").definition in dict(asked_facts(space))["TTFT p99"]
    searched = dict(searched_facts(space))
    assert searched["tiers.hbm.capacity"] == "4 GiB to 48 GiB in steps of 4 GiB, logarithmic"
    assert searched["tiers.cxl.capacity"] == "0, 128 GiB (0: no such tier)"


def test_tables_sort_by_numbers_where_numbers_are_shown(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    keys = [a["data-key"] for tag, a in Outline(page_of(tmp_path, space, trials)).tags if tag == "td"]
    rows = len(Study(space, trials).fronts[0].designs)
    costs = [float(k or "nan") for k in keys[2 :: len(keys) // rows]]
    assert costs == sorted(costs) and len(costs) == rows


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_draws_every_figure(tmp_path: Path, space: Space, trials: tuple[Trial, ...]) -> None:
    write_report(tmp_path, space, trials)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=4000", "--dump-dom"]
    page = (tmp_path / "report.html").as_uri()
    dom = subprocess.run([*command, page], capture_output=True, text=True, timeout=120, check=True).stdout
    body = dom[dom.index("<main>") : dom.index('<script type="application/json"')]
    assert body.count('class="main-svg"') >= 4 * 2
    assert body.count("data-i=") == sum(t.state == "complete" for t in trials)
    assert "on the front" in body
