"""Where a key belongs in a hash table."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel


@kernel
def place(key: Int, shift: Int) -> Int:
    """The top bits of the product with 2^64 / golden ratio (Fibonacci hashing; Knuth, TAOCP 3, section 6.4)."""
    return ((key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)) >> shift
