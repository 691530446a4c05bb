"""Requests of a block each, one after the other: the timed engine finds what a replay without times finds, to the block.

Longer chains differ by what a replay does not know: a request's blocks are pinned while it runs, enter head first as they are
computed and are given back tail first.
"""

from __future__ import annotations

import numpy as np
import pytest

from simcore.plugins import names
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.serving.engine import FAMILY, known_policies
from simcore.serving.serve import prepare, serve
from simcore.serving.setup import StoreSetup
from simcore.traces.blocks import block_accesses
from simcore.traces.trace import Trace
from tests.simcore.serving.cases import UNIT, setup_of

POLICIES = known_policies(pool=False)
IN_HBM = known_policies(pool=True)
DRAWS = ("hyperbolic", "random")
"""A pin moves what these draw from: other draws, from the same distribution."""
BELOW = [
    ("exclusive", "write_back", "through"),
    ("inclusive", "write_through", "through"),
    ("inclusive", "write_back", "back"),
]
"""Placement, write policy here, and in a replay (where an exclusive tier has no choice)."""


@pytest.fixture(scope="module", autouse=True)
def one_engine() -> None:
    prepare(POLICIES)


def skewed(seed: int, n: int = 400) -> Trace:
    """A request a second for one of 60 blocks, by three tenants."""
    rng = np.random.default_rng(seed)
    block = rng.zipf(1.3, n) % 60
    return Trace.of(np.arange(n), [UNIT] * n, [1] * n, [[int(b)] for b in block], UNIT, tenant=block % 3)


def timed(trace: Trace, pool_blocks: int, policy: str, *tiers: StoreSetup) -> list[int]:
    setup = setup_of(pool_blocks, tiers=tiers, hbm_policy=policy, write_backlog_s=1e6)
    return [store.hits for store in serve(trace, setup).stores.values()]


def untimed(trace: Trace, *tiers: Tier) -> list[int]:
    return [tier.hits for tier in replay(block_accesses(trace, UNIT), tiers).tiers]


@pytest.mark.parametrize("name", IN_HBM)
def test_one_tier(name: str) -> None:
    hits = np.array(
        [
            (timed(t, 12, name), untimed(t, Tier(capacity=12, policy=name)))
            for t in map(skewed, range(12 if name in DRAWS else 3))
        ]
    )
    if name in DRAWS:
        assert hits[:, 0].mean() == pytest.approx(hits[:, 1].mean(), rel=0.03)
    else:
        assert (hits[:, 0] == hits[:, 1]).all()


@pytest.mark.parametrize(("placement", "write_policy", "write"), BELOW)
@pytest.mark.parametrize("name", [name for name in POLICIES if name not in DRAWS])
def test_two_tiers(name: str, placement: str, write_policy: str, write: str) -> None:
    for trace in map(skewed, range(3)):
        dram = StoreSetup(name="dram", capacity_blocks=10, policy=name, placement=placement, write_policy=write_policy)
        below = Tier(name="dram", capacity=10, policy=name, placement=placement, write=write)
        assert timed(trace, 8, "lru", dram) == untimed(trace, Tier(name="hbm", capacity=8), below)


@pytest.mark.parametrize("name", [name for name in IN_HBM if name not in DRAWS])
def test_two_tiers_of_one_policy(name: str) -> None:
    for trace in map(skewed, range(3)):
        dram = StoreSetup(name="dram", capacity_blocks=20, policy=name)
        tiers = Tier(name="hbm", capacity=8, policy=name), Tier(name="dram", capacity=20, policy=name)
        assert timed(trace, 8, name, dram) == untimed(trace, *tiers)


def test_the_policies_refused_are_those_that_must_know_the_future_or_train() -> None:
    assert set(names(FAMILY)) - set(POLICIES) == {"belady", "learned", "min"}
