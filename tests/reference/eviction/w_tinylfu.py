"""W-TinyLFU by three lists, oldest first."""

from __future__ import annotations

from tests.reference.sketch import CountingFilter, Sketch


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
        lazy_window: bool = False,
        fill: bool = False,
        bounded: bool = False,
        count_moves: bool = False,
        counting_filter: bool = False,
    ) -> None:
        self.lazy, self.fill, self.moves, self.filtering = lazy_window, fill, count_moves, counting_filter
        self.main_room = int((1.0 - window_share) * capacity)
        self.winner: int | None = None
        self.bounded, self.spilled = bounded, False
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
        self.sketch = CountingFilter(slots, self.of_sketch[0]) if self.filtering else Sketch(slots, *self.of_sketch)

    def used(self, segment: list[int]) -> int:
        return sum(self.size[obj] for obj in segment)

    def hit(self, obj, event):
        if not self.moves or obj not in self.window:
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
                self.spilled = True

    def surplus(self):
        if self.bounded and self.spilled and self.used(self.probation) > self.main_room - self.protected_room:
            return self.probation[0]
        self.spilled = False
        return None

    def miss(self, obj, size, event):
        if not self.moves:
            self.sketch.add(obj)
        self.duellists = []
        self.proved = False

    def count_move(self, obj):
        if self.moves and self.filtering:
            self.sketch.add(obj, of_sample=False)
        elif self.moves:
            self.sketch.add(obj)

    def fits(self, obj):
        return self.used(self.probation) + self.used(self.protected) + self.size[obj] <= self.main_room

    def move(self):
        """The window's oldest to the main part."""
        obj = self.window.pop(0)
        self.count_move(obj)
        size = self.size[obj]
        rises = self.fill and self.fits(obj)
        rises = rises and self.used(self.probation) + size > self.main_room - self.protected_room
        rises = rises and self.used(self.protected) + size <= self.protected_room
        (self.protected if rises else self.probation).append(obj)

    def settle(self):
        if self.winner is not None and self.winner in self.window and self.fits(self.winner):
            self.move()
        self.winner = None

    def victim_of_lazy_window(self):
        self.settle()
        while self.window:
            if self.fits(self.window[0]):
                self.move()
                continue
            oldest = (self.probation + self.protected + self.window)[0]
            if oldest != self.window[0] and self.sketch.estimate(self.window[0]) > self.sketch.estimate(oldest):
                self.winner = self.window[0]
                return oldest
            self.count_move(self.window[0])
            return self.window[0]
        return (self.probation + self.protected)[0]

    def victim(self, event):
        if self.lazy:
            return self.victim_of_lazy_window()
        while self.window and self.used(self.window) + event["size"] > self.window_room:
            oldest = self.window[0]
            self.move()
            if oldest in self.probation:
                self.duellists.append(oldest)
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
        self.count_move(obj)
        if self.lazy:
            self.settle()
            self.window.append(obj)
            return
        self.window.append(obj)
        while self.used(self.window) > self.window_room:
            self.move()

    def evict(self, obj):
        for segment in (self.window, self.probation, self.protected):
            if obj in segment:
                segment.remove(obj)
