"""S3-FIFO after algorithm 1 of the paper: three lists, oldest first. One object is evicted at a time, when room is needed, and
the ghost of a newcomer is looked up before."""


class Twin:
    def __init__(
        self, capacity: int, small_share: float = 0.1, ghost_share: float = 0.9, threshold: int = 2, fill_main: bool = False
    ) -> None:
        self.capacity = capacity
        self.small: list[int] = []
        self.main: list[int] = []
        self.ghosts: list[tuple[int, int]] = []  # object, size
        self.freq: dict[int, int] = {}
        self.size: dict[int, int] = {}
        self.small_share = int(small_share * capacity)
        self.ghost_share = int(ghost_share * capacity)
        self.threshold = threshold
        self.filling = fill_main

    def hit(self, obj, event):
        self.freq[obj] = min(self.freq[obj] + 1, 3)

    def miss(self, obj, size, event):
        known = [ghost for ghost in self.ghosts if ghost[0] == obj]
        self.known = bool(known)
        if known:
            self.ghosts.remove(known[0])

    def victim(self, event):
        self.filling = False
        if self.used(self.main) <= self.capacity - self.small_share or not self.main:
            while self.small:
                if self.freq[self.small[0]] < self.threshold:
                    return self.small[0]
                self.freq[self.small[0]] = 0
                self.main.append(self.small.pop(0))
        while self.freq[self.main[0]] > 0:
            self.freq[self.main[0]] -= 1
            self.main.append(self.main.pop(0))
        return self.main[0]

    def used(self, queue):
        return sum(self.size[obj] for obj in queue)

    def insert(self, obj, size, event):
        self.size[obj], self.freq[obj] = size, 0
        if self.known or (self.filling and self.used(self.small) >= self.small_share):
            self.main.append(obj)
        else:
            self.small.append(obj)

    def evict(self, obj):
        if obj in self.main:
            self.main.remove(obj)
            return
        self.small.remove(obj)
        if self.size[obj] > self.ghost_share:
            return
        self.ghosts.append((obj, self.size[obj]))
        while sum(size for _, size in self.ghosts) > self.ghost_share:
            self.ghosts.pop(0)
