"""CPU seconds of the first replay with a policy in a process, without imports: `first_use.py POLICY unit|sized`."""

from __future__ import annotations

import sys
import time

import numpy as np

import simcore.replay.distances
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses


def main(policy: str, sizes: str) -> None:
    ids = np.arange(1000, dtype=np.uint32) % 100
    accesses = Accesses(ids=ids, n_objects=100, sizes=1 + ids.astype(np.int64) if sizes == "sized" else None)
    start = time.process_time()
    if policy == "lru_curve":
        simcore.replay.distances.lru_curve(accesses)
    else:
        replay(accesses, [Tier(capacity=50, policy=policy)])
    print(time.process_time() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
