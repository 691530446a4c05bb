"""Tail-first eviction: each block with the number of the request that used it last, its depth and the moment of use; a scan."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.used: dict[int, tuple[int, int, int]] = {}
        self.uses = 0

    def hit(self, obj, event):
        self.uses += 1
        self.used[obj] = (event["request"], -event["depth"], self.uses)

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        obj = min(self.used, key=lambda obj: self.used[obj])
        return None if self.used[obj][0] == event["request"] and -self.used[obj][1] < event["depth"] else obj

    def insert(self, obj, size, event):
        self.hit(obj, event)

    def evict(self, obj):
        del self.used[obj]
