"""ARC(c) by four lists, oldest first, as the paper writes it down; `sizes` knows the objects of all four."""

from __future__ import annotations

from fractions import Fraction


class Twin:
    def __init__(self, capacity: int, scaled_step: bool = True) -> None:
        self.c = capacity
        self.scaled_step = scaled_step
        self.p = 0.0
        self.t1: list[int] = []
        self.t2: list[int] = []
        self.b1: list[int] = []
        self.b2: list[int] = []
        self.sizes: dict[int, int] = {}
        self.case = 4
        self.ghost_list: list[int] | None = None

    def length(self, *lists: list[int]) -> int:
        return sum(self.sizes[obj] for members in lists for obj in members)

    def hit(self, obj, event):
        (self.t1 if obj in self.t1 else self.t2).remove(obj)
        self.t2.append(obj)

    def miss(self, obj, size, event):
        step = size if self.scaled_step else 1
        b1, b2 = self.length(self.b1), self.length(self.b2)
        self.case = 2 if obj in self.b1 else 3 if obj in self.b2 else 4
        if self.case == 2:
            self.p = min(self.p + step * float(max(Fraction(1), Fraction(b2, b1))), float(self.c))
            self.b1.remove(obj)
        if self.case == 3:
            self.p = max(self.p - step * float(max(Fraction(1), Fraction(b1, b2))), 0.0)
            self.b2.remove(obj)

    def victim(self, event):
        if self.case == 4:
            if self.length(self.t1, self.b1) + event["size"] > self.c:
                if self.b1:
                    self.b1.pop(0)
                else:
                    self.ghost_list = None
                    return self.t1[0]
            elif self.length(self.t1, self.t2, self.b1, self.b2) >= 2 * self.c and self.b2:
                self.b2.pop(0)
        t1 = self.length(self.t1)
        from_t1 = self.t1 and (t1 > self.p or (t1 == self.p and self.case == 3))
        if from_t1 or not self.t2:
            self.ghost_list = self.b1
            return self.t1[0]
        self.ghost_list = self.b2
        return self.t2[0]

    def insert(self, obj, size, event):
        self.sizes[obj] = size
        (self.t1 if self.case == 4 else self.t2).append(obj)

    def evict(self, obj):
        (self.t1 if obj in self.t1 else self.t2).remove(obj)
        if self.ghost_list is not None:
            while self.length(self.b1, self.b2) + self.sizes[obj] > 64 * self.c:
                (self.b1 or self.b2).pop(0)
            self.ghost_list.append(obj)
