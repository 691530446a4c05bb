"""LRU-K by the paper's blocks HIST and LAST for each object and a search through all residents for each victim."""


class Twin:
    def __init__(self, capacity: int, k: int = 2, correlated_period: int = 0, retained_period: int = 0) -> None:
        self.k, self.correlated, self.retained = k, correlated_period, retained_period
        self.t = 0
        self.hist: dict[int, list[int | None]] = {}
        self.last: dict[int, int] = {}
        self.order: dict[int, int] = {}  # when last used, finer than `last` where objects are released
        self.resident: set[int] = set()

    def hit(self, obj, event):
        self.t += 1
        if self.t - self.last[obj] > self.correlated:
            period = self.last[obj] - self.hist[obj][0]
            earlier = [None if time is None else time + period for time in self.hist[obj]]
            self.hist[obj] = [self.t, *earlier[: self.k - 1]]
        self.last[obj], self.order[obj] = self.t, event["clock"]

    def miss(self, obj, size, event):
        self.t += 1
        known = obj in self.hist and not (self.retained and self.t - self.last[obj] > self.retained)
        earlier = self.hist[obj] if known else [None] * self.k
        self.hist[obj] = [self.t, *earlier[: self.k - 1]]
        self.last[obj], self.order[obj] = self.t, event["clock"]

    def victim(self, event):
        eligible = [obj for obj in self.resident if self.t - self.last[obj] > self.correlated]
        if not eligible:
            return min(self.resident, key=lambda obj: self.order[obj])
        return min(eligible, key=lambda obj: (self.hist[obj][-1] or 0, self.order[obj]))

    def insert(self, obj, size, event):
        self.resident.add(obj)

    def evict(self, obj):
        self.resident.remove(obj)
