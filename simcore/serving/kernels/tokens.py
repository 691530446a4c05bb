"""How many tokens decode steps yield: one each, or with speculative decoding `par.yielded` / 2^`par.yield_shift` on average.

All sequences of a replica go by one clock: after its t-th decode step it stands at floor(t * average), and a step gives each of
its sequences the tokens that the clock moves on. So many steps at once give exactly what the same steps give one by one.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import State


@kernel
def tokens_by(st: State, tick: Int) -> Int:
    """The clock after `tick` decode steps."""
    return (tick * st.par.yielded) >> st.par.yield_shift


@kernel
def tick_at(st: State, tokens: Int) -> Int:
    """The step after which the clock stands at `tokens` or later."""
    return ((tokens << st.par.yield_shift) + st.par.yielded - 1) // st.par.yielded


@kernel
def tokens_in(st: State, r: Int, steps: Int) -> Int:
    """Tokens of a sequence in the next `steps` decode steps."""
    rep = st.replica[r]
    return tokens_by(st, rep.tick + steps) - rep.step


@kernel
def contexts(st: State, r: Int, steps: Int) -> Int:
    """Tokens that the next `steps` decode steps find computed, added up over sequences and steps."""
    rep = st.replica[r]
    if st.par.yield_shift == 0:
        return steps * rep.context + rep.decoding * (steps * (steps - 1) // 2)
    whole = np.int64(1) << st.par.yield_shift
    left = (rep.tick * st.par.yielded) & (whole - 1)
    return steps * rep.context + rep.decoding * floor_sum(steps, whole, st.par.yielded, left)


@kernel
def floor_sum(n: Int, divisor: Int, factor: Int, offset: Int) -> Int:
    """The sum of floor((factor * i + offset) / divisor) over i in 0 .. n-1: points under a line, by Euclid's algorithm."""
    total = np.int64(0)
    while True:
        total += (factor // divisor) * (n * (n - 1) // 2) + (offset // divisor) * n
        factor %= divisor
        top = factor * n + offset % divisor
        if top < divisor:
            return total
        n = top // divisor
        offset = top % divisor
        divisor, factor = factor, divisor
