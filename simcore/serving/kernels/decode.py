"""Decode: pages for the next step, and the leap, which does many equal steps as one.

Step j after the present one (j = 0, 1, ...) takes `base + kv * (context + decoding * j)`, and of the decoding sequences those
at page phase -(step + j) need a page for it. Both sums have closed forms in integers, also where steps yield several tokens.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import State

from .pool import available_pages, free_pages, take_private
from .sequences import loading_heap, preempt
from .swapping import swap_heap
from .tokens import contexts, tick_at, tokens_in


@kernel
def pages_needed(st: State, r: Int, first: Int, last: Int) -> Int:
    """Pages that the tokens first .. last-1 from now, of each sequence, need."""
    rep = st.replica[r]
    page = st.par.page
    rounds = (last - first) // page  # in a round of `page` tokens each sequence needs one page
    pages = rounds * rep.decoding
    phase = (-(rep.step + first)) % page
    for _ in range(last - first - rounds * page):
        pages += st.phase[r * page + phase]
        phase = phase - 1 if phase > 0 else page - 1
    return pages


@kernel
def secure_pages(st: State, r: Int) -> None:
    """Take the pages of the next decode step, preempting until they are available."""
    rep = st.replica[r]
    while rep.decoding > 0 and st.stat.fault == 0:
        pages = pages_needed(st, r, np.int64(0), tokens_in(st, r, np.int64(1)))
        if pages <= available_pages(st, r):
            st.stat.acting = st.par.requests  # nobody in particular
            take_private(st, r, pages)
            return
        preempt(st, r)


@kernel
def span(st: State, r: Int, steps: Int) -> Int:
    """Time of the next `steps` decode steps."""
    return steps * st.replica[r].step_base + st.par.kv * contexts(st, r, steps)


@kernel
def steps_to_reach(st: State, r: Int, time: Int) -> Int:
    """Smallest number of steps, at least 1, that take `time` or longer: a float estimate, corrected in integers."""
    rep = st.replica[r]
    square = 0.5 * st.par.kv * rep.decoding * st.par.yielded / (1 << st.par.yield_shift)
    linear = rep.step_base + st.par.kv * rep.context - square
    estimate = time / linear
    if square > 0.0:
        estimate = (np.sqrt(linear * linear + 4.0 * square * time) - linear) / (2.0 * square)
    steps = max(np.int64(estimate), np.int64(1))
    while steps > 1 and span(st, r, steps - 1) >= time:
        steps -= 1
    while span(st, r, steps) < time:
        steps += 1
    return steps


@kernel
def steps_within(st: State, r: Int, steps: Int, pages: Int) -> Int:
    """Largest number of steps, from 1 to `steps`, whose pages beyond the first step's are at most `pages`."""
    rep = st.replica[r]
    first = tokens_in(st, r, np.int64(1))
    if pages_needed(st, r, first, tokens_in(st, r, steps)) <= pages:
        return steps
    fitting = first + st.par.page * (pages // rep.decoding)  # whole rounds
    taken = pages_needed(st, r, first, fitting)
    while True:
        taken += pages_needed(st, r, fitting, fitting + 1)
        if taken > pages:
            return tick_at(st, rep.step + fitting + 1) - 1 - rep.tick
        fitting += 1


@kernel
def leap(st: State, r: Int) -> Int:
    """How many decode steps from now on nothing can come between: until the first completion, until pages run out (or until the
    first eviction, if evictions are seen by others), until a load ends. Arrivals cut a leap short later on."""
    rep = st.replica[r]
    if st.par.leap == 0:
        return np.int64(1)
    steps = st.heap[r * st.par.max_seqs].key - rep.tick
    pages = available_pages(st, r) if st.par.quiet_eviction else free_pages(st, r)
    steps = steps_within(st, r, steps, pages)
    if rep.load_n > 0:
        loaded = st.heap[loading_heap(st, r)].key
        if loaded > st.stat.now:
            steps = min(steps, steps_to_reach(st, r, loaded - st.stat.now))
    if rep.swap_n > 0:
        steps = min(steps, steps_to_reach(st, r, st.heap[swap_heap(st, r)].key - st.stat.now))
    return steps
