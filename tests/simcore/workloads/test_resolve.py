"""How a scenario's `workload` becomes a spec and a trace: presets, kinds, recorded traces, overrides, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcore.errors import InputError
from simcore.plugins import names
from simcore.presets import list_presets
from simcore.specs.base import Spec, validate, yaml_dict
from simcore.traces.reuse import ideal_hit
from simcore.workloads import chat, multiturn
from simcore.workloads.resolve import TraceWorkload, WorkloadSpec, build_trace, file_sha256, trace_path


class Scenario(Spec):
    workload: WorkloadSpec


def workload(data: Any, **context: Any) -> Any:
    return validate(Scenario, {"workload": data}, file="s.yaml", context=context).workload


def recorded(folder: Path, rows: int = 4, name: str = "t.jsonl") -> Path:
    lines = [{"timestamp": 1000 * i, "input_length": 600, "output_length": 5, "hash_ids": [0, 1 + i]} for i in range(rows)]
    path = folder / name
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_a_bare_string_is_a_preset_and_fields_beside_it_win() -> None:
    plain = workload("chat-multi-tenant")
    assert isinstance(plain, chat.Params)
    changed = workload(
        {"preset": "chat-multi-tenant", "request_rate": "6 /s", "tenants": 8, "output_tokens": "sharegpt-output"}
    )
    assert (changed.request_rate, changed.tenants, changed.output_tokens.mean) == (6.0, 8, 337.99)
    assert changed.user_tokens == plain.user_tokens


def test_part_of_a_distribution_changes_that_part() -> None:
    capped = workload({"preset": "chat-multi-tenant", "system_tokens": {"high": 2000}, "output_tokens": {"at_most": 700}})
    assert (capped.system_tokens.low, capped.system_tokens.high) == (500, 2000)
    assert (capped.output_tokens.p50, capped.output_tokens.at_most) == (350, 700)
    longer = workload({"preset": "chat-multi-tenant", "output_tokens": {"p99": 2000}})
    assert (longer.output_tokens.p50, longer.output_tokens.p99) == (350, 2000)
    default = workload({"kind": "chat", "user_tokens": {"p99": 9000}})
    assert (default.user_tokens.p50, default.user_tokens.p99) == (1020, 9000)


def test_open_and_closed_loop_replace_each_other() -> None:
    closed = workload({"preset": "chat-multi-tenant", "concurrency": 32})
    assert (closed.request_rate, closed.concurrency) == (None, 32)
    assert workload({"preset": "chat-multi-tenant", "request_rate": None}).request_rate is None


def test_a_trace_takes_the_place_of_a_preset_or_kind(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    for other in ({"preset": "chat-multi-tenant"}, {"kind": "chat"}, {}):
        spec = workload({**other, **({"tenants": 8} if other else {}), "request_rate": 3, "trace": str(path)})
        assert isinstance(spec, TraceWorkload)
        assert (spec.request_rate, spec.requests, spec.warmup) == (3.0, None, 0.0)


def test_a_preset_may_be_a_file_with_a_trace_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    recorded(tmp_path / "mine")
    (tmp_path / "mine/w.yaml").write_text("description: ours\ntrace: t.jsonl\nrequest_rate: 2\n")
    spec = workload({"preset": "mine/w.yaml", "requests": 3}, base_dir=tmp_path)
    assert build_trace(spec).n == 3
    (tmp_path / "bad.yaml").write_text("requests: 3\n")
    with pytest.raises(InputError, match=r"workload.preset: describes no workload: needs kind or trace; got bad.yaml"):
        workload("bad.yaml", base_dir=tmp_path)


@pytest.mark.parametrize("preset", list_presets("workloads"))
def test_every_preset_builds_and_survives_a_round_trip(preset: str) -> None:
    spec = workload(preset)
    written = yaml_dict(Scenario(workload=spec))
    assert validate(Scenario, written).workload == spec
    trace = build_trace(spec)
    assert trace.n <= 3000
    assert len(trace.block_ids) <= 16_000_000  # 64 MB: agents' prompts of 100,000 tokens in blocks of 16
    assert spec.with_changes(seed=5).seed == 5


def test_what_the_presets_promise() -> None:
    tenants = build_trace(workload("chat-multi-tenant"))
    kv_gib = tenants.n_ids * 16 * 131_072 / 2**30  # Llama-3.1-8B, bf16
    assert kv_gib > 500
    assert 0.7 < ideal_hit(tenants).token_ratio < 0.8
    per_request = kv_gib / tenants.n
    assert 60 * per_request == pytest.approx(14, rel=0.1)
    assert round(ideal_hit(build_trace(workload("multiturn-hicache")), 64).hit_tokens[-1] / 36_872, 4) == 0.8887
    assert ideal_hit(build_trace(workload("shared-prefix-tenants"))).token_ratio == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", names("simcore.workloads"))
def test_every_kind_is_deterministic_and_honours_seed_and_requests(kind: str) -> None:
    data = {"kind": kind, "requests": 40, **({"request_rate": 3} if kind == "chat" else {})}
    one, two = (build_trace(workload({**data, "seed": seed})) for seed in (1, 2))
    assert (one.n, two.n) == (40, 40)
    assert build_trace(workload({**data, "seed": 1})) is one
    constant = kind in ("multiturn", "fixed")  # their lengths are constants unless asked otherwise
    assert (one.sha256 == two.sha256) is constant


def test_recorded_traces_are_scaled_limited_and_remembered_by_content(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    spec = workload({"trace": "t.jsonl", "request_rate": 2, "requests": 3})
    trace = build_trace(spec, base_dir=tmp_path)
    assert (trace.n, trace.mean_rate_per_s) == (3, pytest.approx(2))
    assert trace_path(spec, tmp_path) == path
    copy = workload({"trace": str(recorded(tmp_path, name="copy.jsonl")), "request_rate": 2, "requests": 3, "warmup": 0.5})
    assert build_trace(copy) is trace
    before = file_sha256(path)
    recorded(tmp_path, rows=5)
    assert file_sha256(path) != before
    assert build_trace(workload({"trace": "t.jsonl"}), base_dir=tmp_path).n == 5


def test_trace_options_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        {"timestamp": t, "input_length": 20, "output_length": 5, "hash_ids": [0, 1 + i]} for i, t in enumerate((0, 0, 4000))
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    data = {"trace": str(path), "granule_tokens": 16, "reader": "mooncake"}
    assert build_trace(workload(data)).arrival_s.tolist() == [0.0, 2.0, 4.0]
    assert build_trace(workload({**data, "spread_ticks": False})).arrival_s.tolist() == [0.0, 0.0, 4.0]
    with pytest.raises(InputError, match="unknown name in traces; got moon"):
        build_trace(workload({**data, "reader": "moon"}))


MISTAKES: list[tuple[Any, str]] = [
    (3, "workload: must be a mapping"),
    (
        {},
        "workload: needs a preset, a kind or a trace. Kinds: chat, fixed, multiturn, shared_prefix; presets: chat-multi-tenant",
    ),
    ({"kind": "chta"}, "workload.kind: unknown name in workloads; got chta. Did you mean chat"),
    ("chat-multi-tenat", "workload.preset: unknown workload preset; got chat-multi-tenat. Did you mean chat-multi-tenant"),
    ({"preset": 3}, "workload.preset: must be a name or a path; got 3"),
    ({"preset": "chat-multi-tenant", "kind": "multiturn"}, "workload.kind: the preset is of kind chat; got multiturn"),
    ({"kind": "chat", "tenantz": 3}, "workload.tenantz: unknown key. Did you mean tenants"),
    ({"kind": "chat", "clients": 3}, "workload.clients: unknown key"),
    ({"trace": "t.jsonl", "tenants": 3}, "workload.tenants: unknown key"),
    ({"trace": ""}, "workload.trace: "),
    ({"kind": "chat", "request_rate": 0}, "workload.request_rate: must be greater than 0; got 0"),
    ({"kind": "chat", "request_rate": "4 GiB"}, "workload.request_rate: must be a quantity of per second; got 4 GiB"),
    ({"kind": "chat", "request_rate": 4, "concurrency": 4}, "workload.concurrency: excludes request_rate; got 4"),
    ({"kind": "chat", "concurrency": 0}, "workload.concurrency: must be greater than or equal to 1"),
    ({"kind": "chat", "requests": 0}, "workload.requests: must be greater than or equal to 1"),
    ({"kind": "chat", "requests": 2.5}, "workload.requests: must be a whole number"),
    ({"kind": "chat", "warmup": 1}, "workload.warmup: must be less than 1"),
    ({"kind": "chat", "warmup": "10 s"}, "workload.warmup: must be a share; got 10 s"),
    ({"kind": "chat", "seed": -1}, "workload.seed: must be greater than or equal to 0"),
    ({"kind": "chat", "think_time": 30}, "workload.think_time.constant: needs a unit; got 30"),
    ({"kind": "chat", "user_tokens": "azur"}, "workload.user_tokens.published: unknown distribution; got azur"),
    ({"kind": "multiturn", "request_rate": 3}, "workload.request_rate: a barrier starts every round at once"),
]


@pytest.mark.parametrize(("data", "message"), MISTAKES)
def test_mistakes_are_named_with_their_path(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"s.yaml: {message}"):
        workload(data)


def test_a_missing_trace_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.jsonl: no such trace file"):
        build_trace(workload({"trace": "none.jsonl"}), base_dir=tmp_path)


def test_an_oversized_workload_is_refused_before_memory_runs_out() -> None:
    with pytest.raises(InputError, match="workload too large"):
        build_trace(workload({"kind": "multiturn", "clients": 1000, "rounds": 1000, "new_tokens": 4096}))


def test_shorthands_inside_a_workload_are_expanded() -> None:
    raw = {"workload": {"kind": "chat", "output_tokens": "sharegpt-output", "think_time": "3 s"}}
    expected = {"kind": "chat", "output_tokens": {"published": "sharegpt-output"}, "think_time": {"constant": "3 s"}}
    assert Scenario.expand(raw) == {"workload": expected}
    assert Scenario.expand({"workload": "nonesuch"}) == {"workload": {"preset": "nonesuch"}}


def test_python_callers_may_use_plain_numbers() -> None:
    spec = Scenario(workload={"kind": "chat", "think_time": {"constant_s": 3}, "warmup": "5 %"}).workload
    assert isinstance(spec, chat.Params)
    assert (spec.think_time.constant_s, spec.warmup) == (3.0, 0.05)
    assert Scenario(workload=multiturn.Params(clients=3)).workload == multiturn.Params(clients=3)
