"""Peak memory of replaying a stream: `streaming.py POLICY REQUESTS`. Prints seconds and MB."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simcore.replay.setup import Tier
from simcore.replay.stream import replay_stream

OBJECTS = 1 << 20
CHUNK = 1 << 20
SCATTER = np.uint32(2_654_435_761)  # odd, hence a permutation of the objects: frequent ones do not lie together
EXPONENT = 10  # 1 / (1 - 0.9): of a power law with the density of Zipf(0.9)


class Stream:
    """Chunks of accesses, drawn as they are asked for, and the CPU seconds that it took to draw them."""

    def __init__(self, requests: int) -> None:
        self.requests = requests
        self.drawing_s = 0.0

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        rng = np.random.default_rng(1)
        for first in range(0, self.requests, CHUNK):
            start = time.thread_time()
            u = rng.random(min(CHUNK, self.requests - first), np.float32)
            u *= np.float32(OBJECTS ** (1 / EXPONENT) - 1)
            u += np.float32(1)
            rank = np.power(u, EXPONENT).astype(np.uint32)
            ids = (rank * SCATTER) & np.uint32(OBJECTS - 1)
            self.drawing_s += time.thread_time() - start
            yield ids


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(policy: str, requests: int) -> None:
    tiers = [Tier(capacity=OBJECTS // 10, policy=policy)]
    replay_stream(Stream(1000), OBJECTS, tiers)  # loads machine code
    before, stream, start = peak_mb(), Stream(requests), time.thread_time()
    result = replay_stream(stream, OBJECTS, tiers)
    seconds = time.thread_time() - start - stream.drawing_s
    print(f"{seconds:.1f} {before:.0f} {peak_mb():.0f} {result.hit_ratio:.4f}")


if __name__ == "__main__":
    main(sys.argv[1], int(float(sys.argv[2])))
