"""The shared-prefix generator: groups, ceiling and load."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcore.specs.base import validate
from simcore.traces.reuse import ideal_hit
from simcore.traces.trace import Trace
from simcore.workloads.shared_prefix import Params, generate


def shared_prefix(seed: int = 0, **changes: Any) -> Trace:
    return generate(validate(Params, {"kind": "shared_prefix", **changes}), seed)


def test_the_tenants_of_the_published_case() -> None:
    """100 tenants x 1,024-token prefix, 1,280 in / 16 out, 600 requests: 500 of 600 find 1,024 of 1,280 tokens."""
    trace = shared_prefix(request_rate=4)
    assert (trace.n, set(trace.input_tokens.tolist()), set(trace.output_tokens.tolist())) == (600, {1280}, {16})
    assert np.bincount(trace.tenant).tolist() == [6] * 100
    assert trace.mean_rate_per_s == pytest.approx(4)
    assert ideal_hit(trace, 16).token_ratio == pytest.approx(500 * 1024 / (600 * 1280), rel=1e-15)


def test_groups_share_exactly_their_prefix() -> None:
    trace = shared_prefix(groups=2, questions=3, prefix_tokens=50, question_tokens=30)
    for i in range(6):
        for k in range(i):
            mine, theirs = trace.prompt_blocks(i).tolist(), trace.prompt_blocks(k).tolist()
            assert len(set(mine) & set(theirs)) == (3 if trace.tenant[i] == trace.tenant[k] else 0)


def test_order_is_random_and_seeded() -> None:
    assert shared_prefix().tenant.tolist() != shared_prefix(1).tenant.tolist()
    assert shared_prefix().sha256 == shared_prefix().sha256
    assert shared_prefix().mean_rate_per_s == np.inf


def test_every_parameter_matters() -> None:
    base: dict[str, Any] = {"groups": 5, "questions": 4, "request_rate": 2}
    changes: list[dict[str, Any]] = [
        {}, {"groups": 6}, {"questions": 5}, {"prefix_tokens": 900}, {"question_tokens": 99}, {"output_tokens": 3},
        {"request_rate": 3}, {"requests": 19},
    ]  # fmt: skip
    assert len({shared_prefix(**{**base, **change}).sha256 for change in changes}) == len(changes)
