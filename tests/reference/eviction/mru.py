"""MRU by the number of the last use of each object."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.last_use: dict[int, int] = {}

    def hit(self, obj, event):
        self.last_use[obj] = event["clock"]

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return max(self.last_use, key=self.last_use.__getitem__)

    def insert(self, obj, size, event):
        self.last_use[obj] = event["clock"]

    def evict(self, obj):
        del self.last_use[obj]
