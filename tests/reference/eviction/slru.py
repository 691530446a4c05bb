"""SLRU by one list a segment, lowest segment first, oldest object first."""

from __future__ import annotations


class Twin:
    def __init__(
        self, capacity: int, segments: int = 2, probation: float = 0.2, fill: bool = False, bounded: bool = False
    ) -> None:
        upper = [(1 - probation) / (segments - 1)] * (segments - 1) if segments > 1 else []
        self.most = [int(share * capacity) for share in [probation, *upper]]
        self.segments: list[list[int]] = [[] for _ in self.most]
        self.sizes: dict[int, int] = {}
        self.fill = fill
        self.bounded = bounded
        self.spilled = False

    def length(self, number: int) -> int:
        return sum(self.sizes[obj] for obj in self.segments[number])

    def hit(self, obj, event):
        number = next(k for k, members in enumerate(self.segments) if obj in members)
        self.segments[number].remove(obj)
        if number + 1 < len(self.segments) and self.sizes[obj] <= self.most[number + 1]:
            number += 1
        self.segments[number].append(obj)
        for k in range(len(self.segments) - 1, 0, -1):
            while self.length(k) > self.most[k]:
                self.segments[k - 1].append(self.segments[k].pop(0))
                self.spilled = k == 1

    def surplus(self):
        if self.bounded and self.spilled and self.length(0) > self.most[0]:
            return self.segments[0][0]
        self.spilled = False
        return None

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return next(members[0] for members in self.segments if members)

    def insert(self, obj, size, event):
        self.sizes[obj] = size
        roomy = [k for k in range(len(self.segments)) if self.length(k) + size <= self.most[k]]
        self.segments[roomy[0] if self.fill and roomy else 0].append(obj)

    def evict(self, obj):
        for members in self.segments:
            if obj in members:
                members.remove(obj)
