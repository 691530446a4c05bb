"""From a search to a simulation of one of its designs, with the real simulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.study import run_search
from simcore.yamlio import dump_yaml, load_yaml
from tests.dse.cli.conftest import Dse

SCENARIO = """\
family: kv
model: llama-3.1-8b
gpu: h100-sxm
tiers:
  hbm: {capacity: 4 GiB}
  dram: {preset: ddr5-host, capacity: 16 GiB}
workload: {preset: chat-multi-tenant, request_rate: 1, requests: 60}
"""
SPACE = (
    "name: small\nscenario:\n"
    + "".join(f"  {line}\n" for line in SCENARIO.splitlines())
    + """\
search:
  tiers.hbm.capacity: [3 GiB, 4 GiB, 6 GiB]
  tiers.dram.capacity: [0, 16 GiB]
scenarios:
  over: {workload.request_rate: [1, 2]}
objectives: [ttft_p99, hbm_cost_usd]
allow_saturated: true
replications: REPLICATIONS
"""
)


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    monkeypatch.setattr("dse.commands.search.run_search", run_search)
    (folder / "scenario.yaml").write_text(SCENARIO)
    yield


@pytest.mark.parametrize("replications", [1, 2])
def test_a_design_gives_the_studys_figures_member_by_member(replications: int, real: None, dse: Dse, folder: Path) -> None:
    (folder / "small.yaml").write_text(SPACE.replace("REPLICATIONS", str(replications)))
    searched = dse("search", "small.yaml", "--trials", "6", "--tracking-uri", "none", "--json")
    assert searched.status == 0
    for design in searched.data["front"]:
        file = f"studies/small/designs/{design['number']:03d}.yaml"
        data = dse("simulate", file, "--json").data
        assert data["metrics"] == design["metrics"]
        recorded = load_yaml(file).data["metrics"]
        assert {m["name"]: m["metrics"] for m in data["members"]} == recorded
        assert data["tiers"] == [] and all(m["tiers"] for m in data["members"])
    text = dse("simulate", file).out
    assert "Exactly the figures of the study." in text and "All members, and worst of them" in text
    assert "request_rate=1" in text and "request_rate=2" in text
    assert max(map(len, text.splitlines())) <= 80 and text.isascii()


def test_a_design_whose_figures_have_changed_says_so(real: None, dse: Dse, folder: Path) -> None:
    (folder / "small.yaml").write_text(SPACE.replace("REPLICATIONS", "1"))
    dse("search", "small.yaml", "--trials", "2", "--tracking-uri", "none", "-q")
    file = next((folder / "studies/small/designs").iterdir())
    data = load_yaml(file).data
    data["metrics"]["request_rate=1"]["ttft_p99_s"] += 1
    file.write_text(dump_yaml(data))
    assert "1 figures differ from the study's, TTFT p99 (request_rate=1) for one:" in dse("simulate", str(file)).out
    pinned = dse("simulate", str(file), "--set", "tiers.hbm.capacity=5GiB").out
    assert "study" not in pinned and "HBM 5.00 GiB/GPU" in pinned


def test_one_scenario_as_json_and_explained(real: None, dse: Dse) -> None:
    data = dse("simulate", "scenario.yaml", "--json").data
    assert list(data) == ["scenario", "metrics", "units", "members", "errors", "tiers", "tenants", "versions"]
    assert data["scenario"]["model"]["layers"] == 32 and data["units"]["ttft_p99_s"] == "s"
    hbm, dram = data["tiers"]
    assert hbm["capacity_bytes"] == 4 * 2**30 and dram["bytes_in"] == dram["bytes_out"] + dram["bytes_resident"]
    assert data["members"][0]["metrics"] == data["metrics"] and "numba" in data["versions"]
    assert data["errors"]["kind"] == "another model" and 0 < data["errors"]["tpot"] < data["errors"]["ttft"] < 1
    larger = ("--set", "model=llama-3.1-70b", "--set", "gpu.count=4")
    known, values = (dse("simulate", "scenario.yaml", *larger, "--json").data[key] for key in ("errors", "metrics"))
    share = values["ttft_mean_s"] / values["e2e_mean_s"]
    assert known["kind"] == "calibrated" and 0 < known["tpot"] < known["ttft"] < 0.5
    assert known["e2e"] == pytest.approx(share * known["ttft"] + (1 - share) * known["tpot"])
    shown = dse("simulate", "scenario.yaml", *larger).out
    assert "off by" in shown and "Step times: calibrated." in shown
    text = dse("simulate", "scenario.yaml", "--explain").out
    assert "KV per token = 2 (K and V) x 32 layers x 8 KV heads" in text and "131,072 B" in text
    assert "HBM per GPU = weights" in text and "What the words mean" in text


def test_explain_adds_up_and_fits_the_terminal(real: None, dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    data = dse("simulate", "scenario.yaml", "--explain", "--json").data
    why = data["explain"]
    assert data["members"][0]["explain"] == why
    phases = why["phases"]
    assert phases["e2e"]["mean_s"] == pytest.approx(data["metrics"]["e2e_mean_s"], rel=1e-12)
    parts = [phase for name, phase in phases.items() if name != "e2e"]
    assert sum(p["share"] for p in parts) == pytest.approx(1.0) and sum(p["mean_s"] for p in parts) == pytest.approx(
        phases["e2e"]["mean_s"]
    )
    assert sum(why["found_tokens"].values()) + sum(why["missed_tokens"].values()) == why["prompt_tokens"]
    assert why["found_tokens"]["hbm"] / why["prompt_tokens"] == data["metrics"]["prompt_share_hbm"]
    assert why["what_if"][0]["e2e_mean"] == min(w["e2e_mean"] for w in why["what_if"]) and why["binding"]
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        text = dse("simulate", "scenario.yaml", "--explain").out
        assert max(map(len, text.splitlines())) <= int(columns) and text.isascii()
        for head in ("Where the time goes", "Where prompt tokens came from", "What can be reused", "What limits it"):
            assert head in text


def test_a_pinned_path_changes_the_scenario(real: None, dse: Dse) -> None:
    rate = dse("simulate", "scenario.yaml", "--set", "workload.request_rate=2", "--json").data
    assert rate["scenario"]["workload"]["request_rate"] == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("capacity: 4 GiB", "capacity: -4 GiB"), "tiers.hbm.capacity"),
        (("capacity: 4 GiB", "capacty: 4 GiB"), "capacity"),
        (("capacity: 4 GiB", "capacity: 4"), "4 GiB"),
        (("llama-3.1-8b", "llama-3.1-9b"), "did you mean llama-3.1-8b?"),
        (("h100-sxm", "h100-sxmm"), "did you mean h100-sxm?"),
        (("family: kv", "family: kw"), "family"),
        (("family: kv\n", ""), "family"),
        (("family: kv", "family: [kv"), "not valid YAML"),
    ],
)
def test_a_wrong_scenario_ends_with_2_and_one_message(
    change: tuple[str, str], said: str, real: None, dse: Dse, folder: Path
) -> None:
    (folder / "scenario.yaml").write_text(SCENARIO.replace(*change))
    done = dse("simulate", "scenario.yaml")
    assert done.status == 2 and done.out == "" and len(done.err.splitlines()) == 1
    assert done.err.startswith("dse: scenario.yaml") and said.lower() in done.err.lower()


@pytest.mark.parametrize(
    ("key", "value"), [("combine", "best"), ("seed", -1), ("replications", 0), ("members", {}), ("weights", {"a": 0})]
)
def test_a_damaged_design_ends_with_2(key: str, value: object, real: None, dse: Dse, folder: Path) -> None:
    data = {"design": {}, "members": {"a": load_yaml("scenario.yaml").data}, key: value}
    (folder / "001.yaml").write_text(dump_yaml(data))
    done = dse("simulate", "001.yaml")
    assert done.status == 2 and f"001.yaml: {key}: " in done.err
