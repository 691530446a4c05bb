"""No replacement: what is in the store stays, and newcomers enter only while there is room.

Preloaded with the most frequent objects it is the static cache of embedding tables, which keeps the hottest rows in fast memory
for good: Jiang et al., "FleetRec: Large-Scale Recommendation Inference on Hybrid GPU-FPGA Clusters" (KDD 2021), and, as the
baseline, Xie et al., "Fleche" (EuroSys 2022). With frequencies that do not change (the independent reference model) and objects
of one size, nothing without knowledge of the future does better. It refuses newcomers, so it cannot run an HBM pool.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, Slot, State, kernel

FIELDS = ()
NEEDS: frozenset[str] = frozenset()
MAY_REFUSE = True


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    return np.uint32(0)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    pass
