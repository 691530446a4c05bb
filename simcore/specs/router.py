"""How requests are spread over replicas, and where clients and replicas are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from simcore.errors import InputError, did_you_mean
from simcore.specs.base import Seconds, Spec, share


class RouterSpec(Spec):
    """A router that knows all replicas: their loads and what they hold.

    Args:
        policy: "round_robin"; "least_loaded" (fewest requests waiting, running or on the way); "prefix_aware" (the replica
            that holds the longest prefix in HBM and tiers of its own, if loads are in balance and the prefix is long enough,
            else the least loaded); "session" (the first request of a session to the least loaded replica, the others after
            it); "gorgo" (lowest round trip + prefill of what waits and of the prompt's tokens not held, arXiv 2602.11688).
        min_match: of "prefix_aware": least share of the prompt; as `--cache-threshold` of vLLM's and SGLang's routers.
        max_load_gap, max_load_ratio: of "prefix_aware": loads are out of balance when the highest is over `max_load_gap`
            requests above the lowest and over `max_load_ratio` times it; `--balance-abs-threshold`, `--balance-rel-threshold`.
        running_weight: of "gorgo": weight of what the running requests had to prefill; GORGO's code has 0.5.
    """

    shorthand: ClassVar[str | None] = "policy"
    policy: Literal["round_robin", "least_loaded", "prefix_aware", "session", "gorgo"] = "round_robin"
    min_match: Annotated[float, BeforeValidator(share), Field(ge=0, le=1)] = 0.3
    max_load_gap: Annotated[int, Field(ge=0, le=2**40)] = 64
    max_load_ratio: Annotated[float, Field(ge=1, le=1e6)] = 1.5
    running_weight: Annotated[float, Field(ge=0, le=1000)] = 0.5


class RegionSpec(Spec):
    """A region with replicas and clients.

    Args:
        replicas: how many of the scenario's replicas it has.
        clients: share of the sessions whose clients are here; shares need not add up to 1.
        round_trip_s: time from a client here to replicas of a region and back, by region; a pair may be given on one side.
            Its own region's is 0 unless given.
    """

    shorthand: ClassVar[str | None] = None
    replicas: Annotated[int, Field(ge=0, le=1024)]
    clients: Annotated[float, BeforeValidator(share), Field(ge=0, allow_inf_nan=False)] = 1.0
    round_trip_s: dict[str, Seconds] = Field(default_factory=dict)


def check_regions(regions: Mapping[str, RegionSpec], replicas: int, concurrency: int | None) -> None:
    """Raises:
    InputError: the regions do not have `replicas` replicas in all, lack a round trip or clients, or the loop is closed.
    """
    if not regions:
        return
    total = sum(region.replicas for region in regions.values())
    if total != replicas:
        raise InputError(f"must be the {total} replicas of the regions", path="replicas", value=replicas)
    if concurrency is not None:
        hint = "give request_rate, or leave regions out"
        raise InputError("excludes a closed loop", path="regions", hint=hint)
    if not sum(region.clients for region in regions.values()):
        raise InputError("must have clients somewhere", path="regions", hint="write clients: 60 %")
    try:
        round_trips(regions)
    except InputError as error:
        raise error.within(prefix="regions") from None


def round_trips(regions: Mapping[str, RegionSpec]) -> tuple[tuple[float, ...], ...]:
    """[client's region][replica's region] in seconds.

    Raises:
        InputError: a pair without a time, or the name of no region.
    """
    for name, region in regions.items():
        for other in region.round_trip_s:
            if other not in regions:
                hint = did_you_mean(other, regions)
                raise InputError("is no region", path=f"{name}.round_trip.{other}", hint=hint)
    return tuple(tuple(_round_trip(regions, here, there) for there in regions) for here in regions)


def _round_trip(regions: Mapping[str, RegionSpec], here: str, there: str) -> float:
    for one, other in ((here, there), (there, here)):
        if other in regions[one].round_trip_s:
            return regions[one].round_trip_s[other]
    if here == there:
        return 0.0
    raise InputError("is required", path=f"{here}.round_trip.{there}", hint=f"write round_trip: {{{there}: 80 ms}}")
