"""TinyLFU: the newcomer must have been asked for more often than its victim."""

from tests.reference.admission import Open
from tests.reference.sketch import Sketch


class Twin(Open):
    def __init__(
        self, tinylfu_sample_factor: int = 10, tinylfu_doorkeeper: bool = False, tinylfu_conservative: bool = False
    ) -> None:
        self.of_sketch = (tinylfu_sample_factor, tinylfu_doorkeeper, tinylfu_conservative)

    def begin(self, slots):
        self.sketch = Sketch(slots, *self.of_sketch)

    def access(self, obj):
        self.sketch.add(obj)

    def prefer(self, obj, victim):
        return self.sketch.estimate(obj) > self.sketch.estimate(victim)
