"""What has no meaning for a trace is None or refused, not a number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.replay.curve import miss_ratio_curve
from simcore.replay.distances import lru_curve
from simcore.replay.result import Replay
from simcore.replay.run import replay
from simcore.replay.sampling import sample
from simcore.replay.setup import Tier
from simcore.replay.stream import replay_stream
from simcore.traces.accesses import Accesses

TIERS = [Tier(capacity=2)]
COLUMNS = {"tokens": np.array([3, 4, 3, 5]), "request_start": np.array([0, 2, 4, 4])}


@pytest.fixture(autouse=True)
def _own_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def both(accesses: Accesses) -> list[Replay]:
    return [replay(accesses, TIERS), replay_stream([accesses], accesses.n_objects, TIERS)]


def test_tokens_count_only_in_chains() -> None:
    single, chains = (Accesses.of([1, 2, 1, 3], chain=chain, **COLUMNS) for chain in (False, True))
    for result in both(single):
        assert (result.tokens, result.token_hit_ratio, result.byte_hit_ratio) == (0, None, None)
        assert result.hit_ratio == 0.25
    assert lru_curve(single).token_hit_ratio([2]) is None
    assert miss_ratio_curve(single, ["lru", "fifo"], [2])[1].token_hit_ratio is None
    for result in both(chains):
        assert (result.tokens, result.token_hit_ratio) == (15, 3 / 15)
    assert lru_curve(chains).token_hit_ratio([2]).tolist() == [3 / 15]  # type: ignore[union-attr]
    assert miss_ratio_curve(chains, ["fifo"], [2])[0].token_hit_ratio.tolist() == [3 / 15]  # type: ignore[union-attr]


@pytest.mark.parametrize("chain", [False, True])
def test_tokens_of_a_sample(chain: bool) -> None:
    n = 20_000
    accesses = Accesses.of(np.arange(n), tokens=np.full(n, 2), request_start=np.arange(n + 1), chain=chain)
    assert sample(accesses, 0.5).tokens == (2 * n if chain else 0)


@pytest.mark.parametrize("chain", [False, True])
def test_requests_without_accesses_leave_nothing_to_count(chain: bool) -> None:
    accesses = Accesses.of([1, 2, 1, 3], chain=chain, **COLUMNS)  # its third request is empty
    for run in (
        lambda: replay(accesses, TIERS, warmup=2),
        lambda: replay_stream([accesses], accesses.n_objects, TIERS, warmup=2),
        lambda: miss_ratio_curve(accesses, ["lru"], [2], warmup=2),
        lambda: lru_curve(accesses, warmup=2),
    ):
        with pytest.raises(InputError, match="must leave an access"):
            run()
