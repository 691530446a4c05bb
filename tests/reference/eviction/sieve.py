"""SIEVE as in the paper: newest object at the head of a list; the hand is an object, or None for "start at the tail"."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.queue: list[int] = []  # [0] is the head, [-1] the tail
        self.visited: set[int] = set()
        self.hand: int | None = None

    def hit(self, obj, event):
        self.visited.add(obj)

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        obj = self.queue[-1] if self.hand is None else self.hand
        while obj in self.visited:
            self.visited.remove(obj)
            at = self.queue.index(obj)
            obj = self.queue[at - 1] if at > 0 else self.queue[-1]
        self.hand = obj
        return obj

    def insert(self, obj, size, event):
        self.queue.insert(0, obj)

    def evict(self, obj):
        at = self.queue.index(obj)
        if self.hand == obj:
            self.hand = self.queue[at - 1] if at > 0 else None
        self.queue.remove(obj)
        self.visited.discard(obj)
