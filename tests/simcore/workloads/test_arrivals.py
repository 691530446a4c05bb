"""Arrival processes: their moments, the rate they are offered at, and recorded traces at drawn times."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.specs.base import Spec, validate
from simcore.traces.trace import Trace
from simcore.workloads.arrivals import Arrivals, start_times, weibull_shape
from simcore.workloads.resolve import WorkloadSpec, build_trace


class Scenario(Spec):
    workload: WorkloadSpec


def built(data: dict[str, Any]) -> Trace:
    return build_trace(validate(Scenario, {"workload": data}).workload)


def gaps(trace: Trace) -> Any:
    return np.diff(trace.arrival_s[trace.after < 0])


def sessions_file(folder: Path, conversations: int = 40) -> str:
    """Coding sessions of three turns and a subagent, all started at once."""
    lines = []
    for c in range(conversations):
        calls: list[Any] = [
            {"t": 100.0 * i, "in": 64 * (i + 1), "out": 9, "hash_ids": list(range(i + 1)), "think_time": 5.0 * i}
            for i in range(3)
        ]
        calls.insert(1, {"t": 7.0, "type": "subagent", "requests": [{"t": 0.0, "in": 64, "out": 9, "hash_ids": [99]}]})
        lines.append(json.dumps({"id": f"c{c}", "block_size": 64, "requests": calls}))
    path = folder / "sessions.jsonl"
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize(("process", "cv"), [("poisson", 1.0), ("constant", 0.0), ("gamma", 0.5), ("gamma", 3.0),
                                             ("weibull", 0.5), ("weibull", 3.0)])  # fmt: skip
def test_a_process_has_the_mean_and_the_variation_it_is_asked_for(process: str, cv: float) -> None:
    free = {"cv": cv} if process in ("gamma", "weibull") else {}
    drawn = np.diff(start_times(Arrivals(process=process, **free), 1, "test", 200_001))
    assert drawn.mean() == pytest.approx(1, abs=0.03)
    assert drawn.std() / drawn.mean() == pytest.approx(cv, rel=0.03, abs=1e-12)


@pytest.mark.parametrize("cv", [0.01, 0.3, 1.0, 2.5, 40.0, 100.0])
def test_the_shape_of_a_weibull_gives_its_cv(cv: float) -> None:
    shape = weibull_shape(cv)
    log_ratio = math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)
    assert math.sqrt(math.expm1(log_ratio)) == pytest.approx(cv, rel=1e-6)
    assert weibull_shape(1.0) == pytest.approx(1)  # the exponential distribution


@pytest.mark.parametrize("kind", ["shared_prefix", "multiturn", "chat"])
def test_generators_take_a_process_at_their_rate(kind: str) -> None:
    data: dict[str, Any] = {
        "kind": kind,
        "request_rate": 3,
        **({"barrier": False, "clients": 200} if kind == "multiturn" else {}),
    }
    plain, poisson, constant, bursty = (
        built({**data, **({"arrivals": a} if a else {})}) for a in (None, "poisson", "constant", {"process": "gamma", "cv": 4})
    )
    assert plain.sha256 == poisson.sha256
    for trace in (poisson, constant, bursty):
        assert trace.n / trace.span_s == pytest.approx(3)
    if kind != "chat":  # its sessions are folded into a window
        assert gaps(constant).std() < 1e-5 < 2 < gaps(bursty).std() / gaps(bursty).mean()


def test_a_recorded_trace_is_offered_at_drawn_times_in_its_order(tmp_path: Path) -> None:
    rows = [{"timestamp": 100 * i * i, "input_length": 600 + i, "output_length": 5, "hash_ids": [0, 1 + i]} for i in range(200)]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    trace = built({"trace": str(path), "request_rate": 4, "arrivals": "constant"})
    assert gaps(trace) == pytest.approx(np.full(199, 200 / 199 / 4), abs=2e-6)
    assert trace.input_tokens.tolist() == [600 + i for i in range(200)]
    one, two = (built({"trace": str(path), "request_rate": 4, "arrivals": "poisson", "seed": seed}) for seed in (1, 2))
    assert one.sha256 != two.sha256
    assert one.mean_rate_per_s == two.mean_rate_per_s == pytest.approx(4)
    half, whole = built({"trace": str(path), "time_scale": 0.5}), built({"trace": str(path)})
    assert half.arrival_s == pytest.approx(whole.arrival_s / 2)


def test_drawn_sessions_keep_what_happens_inside_them(tmp_path: Path) -> None:
    data = {"trace": sessions_file(tmp_path), "request_rate": 0.5, "arrivals": "poisson"}
    trace = built(data)
    recorded = built({"trace": data["trace"]})
    begins = []
    for session in np.unique(trace.session):
        mine = trace.arrival_s[(trace.session == session) & (trace.after < 0)]
        assert mine[1] - mine[0] == pytest.approx(7.0, abs=2e-6)  # its subagent
        begins.append(mine[0])
    assert max(begins) - min(begins) == pytest.approx(trace.n / 0.5)
    assert sorted(trace.think_s[trace.after >= 0]) == sorted(recorded.think_s[recorded.after >= 0])
    other = built({**data, "think_time": "9 s"})
    assert set(other.think_s[other.after >= 0].tolist()) == {9.0}
    assert set(other.think_s[other.after < 0].tolist()) == {0.0}


def test_options_and_seed_reach_the_reader(tmp_path: Path, shared: Path) -> None:
    path = sessions_file(tmp_path)
    apart = built({"trace": path, "options": {"start_gap_s": 1000.0}})
    assert apart.span_s > 39_000 > 8 > built({"trace": path}).span_s
    servegen = {"trace": str(shared / "traces/kv/servegen_deepseek-r1.tar.zst"), "options": {"duration_s": 60.0}}
    one, two = built(servegen), built({**servegen, "seed": 7})
    assert one.sha256 != two.sha256
    assert np.unique(one.tenant).size > 10  # a client is a tenant


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"arrivals": "poisson"}, "workload.arrivals: needs a request_rate; got poisson"),
    ({"arrivals": "gamma", "request_rate": 3}, "workload.arrivals.cv: is required for gamma"),
    ({"arrivals": {"process": "poisson", "cv": 2}, "request_rate": 3}, "workload.arrivals.cv: is fixed for poisson"),
    ({"arrivals": "pareto", "request_rate": 3}, "workload.arrivals.process: must be"),
    ({"time_scale": 2, "request_rate": 3}, "workload.time_scale: excludes request_rate"),
    ({"time_scale": 2, "concurrency": 3}, "workload.time_scale: excludes concurrency"),
    ({"time_scale": 0}, "workload.time_scale: must be greater than 0"),
    ({"options": {"seed": 3}}, "workload.options.seed: belongs to the workload itself"),
    (
        {"options": {"start_gap": 3}},
        "options.start_gap: is not an option of the coding_sessions format. Did you mean start_gap_s",
    ),
    ({"seed": 3}, "seed: changes nothing in a recorded trace"),
]


@pytest.mark.parametrize(("data", "message"), MISTAKES)
def test_mistakes(tmp_path: Path, data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        built({"trace": sessions_file(tmp_path), **data})
    assert message in str(caught.value)
