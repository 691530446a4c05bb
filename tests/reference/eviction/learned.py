"""Learned eviction on lists: a log of every use, candidates by their place in LRU order, trees walked as they are laid out."""

import math
from itertools import pairwise

import numpy as np

from simcore.learning import Window, train
from tests.reference.eviction.random import Twin as Random

WINDOW, CHUNK = 131_072, 16_384
TREES, DEPTH = 8, 6
SPLITS = 2**DEPTH - 1
TREE = 2 * SPLITS + 2**DEPTH


class Twin:
    def __init__(self, capacity: int, candidates: int = 32) -> None:
        self.capacity, self.candidates = capacity, candidates
        self.drawn = Random(capacity)
        self.order: dict[int, None] = {}  # oldest first
        self.size: dict[int, int] = {}
        self.depth: dict[int, int] = {}  # at the last use, of residents
        self.uses: dict[int, list[int]] = {}  # clocks
        self.log: list[tuple] = []  # object, clock, size, gap, gap before, uses, depth
        self.learnt_at = 0
        self.chunk = 0
        self.trainings = 0
        self.forest = None

    def begin_access(self, event):
        if event["clock"] // CHUNK > self.chunk:
            self.chunk = event["clock"] // CHUNK
            if len(self.log) - self.learnt_at >= WINDOW // 4:
                self.learnt_at = len(self.log)
                self.learn()

    def learn(self):
        obj, clock, size, gap, before, uses, depth = zip(*self.log[-WINDOW:], strict=True)
        features = np.column_stack([gap, before, np.log2(1 + np.array(uses)), np.log2(1 + np.array(size)), depth])
        window = Window(np.array(obj), np.array(clock), np.array(size, float), features)
        forest = train(window, self.capacity, len(self.log))
        if forest is not None:
            self.trainings += 1
            self.forest = forest

    def gaps(self, obj):
        """The last two gaps, as logarithms; 64 if there was none."""
        uses = self.uses[obj][-3:]
        gaps = [math.log2(1 + later - earlier) for earlier, later in pairwise(uses)]
        return [*gaps[::-1], 64.0, 64.0][:2]

    def use(self, obj, size, event):
        self.uses.setdefault(obj, []).append(event["clock"])
        self.log.append((obj, event["clock"], size, *self.gaps(obj), len(self.uses[obj]), event["depth"]))

    def hit(self, obj, event):
        self.begin_access(event)
        self.use(obj, self.size[obj], event)
        self.depth[obj] = event["depth"]
        del self.order[obj]
        self.order[obj] = None

    def miss(self, obj, size, event):
        self.begin_access(event)
        self.use(obj, size, event)

    def forecast(self, obj, now):
        age = now - self.uses[obj][-1]
        logs = [math.log2(1 + x) for x in (age, len(self.uses[obj]), self.size[obj])]
        features = [logs[0], *self.gaps(obj), logs[1], logs[2], self.depth[obj]]
        total = 0.0
        for t in range(TREES):
            tree = self.forest[t * TREE : (t + 1) * TREE]
            place = 0
            while place < SPLITS:
                goes_left = features[int(tree[place])] <= tree[SPLITS + place]
                place = 2 * place + 1 if goes_left else 2 * place + 2
            total += tree[SPLITS + place]
        return total

    def victim(self, event):
        oldest_first = []
        for obj in self.order:
            oldest_first.append(obj)
            if len(oldest_first) == self.candidates or self.forest is None:
                break
        if self.forest is None:
            return oldest_first[0]
        looked_at = []
        for k in range(min(self.candidates, len(self.order))):
            looked_at.append(oldest_first[k // 2] if k % 2 == 0 else self.drawn.victim(event))
        return max(looked_at, key=lambda obj: (self.forecast(obj, event["clock"]), -self.uses[obj][-1]))

    def insert(self, obj, size, event):
        self.order[obj] = None
        self.size[obj] = size
        self.depth[obj] = event["depth"]
        self.drawn.insert(obj, size, event)

    def evict(self, obj):
        del self.order[obj], self.size[obj], self.depth[obj]
        self.drawn.evict(obj)
