"""The text of one simulation, on an outcome whose figures are known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dse.analysis.simulation import (
    Simulated,
    definitions,
    latency_lines,
    member_table,
    regime,
    simulation_lines,
    tier_lines,
    warnings,
)
from dse.analysis.tenant_table import tenant_data, tenant_lines
from simcore import Outcome, TenantOutcome, metric_values
from simcore.outcome import LinkOutcome, TierOutcome
from simcore.units import GIB
from tests.dse.test_terminal import check


def outcome(hits: tuple[int, int] = (400, 200), ceiling: float = 0.8, cxl_out: int = 0) -> Outcome:
    """Four requests of 250 prompt tokens, a second apart; hits are tokens of all four."""
    n = 4
    return Outcome(
        family="kv",
        arrival_s=np.arange(n, dtype=np.float64),
        first_token_s=np.arange(n) + np.array([0.1, 0.2, 0.3, 0.4]),
        finish_s=np.arange(n) + np.array([1.1, 1.2, 1.3, 1.4]),
        input_tokens=np.full(n, 250),
        output_tokens=np.full(n, 101),
        hit_tokens=np.tile(np.array(hits) // n, (n, 1)),
        queue_s=np.full(n, 0.02),
        load_s=np.full(n, 0.004),
        tiers=(
            TierOutcome("hbm", 16 * GIB, 30 * GIB, 14 * GIB, 16 * GIB),
            TierOutcome("cxl", 64 * GIB, 20 * GIB, cxl_out, 20 * GIB - cxl_out),
        ),
        links=(LinkOutcome("cxl", 5 * GIB, 20 * GIB, 0.25), LinkOutcome("host", 5 * GIB, 20 * GIB, 0.1)),
        total_requests=n,
        total_output_tokens=101 * n,
        duration_s=4.4,
        busy_s=2.2,
        rejected=0,
        preemptions=1,
        recomputed_tokens=16,
        readmission_hit_blocks=0,
        offered_rps=1.0,
        sustainable_rps=2.0,
        hit_ceiling=ceiling,
        hit_blocks=36,
        prompt_blocks=64,
        static={"hbm_bytes": 40.0 * GIB, "hbm_cost_usd": 600.0, "system_cost_usd": 27600.0, "quality_loss": 0.0},
    )


def run(**options: object) -> Simulated:
    made = outcome(**options)  # type: ignore[arg-type]
    return Simulated("scenario", made, metric_values(made))


def test_the_whole_text() -> None:
    text = "\n".join([*simulation_lines(run(), 80), "", *definitions(run().metrics, 80)]) + "\n"
    check("simulate", text)
    assert text.isascii() and max(map(len, text.splitlines())) <= 80


def test_tiers_add_up_to_all_prompt_tokens() -> None:
    rows = {line.split()[0]: line.split() for line in tier_lines(run()) if line.split()[0] in ("HBM", "CXL", "prefill")}
    assert rows["HBM"][2:4] == ["40", "40"]
    assert rows["CXL"][2:4] == ["33", "20"], "a third of the 60 % that HBM had not"
    assert rows["prefill"] == ["prefill", "40"]


def test_shape_of_a_tier_in_json() -> None:
    hbm, cxl = run().tiers()
    assert hbm["name"] == "hbm" and hbm["link_busy"] is None and hbm["hit_ratio"] == 0.4
    assert cxl["capacity_bytes"] == 64 * GIB and cxl["link_busy"] == 0.25
    assert cxl["bytes_in"] == cxl["bytes_out"] + cxl["bytes_resident"]


def test_percentiles_in_one_unit_a_line() -> None:
    lines = latency_lines(run().metrics)
    assert lines[1].split() == ["TTFT", "ms", "250", "250", "370", "397"]
    assert lines[2].split()[:3] == ["TPOT", "ms", "10.0"]


@pytest.mark.parametrize(
    ("options", "start", "end"),
    [
        ({"hits": (800, 0)}, "What is reused fits HBM", "Lower tiers cannot help."),
        ({"hits": (400, 400)}, "What is reused fits HBM and CXL", "any cache could find."),
        ({"cxl_out": 10 * GIB}, "Not all that is reused is found: 60 %", "are not found either."),
    ],
)
def test_the_regime_is_named(options: dict[str, object], start: str, end: str) -> None:
    text = regime(run(**options))
    assert text.startswith(start) and text.endswith(end)


def test_members_stand_side_by_side_as_far_as_they_fit() -> None:
    runs = [dataclasses.replace(run(), name=f"request_rate={r}") for r in (1, 2, 3)]
    lines = member_table(runs, runs[0].metrics, "worst", 80)
    assert lines[0].split() == ["request_rate", "worst"] and lines[1].split() == ["1", "2", "3"]
    assert next(line for line in lines if "TTFT p99" in line).split() == ["TTFT", "p99", "ms", *["397"] * 4]
    named = [dataclasses.replace(run(), name=name) for name in ("a quiet sunday morning", "a busy friday evening", "launch")]
    lines = member_table(named, run().metrics, "worst", 80)
    assert max(map(len, lines)) <= 80
    heads = "  ".join(lines)
    assert all(heads.count(name) == 1 for name in (*(r.name for r in named), "worst"))


def test_what_is_wrong_with_a_scenario_comes_first() -> None:
    assert warnings(run().metrics) == []
    bad = {
        **run().metrics,
        "hbm_excess_bytes": 3.0 * GIB,
        "saturated": 1.0,
        "utilisation": 1.25,
        "rejected_requests": 2.0,
    }
    lines = simulation_lines(dataclasses.replace(run(), metrics=bad), 80)
    assert lines[0] == "Does not fit: 3.00 GiB per GPU more than there is."
    assert lines[1].startswith("Saturated, at 125 % of what it sustains:")
    said = " ".join(" ".join(lines[3:5]).split())
    assert said == "2 requests are longer than the HBM pool or engine.max_model_len and were not served."


def test_the_largest_tenants_are_named_and_the_rest_counted() -> None:
    tenants = [TenantOutcome(k, 2, 100 * (k + 1), 10, 0.1 * k, 0.1, 0.2 * (k + 1), 3.0, 4.0) for k in range(10)]
    lines = tenant_lines(tenants)
    assert [line.split()[0] for line in lines[2:10]] == ["9", "8", "7", "6", "5", "4", "3", "2"]
    assert "The 8 largest of 10 tenants." in lines[10]
    assert max(map(len, lines)) <= 80
    assert tenant_lines(tenants[:1]) == []
    assert tenant_data(tenants)[3]["prompt_tokens"] == 400
