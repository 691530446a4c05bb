"""Whole traces in numbers: small ones by hand, public ones against published counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.replay.describe import describe_trace, reuse_distances
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses

REQUESTS = {
    "kv/mooncake_conversation.jsonl": ".zst",
    "kv/azure_llm_2023_conv.csv": ".zst",
    "kv/azure_llm_2023_code.csv": ".zst",
}
OBJECTS = {
    "embedding/dlrm_reuse_medium_500K.txt": ".zst",
    "embedding/criteo_train_tiny.csv": ".zst",
    "embedding/scarab-recs.trace": ".xz",
    "classical/cloudPhysicsIO.csv": ".zst",
    "classical/adaptsize_request.trace": ".xz",
    "classical/cache2k_orm-busy.trace": ".xz",
    "classical/cache2k_web12.trace": ".xz",
    "classical/arc_OLTP.lis": ".zst",
}


@pytest.fixture(scope="module")
def facts(shared: Path) -> Any:
    return json.loads((shared / "traces/facts.json").read_text())


def printed(value: float, digits: int) -> Any:
    """`value` as printed with so many decimals."""
    return pytest.approx(value, abs=0.6 * 10**-digits)


@pytest.mark.parametrize("name", REQUESTS)
def test_arrivals_and_lengths_of_public_traces(name: str, shared: Path, facts: Any) -> None:
    found = describe_trace(shared / "traces" / (name + REQUESTS[name]))
    arrivals, fact = found["arrivals"], facts[name]["arr"]
    assert found["requests"] == arrivals["arrivals"] == fact["n"]
    assert arrivals["span_s"] == printed(fact["span_s"], 3) and arrivals["rate_per_s"] == printed(fact["rate"], 4)
    assert arrivals["gap_cv"] == printed(fact["cv_interarrival"], 3)
    assert arrivals["zero_gap_share"] == printed(fact["same_ts"], 3)
    for window in arrivals["idc"]:
        width = f"{window['window_s']:g}s"
        assert window["idc"] == printed(fact[f"IDC_{width}"], 2)
        assert window["peak_to_mean"] == printed(fact[f"peak/mean_{width}"], 2)
    for column, key in (("input_tokens", "inp"), ("output_tokens", "out")):
        for statistic, value in found["lengths"][column].items():
            assert value == printed(facts[name][key][statistic], 2)


def check_references(found: dict[str, Any], fact: Any) -> None:
    assert (found["accesses"], found["distinct"]) == (fact["accesses"], fact["distinct"])
    assert found["reuse"]["ceiling"] == printed(fact["infinite_hit"], 4)
    assert found["reuse"]["seen_once"] == printed(fact["singletons"], 4)
    popularity = found["popularity"]
    assert popularity["zipf_exponent"] == pytest.approx(fact["alpha_mle"], abs=1.1e-3)
    assert popularity["slope_exponent"] == printed(fact["alpha_ls_freq_ge5"], 3)
    assert popularity["slope_ranks"] == fact["ls_ranks"]
    assert popularity["top_1_percent_share"] == printed(fact["top1pct_share"], 4)
    assert popularity["top_10_percent_share"] == printed(fact["top10pct_share"], 4)
    assert found["distances"]["bins"][-1]["hit_ratio"] == printed(fact["infinite_hit"], 4)
    below = {b["up_to"]: b["hit_ratio"] for b in found["distances"]["bins"]}
    for part in (0.01, 0.05, 0.1, 0.25, 0.5):  # published at shares of the objects, which lie between powers of two
        capacity = max(1, int(part * fact["distinct"]))
        low, high = 1 << (capacity.bit_length() - 1), 1 << capacity.bit_length()
        assert below.get(low, 0.0) - 1e-4 <= fact[f"lru_{part:g}"] <= below.get(high, 1.0) + 1e-4


@pytest.mark.parametrize("name", OBJECTS)
def test_references_of_public_traces(name: str, shared: Path, facts: Any) -> None:
    found = describe_trace(shared / "traces" / (name + OBJECTS[name]))
    check_references(found, facts[name])
    if "size" in facts[name]:
        for statistic in ("mean", "p50", "p90", "p99", "max"):
            assert found["sizes"][f"{statistic}_bytes"] == printed(facts[name]["size"][statistic], 2)


@pytest.mark.parametrize("column", ["item", "user"])
def test_columns_of_one_file(column: str, shared: Path, facts: Any) -> None:
    name = "embedding/rechorus_grocery_train.csv"
    found = describe_trace(shared / "traces" / (name + ".zst"), options=[f"column={column}"])
    check_references(found, facts[name][f"{column}_id"])
    assert found["arrivals"]["tick_s"] == 86_400


def test_prefix_chains_of_a_public_trace(shared: Path, facts: Any) -> None:
    name = "kv/mooncake_conversation.jsonl"
    found, fact = describe_trace(shared / "traces" / (name + ".zst")), facts[name]["kv"]
    stream = fact["block_stream"]
    assert (found["accesses"], found["distinct"]) == (stream["accesses"], stream["distinct"])
    assert found["reuse"]["prefix_hit_blocks"] == printed(fact["ideal_prefix_hit"], 4)
    assert found["reuse"]["ceiling"] == printed(fact["any_block_hit"], 4)
    assert found["reuse"]["seen_once"] == printed(stream["singletons"], 4)
    assert found["popularity"]["zipf_exponent"] == printed(stream["alpha_mle"], 3)
    assert found["popularity"]["slope_exponent"] == printed(stream["alpha_ls_freq_ge5"], 3)
    for statistic, value in found["lengths"]["prompt_blocks"].items():
        assert value == printed(fact["blocks_per_req"][statistic], 2)
    assert found["arrivals"]["tick_s"] == pytest.approx(3.0) and found["arrivals"]["spread"]["gap_cv"] < 1


def test_sessions_of_a_public_trace(shared: Path) -> None:
    found = describe_trace(shared / "traces/kv/claude_code_0001_0120.jsonl.zst")
    assert found["sessions"]["sessions"] == 116 and found["requests"] == 6136
    assert found["sessions"]["requests_per_session"]["p50"] == 25
    assert found["reuse"]["prefix_hit_blocks"] == printed(0.9512, 3)
    assert found["arrivals"] is None and "start of a session" in found["left_out"]["arrivals"]


def test_what_a_format_does_not_tell_is_left_out(shared: Path) -> None:
    found = describe_trace(shared / "traces/kv/azure_llm_2023_code.csv.zst")
    missing = set(found["left_out"])
    assert missing == {"sessions", "reuse", "sizes", "categories", "popularity", "distances"}
    assert all(found[name] is None for name in (*missing, "accesses", "distinct")) and all(found["left_out"].values())
    assert found["lengths"]["prompt_blocks"] is None


def test_arrivals_made_from_a_rate_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    turns = [{"from": who, "value": "x" * 900} for who in ("human", "gpt", "human", "gpt", "human", "gpt")]
    file.write_text(json.dumps([{"id": "a", "conversations": turns}]))
    found = describe_trace(file)
    assert found["arrivals"] is None and "not recorded" in found["left_out"]["arrivals"]
    assert found["format"]["reader"] == "sharegpt" and found["format"]["found_by"] == "content"


def stack_distances(keys: list[int]) -> list[int]:
    """Depth of each access's object in an LRU stack, from 1; 0: a first access."""
    stack: list[int] = []
    found = []
    for key in keys:
        found.append(stack.index(key) + 1 if key in stack else 0)
        stack = [key, *(k for k in stack if k != key)]
    return found


