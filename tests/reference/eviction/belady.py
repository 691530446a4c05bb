"""Belady by a table of next uses; of those never used again, the one used longest ago."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.next: dict[int, tuple[int, int]] = {}

    def hit(self, obj, event):
        self.next[obj] = (event["next_use"], -event["clock"])

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return max(self.next, key=lambda obj: self.next[obj])

    def insert(self, obj, size, event):
        self.next[obj] = (event["next_use"], -event["clock"])

    def evict(self, obj):
        del self.next[obj]
