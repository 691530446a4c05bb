# ruff: noqa: E501  (a table of messages reads best one case a line)
"""Every mistake in a space file gives one message: file, line, path, rule, value, and the nearest right form."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.space import Space, check_name, load_space
from simcore.errors import InputError

Load = Callable[..., Space]
Write = Callable[..., Path]
CAP = "tiers.hbm.capacity"


def message(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text, "one line"
    return text


def search(**entries: Any) -> dict[str, Any]:
    """`search` with these entries; in their names `__` stands for a dot and `star` for *."""
    return {"search": {key.replace("__", ".").replace("star", "*"): value for key, value in entries.items()}}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    # top level
    "unknown key": ({"serch": {}, "search": None}, ": serch: unknown key. Did you mean search?"),
    "no scenario": ({"scenario": None}, ": scenario: is required"),
    "no search": ({"search": None}, ": search: is required"),
    "no objectives": ({"objectives": None}, ": objectives: must be a list of at least one metric"),
    "search is a list": ({"search": ["a"]}, ": search: must be a mapping of paths"),
    "name with a folder": ({"name": "../evil"}, ":1: name: must be a plain name"),
    "name with a dash first": ({"name": "-rf"}, ": name: must be a plain name"),
    "name with a dot first": ({"name": ".hidden"}, ": name: must be a plain name"),
    "budget 0": ({"budget": {"trials": 0}}, ": budget.trials: must be a whole number of at least 1; got 0"),
    "budget key": ({"budget": {"trails": 10}}, ": budget.trails: unknown key. Did you mean trials?"),
    "budget number": ({"budget": 200}, ": budget: must be a mapping; got 200. Write budget: {trials: 200, seed: 0}"),
    "seed text": ({"budget": {"seed": "x"}}, ": budget.seed: must be a whole number"),
    "replications": ({"replications": 0}, ": replications: must be a whole number of at least 1"),
    "allow_saturated": ({"allow_saturated": "yes"}, ": allow_saturated: must be true or false; got yes"),
    # base scenario
    "unknown scenario key": ({"scenario": {"replica": 2}}, ": scenario.replica: unknown key. Did you mean replicas?"),
    "unknown family": ({"scenario": {"family": "kvv"}}, ": scenario.family: "),
    "unknown model": ({"scenario": {"model": "llama-3.1-9b"}}, "llama-3.1-8b"),
    "unknown gpu": ({"scenario": {"gpu": "h100"}}, ": scenario.gpu"),
    "wrong unit": ({"scenario": {"tiers": {"hbm": {"capacity": "40 ms"}}}}, ": scenario.tiers.hbm.capacity: must be a quantity of bytes"),
    "bare number": ({"scenario": {"tiers": {"hbm": {"capacity": 40}}}}, 'needs a unit; got 40. Write it like "40 GiB"'),
    "negative": ({"scenario": {"tiers": {"hbm": {"capacity": "-4 GiB"}}}}, ": scenario.tiers.hbm.capacity: "),
    "unknown policy": ({"scenario": {"tiers": {"hbm": {"capacity": "4 GiB", "policy": "lruu"}}}}, ": scenario.tiers.hbm.policy: "),
    # paths
    "unknown path": (search(tiers__hbm__capcity=["4 GiB"]), ": search.tiers.hbm.capcity: unknown key. Did you mean capacity?"),
    "unknown section": (search(engin__block_size=[16]), ": search.engin.block_size: unknown key. Did you mean engine?"),
    "unknown tier": (search(tiers__nvme__capacity=["4 GiB"]), ": search.tiers.nvme.capacity: unknown tier nvme. Tiers: hbm, dram, cxl; a new one goes into scenario.tiers first"),
    "path in scenario": (search(scenario__replicas=[1, 2]), ": search.scenario.replicas: paths start inside scenario. Write replicas"),
    "star without match": (search(parts__star__capacity=["4 GiB"]), "search.parts.*.capacity: nothing in the scenario matches *. Keys of the scenario: family"),
    "star below a value": (search(replicas__star=[1]), "search.replicas.*: nothing in the scenario matches *"),
    "star of HBM": (search(tiers__star__placement=["exclusive", "inclusive"]), ": search.tiers.*.placement: belongs to the GPU, not to its tier (at tiers.hbm.placement)"),
    "part of a key": (search(tiers__cstar__capacity=["4 GiB"]), "* stands for a whole key. Write tiers.*.capacity"),
    "two entries for one path": (
        search(tiers__star__policy=["lru", "fifo"], tiers__hbm__policy=["lru"]),
        ": search.tiers.hbm.policy: sets what search.tiers.hbm.policy sets as well. Name it once",
    ),
    "entry inside another": (
        search(kv_format=["bf16", "fp8_e4m3"], kv_format__default__k=["bf16"]),
        ": search.kv_format.default.k: sets what search.kv_format sets as well",
    ),
    # values
    "choice with a wrong unit": (search(tiers__cxl__capacity=[0, "64 GiB", "80 us"]), ": search.tiers.cxl.capacity[2]: must be a quantity of bytes; got 80 us"),
    "choice without unit": (search(tiers__cxl__capacity=[0, 64]), ': search.tiers.cxl.capacity[1]: needs a unit; got 64. Write it like "64 GiB"'),
    "negative choice": (search(tiers__cxl__capacity=[0, "-64 GiB"]), ": search.tiers.cxl.capacity[1]: "),
    "unknown policy choice": (search(tiers__cxl__policy=["lru", "sieev"]), ": search.tiers.cxl.policy[1]: "),
    "unknown preset choice": (search(tiers__cxl__preset=["cxl2-x8", "cxl3-x8"]), ": search.tiers.cxl.preset[1]: "),
    "choice in the long form": (
        search(engine__block_size={"choices": [16, "x"], "when": "engine.load == cheaper"}),
        ": search.engine.block_size.choices[1]: must be a whole number; got x",
    ),
    "policy that knows the future": (
        search(tiers__cxl__policy=["lru", "belady"]),
        ": search.tiers.cxl.policy[1]: needs next_use, which no run knows before its times are known; got belady. One of: arc, ",
    ),
    "policy that cannot run HBM": (
        search(tiers__hbm__policy=["static", "lru"]),
        ": search.tiers.hbm.policy[0]: may refuse a block that a running request needs, so it cannot run HBM; got static. ",
    ),
    "choice of a *": (search(tiers__star__policy=["lru", "sieev"]), ": search.tiers.*.policy[1]: "),
    "unknown format": (search(kv_format=["bf16", "fp7"]), ": search.kv_format[1]"),
    "no choices": (search(tiers__cxl__policy=[]), ": search.tiers.cxl.policy: must have at least one choice"),
    "choice twice": (search(tiers__cxl__policy=["lru", "lru"]), ": search.tiers.cxl.policy: has a choice twice"),
    "low above high": (search(tiers__hbm__capacity={"range": ["24 GiB", "4 GiB"]}), f": search.{CAP}.range: low must not be above high"),
    "range without unit": (search(tiers__hbm__capacity={"range": [4, 24]}), f": search.{CAP}.range[0]: needs a unit; got 4"),
    "range with half a unit": (search(tiers__hbm__capacity={"range": [4, "24 GiB"]}), f"needs a unit; got 4. Write {CAP}: {{range: [4 GiB, 24 GiB]}}"),
    "range outside": (search(gpu__count={"range": [0, 4]}), ": search.gpu.count.range[0]: "),
    "foreign": (search(tiers__hbm__capacity={"min": "4 GiB", "max": "24 GiB"}), f"Write {CAP}: {{range: [4 GiB, 24 GiB]}}"),
    "tie without star": (search(tiers__hbm__policy={"choices": ["lru"], "tie": True}), ": search.tiers.hbm.policy.tie: "),
    # conditions
    "when on an unknown path": (
        search(engine__block_size={"choices": [16, 32], "when": "engine.laod == cheaper"}),
        ": search.engine.block_size.when: unknown path or metric engine.laod; got engine.laod == cheaper. Did you mean engine.load?",
    ),
    "when on a metric": (search(engine__block_size={"choices": [16], "when": "ttft_p99 <= 1 s"}), "a condition names paths"),
    "when never true": (
        search(engine__load=["cheaper", "threshold"], engine__max_waiting={"choices": [1, 2], "when": "engine.load == treshold"}),
        "engine.load is never treshold; got engine.load == treshold. Did you mean threshold?",
    ),
    "when in a circle": (
        search(
            engine__load={"choices": ["cheaper", "never"], "when": "engine.block_size == 16"},
            engine__block_size={"choices": [16, 32], "when": "engine.load == never"},
        ),
        "conditions go in a circle; got engine.load -> engine.block_size -> engine.load",
    ),
    "when on itself": (search(engine__load={"choices": ["cheaper", "never"], "when": "engine.load == never"}), "conditions go in a circle"),
    "when on a mapping": (search(engine__load={"choices": ["never"], "when": "tiers == never"}), "search.engine.load.when: "),
    "when on the scenario set": (
        {
            **search(engine__block_size={"choices": [16, 32], "when": "workload.request_rate >= 4"}),
            "scenarios": {"over": {"workload.request_rate": [2, 8]}},
        },
        "workload.request_rate varies over the scenario set",
    ),
    "when with a bare number": (search(engine__load={"choices": ["never"], "when": f"{CAP} >= 4"}), 'needs a unit; got tiers.hbm.capacity >= 4. Write it like "4 GiB"'),
    # load
    "searched load": (
        search(workload__request_rate=[2, 4, 8]),
        "search.workload.request_rate: the load is searched without a throughput or goodput objective. What the world decides belongs in"
        " scenarios; instead of this line write scenarios: {over: {workload.request_rate: [2, 4, 8]}, combine: worst}",
    ),
    "searched load range": (search(workload__request_rate={"range": [2, 10]}), "{over: {workload.request_rate: [2, 6, 10]}, combine: worst}"),
    "searched concurrency": (search(workload__concurrency=[2, 4]), "search.workload.concurrency: the load is searched"),
    # objectives
    "unknown objective": ({"objectives": ["ttft_p98"]}, ": objectives[0]: unknown metric; got ttft_p98. Did you mean ttft_p9"),
    "objective with direction": (
        {"objectives": [{"metric": "ttft_p99", "direction": "minimize"}]},
        "objectives[0]: must be the name of a metric; got {metric: ttft_p99, direction: minimize}. Write ttft_p99; its direction is known",
    ),
    "objective: direction": ({"objectives": [{"ttft_p99": "minimize"}]}, "Write ttft_p99; its direction is known"),
    "minimize objective": ({"objectives": ["minimize ttft_p99"]}, "Write ttft_p99; its direction is known"),
    "objective twice": ({"objectives": ["ttft_p99", "ttft_p99_s"]}, ": objectives[1]: is there twice"),
    "objective text": ({"objectives": "ttft_p99"}, "Write objectives: [ttft_p99]"),
    "no objective": ({"objectives": []}, ": objectives: must be a list of at least one metric; got []"),
    "tier of an objective": ({"objectives": ["hit_ratio_drma"]}, ": objectives[0]: unknown metric; got hit_ratio_drma. Did you mean hit_ratio_dram?"),
    "goodput without limits": ({"objectives": ["goodput", "hbm_cost_usd"]}, ": objectives[0]: goodput needs limits to count requests under. Add to scenario: slo: {ttft: 2 s"),
    "price is missing": ({"scenario": {"gpu": "a40"}, "objectives": ["ttft_p99", "cost_usd_per_million_tokens"]}, "unknown for this scenario"),
    # constraints
    "unknown metric": ({"constraints": ["tpot_p98 <= 80 ms"]}, ": constraints[0]: unknown path or metric tpot_p98"),
    "unit of a metric": ({"constraints": ["tpot_p99 <= 80 GiB"]}, ": constraints[0]: compares seconds with bytes (80 GiB); got tpot_p99 <= 80 GiB"),
    "bare number for a metric": ({"constraints": ["tpot_p99 <= 80"]}, 'needs a unit; got tpot_p99 <= 80. Write it like "80 ms"'),
    "path and metric": ({"constraints": [f"tpot_p99 <= 80 ms and {CAP} >= 4 GiB"]}, "not both; got tpot_p99 <= 80 ms and tiers.hbm.capacity >= 4 GiB. Split it in two"),
    "mixed units": ({"constraints": [f"{CAP} <= engine.block_size"]}, "mixes bytes (tiers.hbm.capacity) with a plain number (engine.block_size)"),
    "unknown path in a constraint": ({"constraints": ["tiers.hbm.capcity <= 4 GiB"]}, "Did you mean tiers.hbm.capacity?"),
    "constraint as mapping": ({"constraints": [{"tpot_p99": "80 ms"}]}, ": constraints[0]: must be an expression"),
    "constraints as mapping": ({"constraints": {"tpot_p99": "80 ms"}}, ": constraints: must be a list of expressions"),
    "constraint twice": ({"constraints": ["tpot_p99 <= 80 ms", "tpot_p99<=80ms"]}, ": constraints[1]: is there twice"),
    "nothing satisfies": ({"constraints": [f"{CAP} >= 32 GiB"]}, ": constraints: no design satisfies the constraints on paths"),
    "whole path": (
        {**search(kv_format=["bf16", "fp8_e4m3"]), "constraints": ["kv_format.default.k == bf16"]},
        "kv_format is searched as a whole; got kv_format.default.k. Compare kv_format itself",
    ),
    # scenario sets
    "over and members": ({"scenarios": {"over": {}, "members": {}}}, ": scenarios: must have over"),
    "neither": ({"scenarios": {"combine": "worst"}}, ": scenarios: must have over"),
    "path beside over": ({"scenarios": {"workload.request_rate": [2, 4]}}, "Write over: {workload.request_rate: [2, 4]}"),
    "combine": ({"scenarios": {"over": {"workload.request_rate": [2]}, "combine": "max"}}, ": scenarios.combine: must be worst, mean or each; got max"),
    "over a range": ({"scenarios": {"over": {"workload.request_rate": {"range": [2, 8]}}}}, ": scenarios.over.workload.request_rate: must be a list of values"),
    "over foreign": ({"scenarios": {"over": {"workload.seed": "choice(1, 2)"}}}, "Write workload.seed: [1, 2]"),
    "over nothing": ({"scenarios": {"over": {"workload.seed": []}}}, "must have at least one value"),
    "over twice": ({"scenarios": {"over": {"workload.seed": [1, 1]}}}, ": scenarios.over.workload.seed[1]: has a value twice"),
    "over wrong value": ({"scenarios": {"over": {"workload.request_rate": [2, "x"]}}}, ": scenarios.over.workload.request_rate[1]: "),
    "over unknown path": ({"scenarios": {"over": {"workload.requst_rate": [2]}}}, ": scenarios.over.workload.requst_rate: unknown key. Did you mean request_rate"),
    "over too much": ({"scenarios": {"over": {"workload.seed": list(range(65))}}}, "makes 65 members, at most 64"),
    "over what is searched": (
        {"scenarios": {"over": {"tiers.hbm.capacity": ["4 GiB", "8 GiB"]}}},
        ": search.tiers.hbm.capacity: sets what scenarios.over.tiers.hbm.capacity sets as well. What the user may choose belongs in search",
    ),
    "member value": ({"scenarios": {"members": {"a": {"workload.request_rate": -1}}}}, ": scenarios.members.a.workload.request_rate: "),
    "member name": ({"scenarios": {"members": {"a[0]": {}}}}, ": scenarios.members.a[0]: a member's name is"),
    "member list": ({"scenarios": {"members": {"a": [1]}}}, ": scenarios.members.a: must be a mapping of paths"),
    "weight 0": ({"scenarios": {"members": {"a": {"weight": 0}}, "combine": "mean"}}, ": scenarios.members.a.weight: must be a number above 0"),
    "weight without mean": ({"scenarios": {"members": {"a": {"weight": 2}}}}, "has no effect with combine: worst; got 2. Write combine: mean"),
    "member twice": ({"scenarios": {"members": {"a": {"workload": "chat-multi-tenant", "workload.seed": 1}}}}, ": scenarios.members.a.workload.seed: sets what"),
    # what is found by building designs
    "short form drops fields": (
        {"scenario": {"gpu": {"preset": "h100-sxm", "count": 2}}, **search(gpu=["h100-sxm", "h200"])},
        ": search.gpu: would drop count of gpu; got h100-sxm. Write gpu.preset",
    ),
    "short form in a member": (
        {"scenarios": {"over": {"workload": ["chat-multi-tenant"]}}},
        ": scenarios.over.workload[0]: would drop request_rate of workload; got chat-multi-tenant. Write workload.preset",
    ),
    "missing trace": ({"scenario": {"workload": {"trace": "no.jsonl"}}}, ": scenario.workload.trace: no such file; got "),
    "missing trace of a member": (
        {"scenarios": {"members": {"a": {"workload": {"trace": "no.jsonl"}}}}},
        ": scenarios.members.a.workload: no such file; got no.jsonl",
    ),
    "no design fits": (
        search(tiers__hbm__capacity={"range": ["90 GiB", "100 GiB"], "step": "5 GiB"}),
        ": search: no design of this space fits the GPU: the smallest excess is",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_space(case: str, load: Load) -> None:
    changes, expected = BAD[case]
    text = message(lambda: load(**changes))
    assert expected in text
    assert "small.yaml:" in text, "file and line"


def test_smallest_excess_names_its_design(load: Load) -> None:
    entries = {"tiers.hbm.capacity": ["100 GiB", "90 GiB"], "kv_format": ["bf16", "fp8_e4m3"]}
    text = message(lambda: load(search=entries))
    assert "the smallest excess is" in text and "got tiers.hbm.capacity 90 GiB" in text and "gpu.count" in text


def test_one_fitting_design_is_enough(load: Load) -> None:
    assert load(search={"tiers.hbm.capacity": ["100 GiB", "90 GiB", "8 GiB"]}).size() == 3


def test_unknown_quality_is_refused_where_it_matters(load: Load) -> None:
    entries = {"kv_format": ["bf16", "q5_1"], "model": ["llama-3.1-8b", "opt-13b"]}
    assert load(search=entries).size() == 4
    for changes in ({"constraints": ["quality_loss <= 2 %"]}, {"objectives": ["ttft_p99", "quality_loss"]}):
        text = message(lambda changes=changes: load(search=entries, **changes))
        place = "constraints[0]" if "constraints" in changes else "objectives[1]"
        assert f"{place}: quality_loss is unknown for some designs; got kv_format q5_1" in text
        assert "Take that choice out of search.kv_format, or take quality_loss out" in text


# -- files ----------------------------------------------------------------------------------------------------------------


def test_missing_file_lists_packaged_spaces(tmp_path: Path) -> None:
    text = message(lambda: load_space(str(tmp_path / "kv_cxll.yaml")))
    assert "kv_cxll.yaml: no such file, and no packaged space of that name. Did you mean kv_cxl?" in text


def test_unknown_name_lists_all() -> None:
    text = message(lambda: load_space("zzzz"))
    assert "kv_cxl" in text and "kv_quickstart" in text and "kv_tiers" in text


def test_folder(tmp_path: Path) -> None:
    assert "must be a file, this is a folder" in message(lambda: load_space(tmp_path))


def test_binary(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\x00\x01\x02")
    assert "this is binary" in message(lambda: load_space(path))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable(write: Write, small_text: str) -> None:
    path = write(small_text)
    path.chmod(0)
    assert "cannot be read" in message(lambda: load_space(path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1, 2", ":1: not valid YAML"),
        ("- a\n- b\n", "must be a mapping with scenario, search and objectives"),
        ("", "must be a mapping"),
        ("just words", "must be a mapping"),
        ("name: a\nname: b\n", "duplicate key 'name': lines 1 and 2"),
        ("search: &x {a: [1]}\nscenario: *x\n", "not supported"),
        ("family: kv\nmodel: llama-3.1-8b\n", "this is a scenario, not a space. Run: dse simulate"),
    ],
)
def test_bad_yaml(text: str, expected: str, write: Write) -> None:
    assert expected in message(lambda: load_space(write(text)))


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch {marker}']",
        "!!python/name:os.system",
        "!!python/object/new:subprocess.Popen [['touch', '{marker}']]",
        "__import__('os').system('touch {marker}')",
        "\"{{__import__('os').system('touch {marker}')}}\"",
        "${{oc.env:HOME}}",
        "$(touch {marker})",
        "lambda: open('{marker}', 'w')",
    ],
)
@pytest.mark.parametrize("place", ["name: {}", "search: {{a: {}}}", "constraints: [{}]", "when: {}", "scenario: {{model: {}}}"])
def test_a_space_can_never_execute_anything(value: str, place: str, write: Write, small_text: str, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    code = value.format(marker=marker)
    key = place.partition(":")[0]
    if key == "when":
        line = f"search:\n  engine.block_size: {{choices: [16, 32], when: {code}}}"
        key = "search"
    else:
        line = place.format(code)
    kept: list[str] = []
    inside = False
    for text in small_text.splitlines():
        inside = text.startswith(f"{key}:") or (inside and text.startswith(" "))
        if not inside:
            kept.append(text)
    message(lambda: load_space(write("\n".join([*kept, line]) + "\n")))
    assert not marker.exists()


# -- pins -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        ("tiers.hbm.capacity", "--set: must be path=value; got tiers.hbm.capacity"),
        ("=4", "--set: must be path=value"),
        ("tiers.hbm.capcity=8GiB", "--set tiers.hbm.capcity: unknown key. Did you mean capacity?"),
        ("tiers.hbm.capacity=8", '--set tiers.hbm.capacity: needs a unit; got 8. Write it like "8 GiB"'),
        ("tiers.hbm.capacity=8 ms", "--set tiers.hbm.capacity: must be a quantity of bytes"),
        ("tiers.hbm.capacity=[", "--set tiers.hbm.capacity: not valid YAML"),
        ("scenario.replicas=2", "--set scenario.replicas: paths start inside scenario"),
        ("parts.*.x=2", "--set parts.*.x: nothing in the scenario matches *"),
        ("tiers.nvme.capacity=8GiB", "--set tiers.nvme.capacity"),
        ("replicas.count=2", "--set replicas.count: "),
        ("model=llama-3.1-9b", "--set model"),
        ("workload.trace=missing.jsonl", "--set workload.trace: no such file; got "),
    ],
)
def test_bad_pin(pin: str, expected: str, load: Load) -> None:
    assert expected in message(lambda: load(pin))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\\b", "a b", "a\n", ".a", "x" * 101, 5, None, "a:b", "~"])
def test_study_names_stay_in_their_folder(name: Any) -> None:
    with pytest.raises(InputError, match="must be a plain name"):
        check_name(name)


@pytest.mark.parametrize("name", ["kv_cxl", "a", "A-1.2_b", "2026-11-30"])
def test_plain_names_pass(name: str) -> None:
    assert check_name(name) == name
