"""LRU by a list, oldest first."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.order: list[int] = []

    def hit(self, obj, event):
        self.order.remove(obj)
        self.order.append(obj)

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return self.order[0]

    def insert(self, obj, size, event):
        self.order.append(obj)

    def evict(self, obj):
        self.order.remove(obj)
