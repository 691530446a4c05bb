"""LeCaR by a list in order of use, a dict of counts and two histories, oldest first."""

from __future__ import annotations

import math

from tests.reference.eviction.random import Twin as Draws


class Twin:
    def __init__(
        self,
        capacity: int,
        *,
        learning_rate: float = 0.45,
        discount: float = 0.005,
        lru_weight: float = 0.5,
        least_weight: float = 1e-10,
        history_share: float = 0.5,
        blame_both: bool = True,
        remember: bool = False,
        seed: int = 0,
    ) -> None:
        self.learning_rate, self.discount, self.remember = learning_rate, discount, remember
        self.room = int(history_share * capacity)
        self.weights = {"lru": lru_weight, "lfu": 1 - lru_weight}
        self.draws = Draws(capacity, seed)
        self.order: list[int] = []  # least recently used first
        self.uses: dict[int, int] = {}
        self.size: dict[int, int] = {}
        self.history: dict[str, list[tuple[int, int, int, int]]] = {"lru": [], "lfu": []}  # object, size, uses, when evicted
        self.blame_both = blame_both
        self.now = 0
        self.by = "lru"
        self.least = least_weight
        self.chosen: int | None = None

    def hit(self, obj, event):
        self.now += 1
        self.chosen = None
        self.order.remove(obj)
        self.order.append(obj)
        self.uses[obj] += 1

    def miss(self, obj, size, event):
        self.now += 1
        self.chosen = None
        self.known = 0
        for policy, other in (("lru", "lfu"), ("lfu", "lru")):
            for entry in self.history[policy]:
                if entry[0] == obj:
                    self.history[policy].remove(entry)
                    regret = self.discount ** ((self.now - entry[3]) / max(len(self.order), 1))
                    self.weights[other] *= math.exp(self.learning_rate * regret)
                    total = sum(self.weights.values())
                    lru = min(max(self.weights["lru"] / total, self.least), 1 - self.least)
                    self.weights = {"lru": lru, "lfu": 1 - lru}
                    self.known = entry[2] if self.remember else 0
                    break

    def victim(self, event):
        rarest = min(self.order, key=lambda obj: self.uses[obj])
        if not self.blame_both and self.order[0] == rarest:
            self.chosen = None
            return rarest
        self.by = "lru" if self.draws.below(2**31) < self.weights["lru"] * 2**31 else "lfu"
        self.chosen = self.order[0] if self.by == "lru" else rarest
        return self.chosen

    def insert(self, obj, size, event):
        self.order.append(obj)
        self.uses[obj], self.size[obj] = self.known + 1, size

    def evict(self, obj):
        self.order.remove(obj)
        history, size = self.history[self.by], self.size[obj]
        if obj == self.chosen and size <= self.room:
            while sum(entry[1] for entry in history) + size > self.room:
                history.pop(0)
            history.append((obj, size, self.uses[obj], self.now))
