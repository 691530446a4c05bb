"""Naive twins of the admission filters, one file each.

A twin is a class `Twin(**params)` with

    access(obj)                 the object is asked for, present or not
    admit(obj, size) -> bool    may the absent object enter?
    prefer(obj, victim) -> bool may it take the place of this one?
    begin(slots)                before all: the most objects that can be resident
"""

from __future__ import annotations


class Open:
    """Lets everything in; what the others start from."""

    def begin(self, slots):
        pass

    def access(self, obj):
        pass

    def admit(self, obj, size):
        return True

    def prefer(self, obj, victim):
        return True
