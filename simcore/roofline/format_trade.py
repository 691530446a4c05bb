"""What a KV format does to decoding: more requests at once against dearer reads.

    tokens/s of n requests = n / (time of a step of n tokens + n * (time per sequence + time to read its context))

A smaller format pays when the pool limits how many requests run; where `max_num_seqs` does, or at one request, it is neutral
to a loss, and a loss where unpacking takes longer than the bytes it saves (`read_cost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simcore.errors import InputError
from simcore.quantization.formats import find_format
from simcore.quantization.quality import QualityLoss, quality_loss
from simcore.roofline.constants import find_constants
from simcore.roofline.sizing import Deployment, Sizing, size
from simcore.roofline.step_time import StepCosts, step_costs


class FormatTrade(NamedTuple):
    """One format against the base.

    Attributes:
        name: of K and V.
        bits_per_value: with scales.
        read_cost: time to read it over the time its bytes take.
        sizing: the deployment with it.
        running: requests of the longest length that run at once in a replica.
        equal_tokens_per_s: decoded by a replica at the base's number of requests.
        full_tokens_per_s: decoded by a replica at its own `running`.
        break_even: least number of requests with which it decodes more than the base at its most; None: never.
        loss: published quality cost, None when unknown.
    """

    name: str
    bits_per_value: float
    read_cost: float
    sizing: Sizing
    running: int
    equal_tokens_per_s: float
    full_tokens_per_s: float
    break_even: int | None
    loss: QualityLoss | None


def compare_formats(base: Sizing, names: Sequence[str]) -> list[FormatTrade]:
    """Each named format on the deployment of `base`, whose own format comes first. Contexts are of the longest request.

    Raises:
        InputError: an unknown format, or one the model does not allow.
    """
    d = base.deployment
    own = d.kv_format.default.k
    most = max(1, base.running) * d.parallel.dp
    best = _rate(_costs(d), most, d.request_tokens)
    found = []
    for name in dict.fromkeys([own, *names]):
        try:
            changed = d if name == own else d.with_changes(kv_format={"default": {"k": name, "v": name}})
            sized = base if name == own else size(changed)
        except InputError as error:
            raise InputError(error.rule, path="--compare", value=name, hint=error.hint) from None
        costs, form = _costs(changed), find_format(name)
        running = sized.running * d.parallel.dp
        found.append(
            FormatTrade(
                name=name,
                bits_per_value=form.bits_per_value(d.model.mla.kv_lora_rank if d.model.mla is not None else d.model.head_dim),
                read_cost=form.read_cost,
                sizing=sized,
                running=running,
                equal_tokens_per_s=_rate(costs, most, d.request_tokens),
                full_tokens_per_s=_rate(costs, max(1, running), d.request_tokens),
                break_even=next((n for n in range(1, running + 1) if _rate(costs, n, d.request_tokens) >= best), None),
                loss=quality_loss(d.model, changed.kv_format),
            )
        )
    return found


def _costs(d: Deployment) -> StepCosts:
    budget = max(d.engine.max_num_batched_tokens, d.engine.max_num_seqs * d.parallel.dp)
    constants = find_constants(d.gpu, d.engine.family, d.model)
    return step_costs(d.model, d.gpu, d.kv_format, d.weight_format, budget, constants, d.parallel)


def _rate(costs: StepCosts, requests: int, context: int) -> float:
    """Tokens per second of `requests` decoding together, each with `context` tokens behind it."""
    step = float(costs.lin_s[requests]) + requests * (costs.seq_s + costs.kv_s_per_token * context)
    return requests / step
