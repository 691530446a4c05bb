"""W-TinyLFU by three lists, oldest first."""

from __future__ import annotations

from tests.reference.sketch import Sketch


class Twin:
    def __init__(
        self,
        capacity: int,
        *,
        window_share: float = 0.01,
        protected_share: float = 0.8,
        sample_factor: int = 10,
        doorkeeper: bool = False,
        conservative: bool = False,
    ) -> None:
        self.window_room = capacity - int((1.0 - window_share) * capacity)
        self.protected_room = int(protected_share * (capacity - self.window_room))
        self.of_sketch = (sample_factor, doorkeeper, conservative)
        self.window: list[int] = []
        self.probation: list[int] = []
        self.protected: list[int] = []
        self.size: dict[int, int] = {}
        self.duellists: list[int] = []
        self.proved = False  # the newcomer has won a duel

    def begin(self, slots):
        self.sketch = Sketch(slots, *self.of_sketch)

    def used(self, segment: list[int]) -> int:
        return sum(self.size[obj] for obj in segment)

    def hit(self, obj, event):
        self.sketch.add(obj)
        if obj in self.window:
            self.window.remove(obj)
            self.window.append(obj)
        elif obj in self.protected:
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

    def miss(self, obj, size, event):
        self.sketch.add(obj)
        self.duellists = []
        self.proved = False

    def victim(self, event):
        while self.window and self.used(self.window) + event["size"] > self.window_room:
            self.duellists.append(self.window[0])
            self.probation.append(self.window.pop(0))
        oldest = (self.probation + self.protected + self.window)[0]
        if self.duellists:
            duellist = self.duellists.pop(0)
            return oldest if self.sketch.estimate(duellist) > self.sketch.estimate(oldest) else duellist
        if event["size"] > self.window_room and not self.proved:
            if self.sketch.estimate(event["obj"]) <= self.sketch.estimate(oldest):
                return None
            self.proved = True
        return oldest

    def insert(self, obj, size, event):
        self.size[obj] = size
        self.window.append(obj)
        while self.used(self.window) > self.window_room:
            self.probation.append(self.window.pop(0))

    def evict(self, obj):
        for segment in (self.window, self.probation, self.protected):
            if obj in segment:
                segment.remove(obj)
