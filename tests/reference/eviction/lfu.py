"""LFU by a count and a time of last use for each resident object."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.used: dict[int, tuple[int, int]] = {}  # object -> uses since it entered, when last

    def hit(self, obj, event):
        self.used[obj] = (self.used[obj][0] + 1, event["clock"])

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return min(self.used, key=lambda obj: self.used[obj])

    def insert(self, obj, size, event):
        self.used[obj] = (1, event["clock"])

    def evict(self, obj):
        del self.used[obj]
