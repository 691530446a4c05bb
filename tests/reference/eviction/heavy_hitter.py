"""H2O's rule by scans: objects in order of entry, the recent ones found from the new end, the least weight by a search."""


class Twin:
    def __init__(self, capacity: int, recent_share: float = 0.5, half_life: float = 0.0) -> None:
        self.most = int(recent_share * capacity)
        self.size: dict[int, int] = {}  # in order of entry
        self.old: list[int] = []  # in the order in which they ceased to be recent
        self.weight: dict[int, float] = {}
        self.now = 1.0
        self.growth = 2.0 ** min(1 / half_life, 64.0) if half_life else 1.0

    def recent(self):
        return [obj for obj in self.size if obj not in self.old]

    def limit(self, incoming):
        while self.recent() and sum(self.size[obj] for obj in self.recent()) + incoming > self.most:
            self.old.append(self.recent()[0])

    def hit(self, obj, event):
        self.weight[obj] += self.now
        self.now *= self.growth

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        self.limit(event["size"])
        if not self.old:
            self.old.append(self.recent()[0])
        return min(self.old, key=lambda obj: self.weight[obj])

    def insert(self, obj, size, event):
        self.size[obj] = size
        self.weight[obj] = self.now
        self.now *= self.growth

    def evict(self, obj):
        if obj in self.old:
            self.old.remove(obj)
        del self.size[obj], self.weight[obj]
