"""GDSF by a table: rank, time of last use, uses and size of each resident object."""


class Twin:
    def __init__(self, capacity: int, packets: bool = False, compete: bool = True) -> None:
        self.packets, self.compete = packets, compete
        self.age = 0.0
        self.asking = 0.0
        self.uses: dict[int, int] = {}
        self.size: dict[int, int] = {}
        self.rank: dict[int, tuple[float, int]] = {}

    def _rank(self, uses, size):
        cost = 2.0 + size / 536.0 if self.packets else 1.0
        return self.age + uses * 1e6 * cost / float(size)

    def hit(self, obj, event):
        self.uses[obj] += 1
        self.rank[obj] = (self._rank(self.uses[obj], self.size[obj]), event["clock"])

    def miss(self, obj, size, event):
        self.asking = self._rank(1, size)

    def victim(self, event):
        least = min(self.rank, key=lambda obj: self.rank[obj])
        if self.compete and self.asking < self.rank[least][0]:
            self.age = self.asking
            return None
        return least

    def insert(self, obj, size, event):
        self.uses[obj], self.size[obj] = 1, size
        self.rank[obj] = (self.asking if self.compete else self._rank(1, size), event["clock"])

    def evict(self, obj):
        self.age = max(self.age, self.rank.pop(obj)[0])
        del self.uses[obj], self.size[obj]
