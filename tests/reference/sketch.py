"""The frequency sketch as nested lists: four rows of counters up to 15, a set of bits for a doorkeeper."""

from __future__ import annotations

WORD = (1 << 64) - 1


def hashed(obj: int) -> int:
    x = (obj * 0xD6E8FEB86659FD93 + 0xA0761D6478BD642F) & WORD
    x = ((x ^ (x >> 33)) * 0xFF51AFD7ED558CCD) & WORD
    x = ((x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53) & WORD
    return x ^ (x >> 33)


class Sketch:
    def __init__(self, slots: int, factor: int = 10, doorkeeper: bool = False, conservative: bool = False) -> None:
        self.blocks = 1
        while self.blocks < slots // 8 + 1:
            self.blocks *= 2
        self.doors = 1
        while self.doors < slots:
            self.doors *= 2
        self.rows = [[0] * (32 * self.blocks) for _ in range(4)]
        self.door: set[tuple[int, int]] | None = set() if doorkeeper else None
        self.conservative, self.sample, self.counted = conservative, slots * factor, 0

    def cells(self, obj: int) -> list[int]:
        h = hashed(obj)
        block = (h >> 32) % self.blocks
        return [32 * block + (h >> 5 * row) % 32 for row in range(4)]

    def bits(self, obj: int) -> set[tuple[int, int]]:
        h = hashed(obj)
        return {((h >> 32) % self.doors, (h >> shift) % 32) for shift in (5, 15, 25)}

    def add(self, obj: int) -> None:
        if self.door is not None and not self.bits(obj) <= self.door:
            self.door |= self.bits(obj)
        else:
            cells = self.cells(obj)
            least = min(row[cell] for row, cell in zip(self.rows, cells, strict=True))
            for row, cell in zip(self.rows, cells, strict=True):
                if row[cell] < 15 and (not self.conservative or row[cell] == least):
                    row[cell] += 1
        self.counted += 1
        if self.counted == self.sample:
            self.rows = [[counter // 2 for counter in row] for row in self.rows]
            self.counted //= 2
            if self.door is not None:
                self.door = set()

    def estimate(self, obj: int) -> int:
        least = min(row[cell] for row, cell in zip(self.rows, self.cells(obj), strict=True))
        return least + (self.door is not None and self.bits(obj) <= self.door)


class CountingFilter:
    def __init__(self, slots: int, factor: int) -> None:
        self.counters = [0] * (20 + int(14.378 * slots))
        self.sample, self.counted = slots * factor, 0

    def cells(self, obj: int) -> list[int]:
        h = hashed(obj)
        return [(h + number * (h >> 32)) % 2**32 % len(self.counters) for number in range(10)]

    def add(self, obj: int, *, of_sample: bool = True) -> None:
        for cell in self.cells(obj):
            self.counters[cell] += 1
        self.counted += of_sample
        if self.counted == self.sample:
            self.counters = [counter // 2 for counter in self.counters]
            self.counted = 0

    def estimate(self, obj: int) -> int:
        return min(self.counters[cell] for cell in self.cells(obj))