@given(st.lists(st.integers(0, 20), min_size=2, max_size=80))
def test_bins_hold_the_depths_of_a_stack(keys: list[int]) -> None:
    found = reuse_distances(Accesses.of(keys, sizes=np.arange(1, len(keys) + 1)))
    depths = np.array(stack_distances(keys))
    low = 0
    for b in found["bins"]:
        assert b["accesses"] == int(((depths > low) & (depths <= b["up_to"])).sum())
        assert b["hit_ratio"] == pytest.approx(((depths > 0) & (depths <= b["up_to"])).mean())
        low = b["up_to"]
    assert found["first_accesses"] == int((depths == 0).sum())
    assert sum(b["accesses"] for b in found["bins"]) + found["first_accesses"] == len(keys)


def test_published_hits_of_lru(shared: Path, facts: Any) -> None:
    path = shared / "traces/classical/cache2k_web12.trace.xz"
    bins = reuse_distances(read_accesses(path))["bins"]
    exact = facts["exact_hit_counts"]["classical/cache2k_web12.trace"]["caps"]
    for capacity, hits in exact.items():
        below = sum(b["accesses"] for b in bins if b["up_to"] <= int(capacity))
        assert below <= hits["lru"] <= below + next((b["accesses"] for b in bins if b["up_to"] > int(capacity)), 0)
