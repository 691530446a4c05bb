"""kvcache-simulator 0.1.3 (PyPI, of kvcache-ai/kvcache-blog) on the Mooncake conversation trace.

Its table of prefix hits: shares of the prompt tokens, in percent, of the last half of the requests, for FIFO, LRU and the
offline optimum at capacities in blocks of 512 tokens, as the tool prints them when it is run. Over the whole trace LRU has the
figures of an independent replay, of which AISimulate (one worker, fixed times) reproduces three in two digits. FIFO and the
optimum take a prompt's blocks from the first on, LRU from the last on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from simcore.replay.curve import miss_ratio_curve
from simcore.traces.load import read_accesses
from simcore.validation.case import Case, printed, series
from simcore.validation.mooncake import CONVERSATION

SYSTEM = "kvcache-simulator"
SOURCE = "kvcache-simulator 0.1.3 (PyPI), run on the Mooncake conversation trace"
REPLAY = "independent replay of the Mooncake conversation trace, with AISimulate at three capacities"

BLOCKS = (1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 182_790)
ALL = (4.57, 5.60, 8.96, 18.51, 27.08, 34.15, 36.65, 37.36)
LAST_HALF = {
    "lru": (4.7, 5.6, 8.7, 18.8, 27.9, 35.6, 38.4, 39.8),
    "fifo": (4.6, 5.5, 8.5, 16.5, 24.1, 31.5, 36.0, 39.8),
    "belady": (19.9, 26.8, 34.5, 39.8, 39.8, 39.8, 39.8, 39.8),
}
WORDS = {"lru": "LRU", "fifo": "FIFO", "belady": "offline optimum"}


def cases() -> list[Case]:
    found = _series("LRU hits, all requests", ALL, 2, partial(_curve, "lru", halved=False), source=REPLAY)
    for policy, published in LAST_HALF.items():
        found += _series(f"{WORDS[policy]} hits, last half", published, 1, partial(_curve, policy, halved=True))
    return found


def _series(
    quantity: str, published: Sequence[float], digits: int, ours: Callable[[Path], Sequence[float]], source: str | None = None
) -> list[Case]:
    points = {f"{blocks:,} blocks": value for blocks, value in zip(BLOCKS, published, strict=True)}
    tolerance = printed(digits)
    return series(
        quantity, points, ours, unit="% of tokens", tolerance=tolerance, absolute=True, trace=CONVERSATION, source=source
    )


def _curve(policy: str, trace: Path, *, halved: bool) -> Sequence[float]:
    accesses = read_accesses(trace)
    warmup = accesses.n_requests // 2 if halved else 0
    order = "tail_first" if policy == "lru" else "chain"
    curve = miss_ratio_curve(accesses, [policy], BLOCKS, order=order, warmup=warmup)[0]
    assert curve.token_hit_ratio is not None
    return [100 * ratio for ratio in curve.token_hit_ratio.tolist()]
