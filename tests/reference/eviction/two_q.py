"""2Q, full version, by three lists, oldest first."""

from __future__ import annotations


class Twin:
    def __init__(self, capacity: int, in_share: float = 0.25, out_share: float = 0.5, bounded: bool = False) -> None:
        self.kin = int(in_share * capacity)
        self.kout = int(out_share * capacity)
        self.most = capacity - self.kin if bounded else capacity
        self.a1in: list[int] = []
        self.a1out: list[int] = []
        self.am: list[int] = []
        self.sizes: dict[int, int] = {}
        self.was_out = False

    def length(self, members: list[int]) -> int:
        return sum(self.sizes[obj] for obj in members)

    def hit(self, obj, event):
        if obj in self.am:
            self.am.remove(obj)
            self.am.append(obj)

    def miss(self, obj, size, event):
        self.was_out = obj in self.a1out
        if self.was_out:
            self.a1out.remove(obj)

    def victim(self, event):
        return self.a1in[0] if self.length(self.a1in) > self.kin or not self.am else self.am[0]

    def insert(self, obj, size, event):
        self.sizes[obj] = size
        (self.am if self.was_out else self.a1in).append(obj)

    def surplus(self):
        return self.am[0] if len(self.am) > 1 and self.length(self.am) > self.most else None

    def evict(self, obj):
        if obj in self.am:
            self.am.remove(obj)
            return
        self.a1in.remove(obj)
        if self.sizes[obj] > self.kout:
            return
        self.a1out.append(obj)
        while self.length(self.a1out) > self.kout:
            self.a1out.pop(0)
