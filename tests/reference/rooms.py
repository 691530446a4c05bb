"""Contiguous regions of a pool, from what is taken alone: nothing is kept but the list of regions."""

from __future__ import annotations

from simcore.serving.setup import ServingSetup


def room_pages(setup: ServingSetup, prompt: int, output: int) -> int:
    """Pages, a power of two, that a request's region has."""
    tokens = prompt + output
    if setup.allocation == "pow2":
        tokens = prompt + next(2**k for k in range(64) if 2**k >= output)
    if setup.allocation == "max" or tokens > (setup.max_model_len or tokens):
        tokens = setup.max_model_len or 0
    return next(2**k for k in range(64) if 2**k * setup.page_tokens >= tokens)


class Rooms:
    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.whole = next(2**k for k in range(64) if 2**k >= pages)
        self.taken: list[tuple[int, int]] = []  # first page, pages

    def largest(self, start: int, size: int) -> int:
        """Pages of the largest free region in those of `size` pages from `start` on."""
        if start >= self.pages or any(a <= start and start + size <= a + n for a, n in self.taken):
            return 0
        if start + size <= self.pages and not any(a < start + size and start < a + n for a, n in self.taken):
            return size
        return max(self.largest(start, size // 2), self.largest(start + size // 2, size // 2)) if size > 1 else 0

    def take(self, pages: int) -> tuple[int, int] | None:
        start, size = 0, self.whole
        if self.largest(start, size) < pages:
            return None
        while size > pages:
            size //= 2
            halves = [(self.largest(half, size), half) for half in (start, start + size)]
            start = min((free, half) for free, half in halves if free >= pages)[1]
        self.taken.append((start, size))
        return start, size
