"""Running a trace through the serving engine."""

from __future__ import annotations

from simcore.errors import InputError, InternalError
from simcore.serving import laws
from simcore.serving.engine import engine, policy_module
from simcore.serving.lower import lower, scratch
from simcore.serving.result import ServingResult, collect
from simcore.serving.setup import ServingSetup
from simcore.serving.state import FINE, LATEST, PICOSECONDS, TOO_LATE, State
from simcore.traces.trace import Trace


def serve(trace: Trace, setup: ServingSetup, leap: bool = True) -> ServingResult:
    """Simulate `trace` on the replicas of `setup`; the same arguments always give the same result.

    Args:
        leap: advance decode steps between events at once. Without it each is taken by itself, to the same result.

    Raises:
        InputError: the setup is not valid, a policy is unknown or needs what this engine lacks, the trace does not have blocks of
            `unit_tokens`, or the run leaves the span of the clock (26 days).
        InternalError: the engine broke one of its own laws.
    """
    setup.validate()
    names = sorted({setup.hbm_policy, *(tier.policy for tier in setup.tiers)})
    policies = [(name, policy_module(name)) for name in names]
    st = lower(trace, setup, policies, leap=leap)
    try:
        _raise_fault(int(engine(names, st)(st)), st)
        laws.check(st)
        return collect(setup, st)
    finally:
        scratch.give(st.slot)


def _raise_fault(fault: int, st: State) -> None:
    if fault == FINE:
        return
    if fault == TOO_LATE:
        rule = f"the run does not end within {LATEST // PICOSECONDS} s (26 days) of simulated time"
        raise InputError(rule, hint="lower the load, the think times or the step times")
    stat = st.stat
    done = f"{stat.done} of {st.par.requests} requests done at {stat.now / PICOSECONDS:.6f} s after {stat.events} events"
    raise InternalError(f"the serving engine stopped with fault {fault} ({done})")
