"""Eviction orders on plain lists. A store tells them what happens; they answer which unpinned block leaves next.

    LRU    the block whose last use ended longest ago; pinned blocks are in no order.
    FIFO   the block that entered first. One that is pinned when its turn comes is set aside; when its last pin goes it is overdue,
           and overdue blocks leave before all others, in the order in which they became so.
    SIEVE  NSDI 2024: a hand walks from the oldest to the newest block, clears the visited bits it meets and stops at the first
           unvisited one. A pinned block it meets is set aside; when its last pin goes it returns right behind the hand.
"""

from __future__ import annotations

from collections.abc import Callable

Pinned = Callable[[int], bool]


class Lru:
    def __init__(self) -> None:
        self.order: list[int] = []

    def insert(self, block: int) -> None:
        self.order.append(block)

    def hit(self, block: int) -> None:
        if block in self.order:
            self.order.remove(block)
            self.order.append(block)

    def pin(self, block: int) -> None:
        self.order.remove(block)

    def release(self, block: int) -> None:
        self.order.append(block)

    def remove(self, block: int) -> None:
        self.order.remove(block)

    def victim(self, pinned: Pinned) -> int:
        return self.order[0]


class Fifo:
    def __init__(self) -> None:
        self.order: list[int] = []
        self.overdue: list[int] = []

    def insert(self, block: int) -> None:
        self.order.append(block)

    def hit(self, block: int) -> None:
        """Uses do not count."""

    def pin(self, block: int) -> None:
        """It stays in its place until its turn comes."""

    def release(self, block: int) -> None:
        if block not in self.order and block not in self.overdue:
            self.overdue.append(block)

    def remove(self, block: int) -> None:
        for blocks in (self.order, self.overdue):
            if block in blocks:
                blocks.remove(block)

    def victim(self, pinned: Pinned) -> int:
        for blocks in (self.overdue, self.order):
            while blocks:
                if not pinned(blocks[0]):
                    return blocks[0]
                blocks.pop(0)
        raise AssertionError("every block is pinned")


class Sieve:
    def __init__(self) -> None:
        self.order: list[int] = []
        self.visited: set[int] = set()
        self.hand: int | None = None  # the block to look at next; None: the oldest, when the walk gets there

    def insert(self, block: int) -> None:
        self.order.append(block)

    def hit(self, block: int) -> None:
        self.visited.add(block)

    def pin(self, block: int) -> None:
        """It stays in its place until the hand meets it."""

    def release(self, block: int) -> None:
        if block not in self.order:
            self.order.insert(len(self.order) if self.hand is None else self.order.index(self.hand), block)

    def remove(self, block: int) -> None:
        self.visited.discard(block)
        if block in self.order:
            self._take_out(block)

    def victim(self, pinned: Pinned) -> int:
        while True:
            block = self.order[0] if self.hand is None else self.hand
            self.hand = block
            if pinned(block):
                self._take_out(block)
            elif block in self.visited:
                self.visited.remove(block)
                self.hand = self._after(block)
            else:
                return block

    def _after(self, block: int) -> int | None:
        following = self.order[self.order.index(block) + 1 :]
        return following[0] if following else None

    def _take_out(self, block: int) -> None:
        if block == self.hand:
            self.hand = self._after(block)
        self.order.remove(block)


POLICIES = {"lru": Lru, "fifo": Fifo, "sieve": Sieve}
