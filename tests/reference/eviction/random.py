"""Random replacement: candidates in a list, the last one filling the place of one that leaves; SplitMix64 as published."""

import numpy as np

MASK = (1 << 64) - 1


class Twin:
    def __init__(self, capacity: int, seed: int = 0) -> None:
        self.candidates: list[int] = []
        self.state = int(np.random.SeedSequence([seed, 0]).generate_state(1, np.uint64)[0])

    def below(self, n: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        x ^= x >> 31
        return (x >> 32) * n >> 32

    def hit(self, obj, event):
        pass

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return self.candidates[self.below(len(self.candidates))]

    def insert(self, obj, size, event):
        self.candidates.append(obj)

    def evict(self, obj):
        at = self.candidates.index(obj)
        last = self.candidates.pop()
        if last != obj:
            self.candidates[at] = last
