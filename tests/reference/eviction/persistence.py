"""Scissorhands' rule with all rows written down: for each object whether it was below average in each row since it entered."""


class Twin:
    def __init__(
        self, capacity: int, history: int = 64, row_share: float = 1 / 16, drop_share: float = 0.5, exempt: int = 10
    ) -> None:
        self.capacity, self.history, self.exempt = capacity, history, exempt
        self.drop = max(1, int(drop_share * capacity))
        self.row_share = row_share
        self.size: dict[int, int] = {}  # in order of entry
        self.below: dict[int, list[bool]] = {}
        self.row: list[int] = []  # accesses of the row so far
        self.batch: list[int] = []

    def touch(self, obj):
        self.row.append(obj)
        kept = [obj for obj in self.size if obj not in self.batch]
        if len(self.row) < self.row_share * len(kept):
            return
        average = len(self.row) / len(kept)
        for held in self.size:
            self.below[held].append(self.row.count(held) < average)
        self.row = []

    def anew(self, obj, size):
        self.size.pop(obj, None)
        self.size[obj] = size
        self.below[obj] = []

    def hit(self, obj, event):
        if obj in self.batch:
            self.batch.remove(obj)
            self.row = [other for other in self.row if other != obj] + [None] * self.row.count(obj)
            self.anew(obj, self.size[obj])
        self.touch(obj)

    def miss(self, obj, size, event):
        pass

    def record(self, obj):
        return sum(self.below[obj][-self.history :])

    def victim(self, event):
        if not self.batch:
            looked_at = list(self.size)[: max(1, len(self.size) - self.exempt)]
            for obj in sorted(looked_at, key=self.record, reverse=True):
                if sum(self.size[other] for other in self.batch) >= self.drop:
                    break
                self.batch.append(obj)
        return self.batch[0]

    def insert(self, obj, size, event):
        self.row = [None if other == obj else other for other in self.row]  # what it got before it was dropped
        self.anew(obj, size)
        self.touch(obj)

    def evict(self, obj):
        self.batch.remove(obj)
        del self.size[obj], self.below[obj]
