"""LFU with the place in the request as first tie-break and the last use as second, by a scan."""


class Twin:
    def __init__(self, capacity: int, keep_late: bool = True) -> None:
        self.keep_late = keep_late
        self.known: dict[int, tuple[int, int, int]] = {}  # frequency, depth, last use
        self.uses = 0

    def hit(self, obj, event):
        self.uses += 1
        self.known[obj] = (self.known.get(obj, (0,))[0] + 1, event["depth"], self.uses)

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        sign = 1 if self.keep_late else -1

        def rank(obj):
            frequency, depth, used = self.known[obj]
            return frequency, sign * depth, used

        return min(self.known, key=rank)

    def insert(self, obj, size, event):
        self.hit(obj, event)

    def evict(self, obj):
        del self.known[obj]
