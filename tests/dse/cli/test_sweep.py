"""`dse simulate --sweep`: the figures of single runs, knee, cliff, the largest load within the SLO, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.analysis.sweep import cliff, knee, knee_of_load
from tests.dse.cli.conftest import Dse
from tests.dse.cli.test_simulate import SCENARIO


@pytest.fixture(autouse=True)
def scenario(folder: Path) -> None:
    (folder / "scenario.yaml").write_text(SCENARIO + "slo: {ttft: 600 ms}\n")


def test_points_are_the_figures_of_single_runs(dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps = ("--sweep", "workload.request_rate=4,1,2", "--sweep", "tiers.dram.capacity=0,16GiB")
    data = dse("simulate", "scenario.yaml", *sweeps, "--set", "replicas=2", "--json").data
    one = dse("simulate", "scenario.yaml", "--json").data["errors"]
    assert {key: data["errors"][key] for key in ("kind", "ttft", "tpot")} == {key: one[key] for key in ("kind", "ttft", "tpot")}
    assert data["scenario"]["replicas"] == 2 and data["units"]["ttft_p99_s"] == "s"
    lines = data["sweep"]["lines"]
    assert data["sweep"]["paths"] == ["workload.request_rate", "tiers.dram.capacity"]
    assert [line["line"] for line in lines] == ["0", "16GiB"]
    for line in lines:
        assert [p["values"]["workload.request_rate"] for p in line["points"]] == ["1", "2", "4"]
    for point in (lines[0]["points"][2], lines[1]["points"][0]):
        pins = [f"--set={path}={value}" for path, value in point["values"].items()]
        assert dse("simulate", "scenario.yaml", "--set", "replicas=2", *pins, "--json").data["metrics"] == point["metrics"]
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        text = dse("simulate", "scenario.yaml", *sweeps).out
        assert max(map(len, text.splitlines())) <= int(columns) and text.isascii()
        assert "their step times: " in text
        assert "tiers.dram.capacity = 16GiB" in text and "Knee: the largest power" in text


def test_the_largest_load_is_bisected(dse: Dse) -> None:
    swept = dse("simulate", "scenario.yaml", "--sweep", "workload.request_rate=0.25,1,2,4", "--slo-share", "95%", "--json")
    slo = swept.data["sweep"]["lines"][0]["slo"]
    assert 0.25 < slo["largest"] < 4 and not slo["or_more"] and slo["share"] == 0.95 and slo["tried"] > 3

    def share(rate: float) -> float:
        values = dse("simulate", "scenario.yaml", "--set", f"workload.request_rate={rate}", "--json").data["metrics"]
        return float(values["goodput_rps"] / values["request_rate_rps"])

    assert share(slo["largest"]) >= 0.95 and share(float(f"{1.01 * slo['largest']:.4g}")) < 0.95
    loose = dse("simulate", "scenario.yaml", "--sweep", "workload.request_rate=0.1,0.2", "--set", "slo.ttft=90 s", "--json")
    assert loose.data["sweep"]["lines"][0]["slo"] == {"largest": 0.2, "or_more": True, "share": 0.9, "tried": 0}
    tight = dse("simulate", "scenario.yaml", "--sweep", "workload.request_rate=1,2", "--set", "slo.ttft=1 us").out
    assert "Already at the smallest request_rate fewer than 90 % of requests meet the SLO." in tight


def test_ranges(dse: Dse) -> None:
    def values(sweep: str) -> list[str]:
        data = dse("simulate", "scenario.yaml", "--sweep", sweep, "--json").data["sweep"]
        return [point["values"][data["paths"][0]] for point in data["lines"][0]["points"]]

    assert values("tiers.hbm.capacity=3GiB:12GiB:3:log") == ["3 GiB", "6 GiB", "12 GiB"]
    assert values("workload.request_rate=1:2:3") == ["1", "1.5", "2"]
    assert values("engine.max_num_seqs=8:64:4:log") == ["8", "16", "32", "64"]
    assert values("engine.max_num_seqs=8:11:3") == ["8", "10", "11"]  # 9.5 rounds to even
    assert values("engine.write_backlog=10ms:1s:3:log") == ["0.01 s", "0.1 s", "1 s"]
    assert values("tiers.dram.policy=lru,fifo") == ["lru", "fifo"]


def test_pictures(dse: Dse, folder: Path) -> None:
    files = [f"--output=made{suffix}" for suffix in (".png", ".html", ".json")]
    assert dse("simulate", "scenario.yaml", "--sweep", "workload.request_rate=1,2,3", *files).status == 0
    assert (folder / "made.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "made.html").read_text()
    assert "<svg" in page and "request_rate" in page and "http://" not in page.replace("http://www.w3.org", "")
    first = page
    dse("simulate", "scenario.yaml", "--sweep", "workload.request_rate=1,2,3", "--output=made.html")
    assert (folder / "made.html").read_text() == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sweep", "workload.request_rate"), "must be path=v1,v2"),
        (("--sweep", "workload.request_rate=1:9"), "path=v1,v2"),
        (("--sweep", "workload.request_rate=1:9:1"), "how many values"),
        (("--sweep", "workload.request_rate=9:1:4"), "must grow"),
        (("--sweep", "workload.request_rate=0:9:4:log"), "must grow"),
        (("--sweep", "workload.request_rte=1,2"), "request_rate"),
        (("--sweep", "replicas=1,2", "--sweep", "replicas=3,4"), "two different paths"),
        (("--sweep", "replicas=1,2", "--metric", "ttft_p98"), "Did you mean ttft_p99"),
        (("--sweep", "replicas=1,2", "--slo-share", "95"), "share of requests"),
        (("--sweep", "replicas=1,2", "--output", "made.svg"), ".png"),
        (("--sweep", "replicas=1,2", "--explain"), "explains one simulation"),
        (("--metric", "ttft_p90"), "belongs to a sweep"),
    ],
)
def test_what_is_refused(options: tuple[str, ...], said: str, dse: Dse) -> None:
    done = dse("simulate", "scenario.yaml", *options)
    assert done.status == 2 and said in done.err and len(done.err.splitlines()) == 1


def test_knee_and_cliff_of_published_curves() -> None:
    """Mean TTFT of gpt-oss-120b on 16 H100 at 5 to 40 requests/s (llm-d guides): its knees are told as 20-25 and 35-40."""
    rates = [5, 15, 20, 25, 30, 35, 40]
    without = [0.45, 0.45, 0.73, 6.16, 14.07, 18.44, 24.78]
    offloaded = [0.43, 0.35, 0.32, 0.34, 0.33, 0.50, 4.24]
    assert [rates[cliff(y) or 0] for y in (without, offloaded)] == [20, 35]
    assert [rates[knee(rates, y) or 0] for y in (without, offloaded)] == [20, 35]
    assert [rates[knee_of_load([float(r) for r in rates], [10 + t for t in y]) or 0] for y in (without, offloaded)] == [20, 35]
    assert knee([1, 2, 3], [1, 2, 3]) is None and cliff([1.0, 1.5, 2.0]) is None and cliff([1.0, None, 3.0]) is None
    assert knee_of_load([1.0, 2.0], [1.0, 1.0]) is None
