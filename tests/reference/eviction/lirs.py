"""LIRS by the stack S and the queue Q of the paper, both lists, bottom and front first."""

from __future__ import annotations


class Twin:
    def __init__(self, capacity: int, cold_share: float = 0.01, history: float = 2.0) -> None:
        self.most_lir = capacity - max(1, int(cold_share * capacity))
        self.most_stack = int(history * capacity)
        self.stack: list[int] = []
        self.queue: list[int] = []
        self.lir: set[int] = set()
        self.sizes: dict[int, int] = {}

    def length(self, members) -> int:
        return sum(self.sizes[obj] for obj in members)

    def hit(self, obj, event):
        if obj in self.lir:
            self.stack.remove(obj)
            self.stack.append(obj)
            self.prune()
            return
        self.queue.remove(obj)
        self.use(obj, lir=obj in self.stack and self.sizes[obj] <= self.most_lir)

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return self.queue[0] if self.queue else next(obj for obj in self.stack if obj in self.lir)

    def insert(self, obj, size, event):
        free = self.most_lir - self.length(self.lir)
        lir = size <= (self.most_lir if obj in self.stack else free)
        if obj in self.stack:
            self.stack.remove(obj)
        self.sizes[obj] = size
        self.use(obj, lir)

    def evict(self, obj):
        if obj in self.lir:
            self.lir.remove(obj)
            self.stack.remove(obj)
            self.prune()
        else:
            self.queue.remove(obj)

    def use(self, obj: int, lir: bool) -> None:
        """`obj` comes to the top of S, as a LIR or HIR block."""
        if obj in self.stack:
            self.stack.remove(obj)
        self.stack.append(obj)
        if lir:
            self.lir.add(obj)
            while self.length(self.lir) > self.most_lir:
                fallen = next(block for block in self.stack if block in self.lir)
                self.lir.remove(fallen)
                self.stack.remove(fallen)
                self.queue.append(fallen)
                self.prune()
        else:
            self.queue.append(obj)
        self.prune()
        while self.length(self.stack) > self.most_stack:
            self.stack.remove(next(block for block in self.stack if block not in self.lir))

    def prune(self) -> None:
        while self.stack and self.stack[0] not in self.lir:
            self.stack.pop(0)
