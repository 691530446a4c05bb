"""Running a trace through the serving engine."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType

import numpy as np

from simcore.errors import InputError, InternalError
from simcore.roofline.step_time import StepCosts
from simcore.serving import laws
from simcore.serving.engine import covering, engine, policy_module
from simcore.serving.lower import lower, scratch
from simcore.serving.result import ServingResult, collect
from simcore.serving.setup import ServingSetup
from simcore.serving.starts import keeps, take_over
from simcore.serving.state import FINE, LATEST, NO_VICTIM, PICOSECONDS, STUCK, TOO_LATE, TOO_MANY_EVENTS, State
from simcore.traces.trace import Trace


def serve(trace: Trace, setup: ServingSetup, leap: bool = True, before: State | None = None) -> ServingResult:
    """Simulate `trace` on the replicas of `setup`; the same arguments always give the same result.

    Args:
        leap: advance decode steps between events at once. Without it each is taken by itself, to the same result.
        before: of a start that is not cold: what `run_before` gave for this trace and the same stores; absent: it is run now.

    Raises:
        InputError: the setup is not valid, a policy is unknown, needs what this engine lacks or may refuse what HBM must take,
            the trace does not have blocks of `unit_tokens`, or the run leaves the span of the clock (26 days).
        InternalError: the engine broke one of its own laws.
    """
    if before is None:
        before = run_before(trace, setup, leap)
    names, policies = _policies(setup)
    st = lower(trace, setup, policies, leap=leap)
    try:
        if before is not None:
            take_over(setup, [module for _, module in policies], before, st)
        _raise_fault(int(engine(names, st)(st)), st)
        laws.check(st)
        return collect(setup, st)
    finally:
        scratch.give(st.slot)


def run_before(trace: Trace, setup: ServingSetup, leap: bool = True) -> State | None:
    """The finished run that fills the stores before the one that counts: the first `start_share` of the requests. None: they
    start empty.

    Raises:
        InputError, InternalError: as `serve`.
    """
    setup.validate()
    _check_policies(setup)
    if not any(keeps(setup)):
        return None
    names, policies = _policies(setup)
    st = lower(trace, setup, policies, leap=leap, first=math.ceil(setup.start_share * trace.n))
    _raise_fault(int(engine(names, st)(st)), st)
    laws.check(st)
    return st


def _policies(setup: ServingSetup) -> tuple[tuple[str, ...], list[tuple[str, ModuleType]]]:
    names = covering({setup.hbm_policy, *(tier.policy for tier in setup.tiers)})
    return names, [(name, policy_module(name)) for name in names]


def prepare(policies: Iterable[str], quotas: bool = False) -> None:
    """Load (at worst compile) one engine for all these eviction policies; runs whose policies are among them will use it.

    An engine is compiled once for each set of policies, so a process that will meet many sets starts with their union; and once
    more for runs whose tenants have `quotas`.

    Raises:
        InputError: as `policy_module`.
    """
    names = covering(policies)
    trace = Trace.of([0.0], [1], [1], [[0]], 1)
    costs = StepCosts(np.ones(2), 0.0, 0.0, 0.0, 0.0)
    setup = ServingSetup(
        pool_pages=1, page_tokens=1, unit_tokens=1, hbm_policy=names[0], costs=costs, max_num_seqs=1, max_num_batched_tokens=1
    )
    if quotas:
        setup = replace(setup, hbm_quota_blocks=(1,))
    engine(names, lower(trace, setup, [(name, policy_module(name)) for name in names], leap=True))


def _check_policies(setup: ServingSetup) -> None:
    paths = {"hbm_policy": setup.hbm_policy} | {f"tiers.{k}.policy": tier.policy for k, tier in enumerate(setup.tiers)}
    for path, name in paths.items():
        try:
            policy_module(name, pool=path == "hbm_policy")
        except InputError as error:
            raise error.within(prefix=path) from None


_FAULTS = {
    TOO_MANY_EVENTS: "more events than its bound",
    NO_VICTIM: "an eviction policy chose nobody though a block could leave",
    STUCK: "requests are left that nothing will ever schedule, as when an eviction policy loses blocks",
}


def _raise_fault(fault: int, st: State) -> None:
    if fault == FINE:
        return
    if fault == TOO_LATE:
        rule = f"the run does not end within {LATEST // PICOSECONDS} s (26 days) of simulated time"
        raise InputError(rule, hint="lower the load, the think times, or the times of steps and blocks")
    stat = st.stat
    done = f"{stat.done} of {st.par.requests} requests done at {stat.now / PICOSECONDS:.6f} s after {stat.events} events"
    raise InternalError(f"the serving engine stopped: {_FAULTS[fault]} ({done})")
