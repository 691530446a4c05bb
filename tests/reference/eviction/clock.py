"""CLOCK as FIFO-Reinsertion: a queue, oldest first; a referenced object at its old end goes to the new end."""


class Twin:
    def __init__(self, capacity: int) -> None:
        self.queue: list[int] = []
        self.referenced: set[int] = set()

    def hit(self, obj, event):
        self.referenced.add(obj)

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        while self.queue[0] in self.referenced:
            self.referenced.remove(self.queue[0])
            self.queue.append(self.queue.pop(0))
        return self.queue[0]

    def insert(self, obj, size, event):
        self.queue.append(obj)

    def evict(self, obj):
        self.queue.remove(obj)
