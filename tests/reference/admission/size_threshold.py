"""Size threshold: nothing larger enters."""

from tests.reference.admission import Open


class Twin(Open):
    def __init__(self, size_threshold_bytes: int) -> None:
        self.most = size_threshold_bytes

    def admit(self, obj, size):
        return size <= self.most
