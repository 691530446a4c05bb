"""Links into MLflow's pages."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from dse.tracking.links import study_links
from dse.tracking.mlflow_state import RunState

STATE = RunState("local", "k", "7", "abc", "frontabc", ("c1", "c2"))


def test_pages_of_a_study() -> None:
    links = study_links("http://127.0.0.1:5000/", STATE, "hbm_cost_usd")
    assert list(links) == ["run", "hypervolume", "report", "front", "compare", "scatter", "searches"]
    assert all(link.startswith("http://127.0.0.1:5000/#/") for link in links.values())
    assert links["run"] == "http://127.0.0.1:5000/#/experiments/7/runs/abc?workflowType=machine_learning"
    assert "/runs/abc/artifacts/report.html?" in links["report"]
    assert '/#/compare-runs?runs=["c1","c2"]&experiments=["7"]' in unquote(links["compare"])


def test_a_link_to_a_saved_view_names_no_filter_which_would_switch_it_off() -> None:
    links = study_links("http://h", STATE, "hbm_cost_usd")
    for page, mode in (("front", "TABLE"), ("scatter", "CHART")):
        assert f"compareRunsMode={mode}&viewStateShareKey=frontabc" in links[page]
        assert "searchFilter" not in links[page] and "orderByKey" not in links[page]


def test_the_front_has_a_plain_link_without_a_saved_view() -> None:
    links = study_links("http://h", replace(STATE, view=""), "hbm_cost_usd")
    assert "scatter" not in links
    assert "tags.mlflow.parentRunId = 'abc'" in unquote(links["front"])
    assert "orderByKey=metrics.`hbm_cost_usd`" in unquote(links["front"])


def test_no_front_no_links_to_it_and_no_run_no_links() -> None:
    assert {"front", "compare", "scatter"}.isdisjoint(study_links("http://h", replace(STATE, children=())))
    assert study_links("http://h", replace(STATE, run_id="")) == {}
