"""W-TinyLFU as libCacheSim has it, by three lists, oldest first."""

from __future__ import annotations

from tests.reference.sketch import CountingFilter


class Twin:
    def __init__(
        self, capacity: int, *, window_share: float = 0.01, protected_share: float = 0.8, sample_factor: int = 32
    ) -> None:
        self.main_room = int((1.0 - window_share) * capacity)
        self.protected_room = int(protected_share * self.main_room)
        self.sample_factor = sample_factor
        self.window: list[int] = []
        self.probation: list[int] = []
        self.protected: list[int] = []
        self.size: dict[int, int] = {}
        self.winner: int | None = None
        self.spilled = False

    def begin(self, slots):
        self.filter = CountingFilter(slots, self.sample_factor)

    def used(self, segment: list[int]) -> int:
        return sum(self.size[obj] for obj in segment)

    def hit(self, obj, event):
        if obj in self.window:
            self.window.remove(obj)
            self.window.append(obj)
            return
        self.filter.add(obj)
        if obj in self.protected:
            self.protected.remove(obj)
            self.protected.append(obj)
        elif self.size[obj] > self.protected_room:
            self.probation.remove(obj)
            self.probation.append(obj)
        else:
            self.probation.remove(obj)
            self.protected.append(obj)
            while self.used(self.protected) > self.protected_room:
                self.probation.append(self.protected.pop(0))
                self.spilled = True

    def surplus(self):
        if self.spilled and self.used(self.probation) > self.main_room - self.protected_room:
            return self.probation[0]
        self.spilled = False
        return None

    def miss(self, obj, size, event):
        pass

    def fits(self, obj):
        return self.used(self.probation) + self.used(self.protected) + self.size[obj] <= self.main_room

    def move(self):
        """The window's oldest to the main part."""
        obj = self.window.pop(0)
        self.filter.add(obj, of_sample=False)
        size = self.size[obj]
        rises = self.used(self.probation) + size > self.main_room - self.protected_room
        rises = rises and self.used(self.protected) + size <= self.protected_room
        (self.protected if rises else self.probation).append(obj)

    def settle(self):
        if self.winner is not None and self.winner in self.window and self.fits(self.winner):
            self.move()
        self.winner = None

    def victim(self, event):
        self.settle()
        while self.window:
            if self.fits(self.window[0]):
                self.move()
                continue
            oldest = (self.probation + self.protected + self.window)[0]
            if oldest != self.window[0] and self.filter.estimate(self.window[0]) > self.filter.estimate(oldest):
                self.winner = self.window[0]
                return oldest
            self.filter.add(self.window[0], of_sample=False)
            return self.window[0]
        return (self.probation + self.protected)[0]

    def insert(self, obj, size, event):
        self.size[obj] = size
        self.filter.add(obj, of_sample=False)
        self.settle()
        self.window.append(obj)

    def evict(self, obj):
        for segment in (self.window, self.probation, self.protected):
            if obj in segment:
                segment.remove(obj)
