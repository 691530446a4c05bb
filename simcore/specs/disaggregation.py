"""Prefill and decode on replicas of their own."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from simcore.errors import InputError
from simcore.specs.base import BytesPerSecond, Seconds, Spec


class LinkSpec(Spec):
    """A way out of a prefill replica: one queue, first come, first served.

    Args:
        bandwidth_bytes_per_s: of all the network cards of the replica together.
        latency_s: from the last byte on the link to the KV being usable.
        transfer_j_per_byte: energy of a byte; absent: the energy of transfers is unknown.
    """

    shorthand: ClassVar[str | None] = "bandwidth"
    bandwidth_bytes_per_s: BytesPerSecond
    latency_s: Seconds = 0.0
    transfer_j_per_byte: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class DisaggregationSpec(Spec):
    """The first replicas prefill, the others decode (DistServe, OSDI 2024; Mooncake, FAST 2025).

    Args:
        prefill_replicas: how many of the scenario's replicas get the requests and yield their first tokens; 0: all replicas do
            both, and there is no link.
        link: over which decode replicas fetch the KV of requests, one out of each prefill replica.
    """

    shorthand: ClassVar[str | None] = None
    prefill_replicas: Annotated[int, Field(ge=0, le=1023)]
    link: LinkSpec


def check_disaggregation(
    split: DisaggregationSpec | None, replicas: int, *, allocation: str, reserve: str, has_regions: bool
) -> None:
    """Raises:
    InputError: no replica is left to decode, or what the scenario asks for besides cannot be combined with this.
    """
    if split is None or split.prefill_replicas == 0:
        return
    if split.prefill_replicas >= replicas:
        rule = f"must leave some of the {replicas} replicas to decode"
        hint = "replicas counts both kinds"
        raise InputError(rule, path="disaggregation.prefill_replicas", value=split.prefill_replicas, hint=hint)
    refused = {"engine.allocation": allocation != "paged", "engine.reserve": reserve != "none", "regions": has_regions}
    for path, asked in refused.items():
        if asked:
            hint = "leave it out, or set disaggregation.prefill_replicas: 0"
            raise InputError("cannot be combined with disaggregation", path=path, hint=hint)
