"""What is there stays."""


class Twin:
    def __init__(self, capacity: int) -> None:
        pass

    def hit(self, obj, event):
        pass

    def miss(self, obj, size, event):
        pass

    def victim(self, event):
        return None

    def insert(self, obj, size, event):
        pass
