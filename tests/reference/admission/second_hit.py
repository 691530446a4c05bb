"""Second hit: the times of all accesses to each object; the last two must be near enough."""

from collections import defaultdict

from tests.reference.admission import Open


class Twin(Open):
    def __init__(self, second_hit_within: int = 0) -> None:
        self.within = second_hit_within
        self.now = 0
        self.times: dict[int, list[int]] = defaultdict(list)

    def access(self, obj):
        self.now += 1
        self.times[obj].append(self.now)

    def admit(self, obj, size):
        times = self.times[obj]
        return len(times) > 1 and (not self.within or times[-1] - times[-2] <= self.within)
