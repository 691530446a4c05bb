"""Hyperbolic caching on a plain list: exact fractions, and SplitMix64 for the draws."""

from fractions import Fraction

import numpy as np

MASK = (1 << 64) - 1


class Twin:
    def __init__(self, capacity: int, samples: int = 64) -> None:
        self.samples = samples
        self.random = int(np.random.SeedSequence([0, 0]).generate_state(1, np.uint64)[0])
        self.t = 0
        self.uses: dict[int, int] = {}
        self.entered: dict[int, int] = {}
        self.seats: list[int] = []

    def _draw(self, n):
        self.random = (self.random + 0x9E3779B97F4A7C15) & MASK
        x = self.random
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return ((x ^ (x >> 31)) >> 32) * n >> 32

    def hit(self, obj, event):
        self.t += 1
        self.uses[obj] += 1

    def miss(self, obj, size, event):
        self.t += 1

    def victim(self, event):
        n = len(self.seats)
        drawn = self.seats if n <= self.samples else [self.seats[self._draw(n)] for _ in range(self.samples)]
        return min(drawn, key=lambda obj: Fraction(self.uses[obj], self.t - self.entered[obj]))

    def insert(self, obj, size, event):
        self.uses[obj], self.entered[obj] = 1, self.t
        self.seats.append(obj)

    def evict(self, obj):
        at = self.seats.index(obj)
        self.seats[at] = self.seats[-1]
        del self.seats[-1], self.uses[obj], self.entered[obj]
