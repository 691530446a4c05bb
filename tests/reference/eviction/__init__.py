"""Naive twins of the eviction policies: plain Python, one file each, written from the papers and not from the kernels.

A twin is a class `Twin(capacity, **params)` with

    hit(obj, event)             a resident object is asked for
    miss(obj, size, event)      an absent object is about to enter (it is no larger than the capacity)
    victim(event) -> obj|None   the object to evict now; None: the newcomer stays out
    insert(obj, size, event)    it has entered
    evict(obj)                  it has left
    surplus() -> obj|None       optional, after hit and insert until None: an object that leaves although there is room
    begin(slots)                optional, before all: the most objects that can be resident

`event` is a dict of what the policy NEEDS
(next_use, clock, depth, request, category, time_s) and of the current `obj` and `size`.
"""
