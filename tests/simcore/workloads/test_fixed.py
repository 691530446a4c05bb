"""Closed loops as benchmark clients make them: requests of one shape, rounds, waves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.specs.base import Spec, validate
from simcore.traces.reuse import ideal_hit
from simcore.traces.trace import Trace
from simcore.workloads.resolve import WorkloadSpec, build_trace


class Scenario(Spec):
    workload: WorkloadSpec


def built(**data: Any) -> Trace:
    return build_trace(validate(Scenario, {"workload": data}).workload)


def test_so_many_rounds_of_requests_of_one_length_without_reuse() -> None:
    trace = built(kind="fixed", isl=1000, osl=30, concurrency=8, rounds=3)
    assert trace.n == 24
    assert (set(trace.input_tokens.tolist()), set(trace.output_tokens.tolist())) == ({1000}, {30})
    assert ideal_hit(trace).token_ratio == 0
    assert built(kind="fixed", concurrency=8).n == 80
    assert built(kind="fixed", requests=17, concurrency=8).n == 17
    assert built(kind="fixed", requests=17, request_rate=2).mean_rate_per_s == pytest.approx(2)


def test_lengths_that_vary_are_uniform_between_their_shares() -> None:
    trace = built(kind="fixed", isl=1000, osl=200, concurrency=1, rounds=20_000, lengths="0.8-1.0")
    for tokens, size in ((trace.input_tokens, 1000), (trace.output_tokens, 200)):
        assert (tokens.min(), tokens.max()) == (0.8 * size, size)
        assert tokens.mean() == pytest.approx(0.9 * size, rel=0.005)
    assert abs(np.corrcoef(trace.input_tokens, trace.output_tokens)[0, 1]) < 0.02
    assert built(kind="fixed", concurrency=2, lengths="1-1.0").sha256 == built(kind="fixed", concurrency=2).sha256


def test_waves_are_rounds_of_as_many_sessions_as_clients() -> None:
    trace = built(kind="fixed", concurrency=4, rounds=3, client_pattern={"waves": True})
    assert trace.wave.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    chat = built(kind="chat", concurrency=5, requests=60, client_pattern={"waves": True})
    first = chat.after < 0
    assert np.bincount(chat.wave[first])[:-1].tolist() == [5] * int(chat.wave.max())
    chained = np.flatnonzero(~first)
    assert (chat.wave[chained] == chat.wave[chat.after[chained]]).all()
    plain = built(kind="chat", concurrency=5, requests=60)
    assert sorted(chat.input_tokens.tolist()) == sorted(plain.input_tokens.tolist())


def test_only_waves_and_rounds_depend_on_the_concurrency() -> None:
    assert built(kind="shared_prefix", concurrency=4) is built(kind="shared_prefix", concurrency=5)
    assert built(kind="fixed", concurrency=4).n != built(kind="fixed", concurrency=5).n
    one, two = (built(kind="shared_prefix", concurrency=c, client_pattern={"waves": True}) for c in (4, 5))
    assert one.wave.max() > two.wave.max()


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "fixed"}, "requests: is required without a concurrency"),
    ({"kind": "fixed", "rounds": 3, "requests": 3, "concurrency": 2}, "workload.rounds: excludes requests"),
    ({"kind": "fixed", "rounds": 3, "request_rate": 3}, "workload.rounds: needs a concurrency"),
    ({"kind": "fixed", "concurrency": 3, "lengths": "random"}, "workload.lengths: must be fixed, or two shares"),
    ({"kind": "fixed", "concurrency": 3, "lengths": "1.0-0.8"}, "workload.lengths: must be fixed, or two shares"),
    ({"kind": "fixed", "request_rate": 3, "client_pattern": "burst"}, "workload.client_pattern: needs a concurrency"),
    (
        {"kind": "fixed", "concurrency": 3, "client_pattern": "staggered"},
        "workload.client_pattern.ramp_up: is required for staggered",
    ),
    (
        {"kind": "fixed", "concurrency": 3, "client_pattern": {"ramp_up": "3 s"}},
        "workload.client_pattern.ramp_up: is of staggered clients",
    ),
    (
        {"kind": "multiturn", "concurrency": 3, "client_pattern": {"waves": True}},
        "client_pattern.waves: the workload has a barrier of its own",
    ),
]


@pytest.mark.parametrize(("data", "message"), MISTAKES)
def test_mistakes(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        built(**data)
    assert message in str(caught.value)
