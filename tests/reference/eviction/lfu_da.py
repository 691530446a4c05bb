"""LFU with dynamic ageing by a table: key, time of last use and uses of each resident object."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.age = 0
        self.uses: dict[int, int] = {}
        self.key: dict[int, tuple[int, int]] = {}

    def hit(self, obj, event):
        self.uses[obj] += 1
        self.key[obj] = (self.uses[obj] + self.age, event["clock"])

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return min(self.key, key=lambda obj: self.key[obj])

    def insert(self, obj, size, event):
        self.uses[obj] = 1
        self.key[obj] = (1 + self.age, event["clock"])

    def evict(self, obj):
        self.age = max(self.age, self.key.pop(obj)[0])
        del self.uses[obj]
