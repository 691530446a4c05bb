"""Eviction orders on plain lists. A store says what happens to its blocks; the policy says which unpinned one leaves next.

LRU: the block whose last use ended longest ago. A pinned block is in use and in no place of the order.
FIFO: the block that entered first. One that is pinned when its turn comes is set aside; once its last pin goes it is overdue.
Overdue blocks leave before all others, in the order in which they became so.
SIEVE: a hand walks from the oldest to the newest block and round again, clears the visited bits it meets and stops at the first
unvisited block. A pinned block it meets is set aside; once its last pin goes it returns right behind the hand.
"""

from __future__ import annotations

from collections.abc import Callable


class Policy:
    """What the three have in common: a list, and nothing to do."""

    def __init__(self) -> None:
        self.order: list[int] = []

    def enter(self, block: int) -> None:
        self.order.append(block)

    def leave(self, block: int) -> None:
        self.order.remove(block)

    def hit(self, block: int) -> None: ...

    def pin(self, block: int) -> None: ...

    def unpin(self, block: int) -> None: ...

    def victim(self, pinned: Callable[[int], bool]) -> int:
        return self.order[0]


class Lru(Policy):
    def pin(self, block: int) -> None:
        self.order.remove(block)

    def unpin(self, block: int) -> None:
        self.order.append(block)


class Fifo(Policy):
    def __init__(self) -> None:
        super().__init__()
        self.overdue: list[int] = []

    def unpin(self, block: int) -> None:
        if block not in self.order + self.overdue:
            self.overdue.append(block)

    def leave(self, block: int) -> None:
        (self.overdue if block in self.overdue else self.order).remove(block)

    def victim(self, pinned: Callable[[int], bool]) -> int:
        while pinned(block := (self.overdue + self.order)[0]):
            self.leave(block)
        return block


class Sieve(Policy):
    def __init__(self) -> None:
        super().__init__()
        self.visited: set[int] = set()
        self.hand = 0  # place of the block it looks at next

    def enter(self, block: int) -> None:
        self.hand += self.hand == len(self.order)  # past the newest: past this one too
        self.order.append(block)
        self.visited.discard(block)

    def hit(self, block: int) -> None:
        self.visited.add(block)

    def unpin(self, block: int) -> None:
        if block not in self.order:
            self.order.insert(self.hand, block)
            self.hand += 1

    def leave(self, block: int) -> None:
        self.hand -= self.order.index(block) < self.hand
        self.order.remove(block)

    def victim(self, pinned: Callable[[int], bool]) -> int:
        while True:
            self.hand %= len(self.order)
            block = self.order[self.hand]
            if pinned(block):
                self.leave(block)
            elif block in self.visited:
                self.visited.remove(block)
                self.hand += 1
            else:
                return block


POLICIES: dict[str, type[Policy]] = {"lru": Lru, "fifo": Fifo, "sieve": Sieve}
