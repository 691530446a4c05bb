"""KVCache in the Wild's priority, computed for every object, with the fit made from a list of all uses."""

import math
from collections import Counter


class Twin:
    def __init__(self, capacity: int, life_s: float = 0.0, sample_s: float = 3600.0, learn_all: int = 1 << 20) -> None:
        self.life_s, self.sample_s, self.learn_all = life_s, sample_s, learn_all
        self.queues: dict[int, list[int]] = {}  # by category, in order of first sight
        self.samples: list[list[tuple]] = []  # ("use", category) and ("reuse", category, waited)
        self.end_s = 0.0
        self.last: dict[int, tuple[int, float]] = {}  # of every object: category, time
        self.used: dict[int, tuple[int, int]] = {}  # of residents: request, -depth
        self.lived: dict[int, float] = {}
        self.seen, self.fit_at = 0, 1
        self.fits: dict[int, tuple[float, float]] = {}

    def learn(self, obj, event):
        now, category = event["time_s"], event["category"] % 64
        if self.seen == self.fit_at:
            self.fit_at += min(self.seen, 1000)
            self.fit()
        self.seen += 1
        self.queues.setdefault(category, [])
        last = self.last.get(obj)
        self.last[obj] = (category, now)
        if self.seen > self.learn_all and (obj * 0x9E3779B1 % 2**32) // 2**29:
            return
        if not self.samples or now >= self.end_s:
            self.samples.append([])
            self.end_s = now + self.sample_s
        if last:
            waited = max(0.0, now - last[1])
            self.samples[-1].append(("reuse", last[0], waited))
            self.lived[obj] = self.lived.get(obj, 0.0) + waited
        self.samples[-1].append(("use", category))

    def fit(self):
        self.fits = {}
        told = [entry for sample in self.samples[-2:] for entry in sample]
        uses = Counter(entry[1] for entry in told if entry[0] == "use")
        waits = {c: [entry[2] for entry in told if entry[:2] == ("reuse", c)] for c in self.queues}
        every = [wait for c in waits for wait in waits[c]]
        if sum(every) <= 0:
            return
        life = self.life_s or sum(self.lived.values()) / len(self.lived)
        for c in self.queues:
            mean = (sum(waits[c]) + sum(every) / len(every)) / (len(waits[c]) + 1)
            share = (len(waits[c]) + len(every) / sum(uses.values())) / (uses[c] + 1)
            self.fits[c] = (mean, math.log(share * -math.expm1(-life / mean)))

    def hit(self, obj, event):
        self.queues[self.last[obj][0]].remove(obj)
        self.learn(obj, event)
        self.enqueue(obj, event)

    def enqueue(self, obj, event):
        queue = self.queues[event["category"] % 64]
        self.used[obj] = (event["request"], -event["depth"])
        queue.append(obj)
        queue.sort(key=lambda other: self.used[other])

    def miss(self, obj, size, event):
        self.learn(obj, event)

    def victim(self, event):
        best = None
        for c, queue in self.queues.items():
            if not queue:
                continue
            mean, level = self.fits.get(c, (1.0, 0.0))
            waited = max(0.0, event["time_s"] - self.last[queue[0]][1])
            rank = (level - waited / mean, self.used[queue[0]][1])
            if best is None or rank < best[0]:
                best = (rank, queue[0])
        request, place = self.used[best[1]]
        same = request == event["request"] and self.last[best[1]][0] == event["category"] % 64
        return None if same and -place < event["depth"] else best[1]

    def insert(self, obj, size, event):
        self.enqueue(obj, event)

    def evict(self, obj):
        self.queues[self.last[obj][0]].remove(obj)
        del self.used[obj]
