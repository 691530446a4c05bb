"""FIFO by a list, oldest first."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.queue: list[int] = []

    def hit(self, obj, event):
        pass

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return self.queue[0]

    def insert(self, obj, size, event):
        self.queue.append(obj)

    def evict(self, obj):
        self.queue.remove(obj)
