"""Belady with bypass: the newcomer stays out unless some object present is asked for again later than it."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.next: dict[int, tuple[int, int]] = {}

    def hit(self, obj, event):
        self.next[obj] = (event["next_use"], -event["clock"])

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        last = max(self.next, key=lambda obj: self.next[obj])
        return last if self.next[last][0] > event["next_use"] else None

    def insert(self, obj, size, event):
        self.next[obj] = (event["next_use"], -event["clock"])

    def evict(self, obj):
        del self.next[obj]
