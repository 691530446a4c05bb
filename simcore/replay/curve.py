"""Hit ratio against capacity: of LRU by one pass, of any other policy by one replay a capacity, in parallel, kept on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcore.declared import params_model
from simcore.errors import InputError
from simcore.replay import sampling, store
from simcore.replay.engine import filter_module, policy_module
from simcore.replay.prepared import Prepared
from simcore.replay.result import definition_of
from simcore.replay.run import policy_name
from simcore.replay.spans import check_options, place
from simcore.replay.sweep import UNITS, Chosen, Options, Part, Progress, all_hits
from simcore.specs.base import validate
from simcore.traces.accesses import Accesses

Policy = str | Path | tuple[str | Path, Mapping[str, Any]]
Ratios = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """What a policy hits at each of k capacities.

    Attributes:
        policy: its name.
        params: those that are not at their defaults.
        capacity: i8 (k,), objects, or bytes if the trace has sizes.
        hit_ratio: f8 (k,), of the accesses after the warm-up.
        byte_hit_ratio: f8 (k,), of the bytes; None without sizes.
        token_hit_ratio: f8 (k,), of the tokens; None without chains of tokens.
        error: f8 (k,), half the width of the 95 % interval around hit_ratio; None if it is exact.
        byte_error, token_error: the same around byte_hit_ratio and token_hit_ratio; None also where these are.
        rate: share of the objects that was sampled; None: all.
        definition: in words, what counts as a hit.
    """

    policy: str
    params: Mapping[str, Any]
    capacity: NDArray[np.int64]
    hit_ratio: Ratios
    byte_hit_ratio: Ratios | None
    token_hit_ratio: Ratios | None
    error: Ratios | None
    byte_error: Ratios | None
    token_error: Ratios | None
    rate: float | None
    definition: str


def miss_ratio_curve(
    accesses: Accesses,
    policies: Sequence[Policy],
    capacities: ArrayLike | None = None,
    *,
    order: str = "tail_first",
    warmup: int = 0,
    count: int = 20,
    admission: Policy = "none",
    ways: int = 0,
    sample: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Curve]:
    """Hits of each policy at each capacity, as `simcore.replay.run.replay` counts them. Curves are kept on disk (`store`).

    Args:
        accesses: the trace; `order` and `warmup` as in a replay.
        policies: each by name or the file of one, or with parameters: (policy, params).
        capacities: (k,), objects, or bytes if the trace has sizes; by default `default_capacities`.
        count: how many capacities there are by default.
        admission: filter in front of every cache, named like a policy.
        ways: objects in a set; 0: fully associative.
        sample: share of the objects to replay in place of all, with an estimate of the error (`sampling`).
        threads: replays at the same time; by default as many as there are processors.
        seed: of policies that draw random numbers, and of the sample.
        progress: called with (replays done, replays in all).

    Raises:
        InputError: an option is wrong, or a policy cannot run on this trace; the message names policy and capacity.
        SimcoreError: a policy failed; the same.
    """
    check_options(accesses, order, warmup, seed)
    asked = default_capacities(accesses, count, sample=sample) if capacities is None else _checked(capacities)
    if threads is not None and threads < 1:
        raise InputError("must be at least 1", path="threads", value=threads)
    if ways and sample is not None:
        raise InputError("a sample has no sets", path="ways", value=ways, hint="replay all of the trace, or with ways: 0")
    chosen = [_chosen(policy) for policy in policies]
    options = Options(order, seed, *_filter(admission), ways)
    return _kept_or_made(_Work(accesses, asked, warmup, options, threads, progress), chosen, sample)


def default_capacities(accesses: Accesses, count: int = 20, *, sample: float | None = None) -> NDArray[np.int64]:
    """`count` capacities, evenly spaced by their logarithm, from a thousandth of the objects to all of them. With sizes in
    bytes, each object at its largest size, and from the largest object on. Fewer where they would be equal.

    Args:
        sample: share of the objects that will be replayed; with sizes, capacities begin where each part of the sample can hold
            the largest object.

    Raises:
        InputError: fewer than two, or a sample that needs capacities of more than all objects.
    """
    if count < 2:
        raise InputError("must be at least 2", path="count", value=count)
    if sample is not None:
        sampling.check_rate(sample)
    total, least = accesses.n_objects, 1
    if accesses.sizes is not None:
        largest = np.zeros(accesses.n_objects, np.int64)
        np.maximum.at(largest, accesses.ids, accesses.sizes)
        total, least = int(largest.sum()), int(largest.max())
        if sample is not None and (least := sampling.least_capacity(least, sample)) > total:
            rule = f"leaves a sample that needs capacities of at least {least} bytes, more than the {total} of all objects"
            raise InputError(rule, path="rate", value=sample, hint="replay all of the trace")
    return np.unique(np.rint(np.geomspace(max(least, total / 1000), total, count)).astype(np.int64))


def _checked(capacities: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(capacities)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu" or (given < 0).any():
        raise InputError("must be a list of whole numbers of at least 0", path="capacities", value=given.tolist())
    return given.astype(np.int64)


def _chosen(policy: Policy) -> Chosen:
    name, params = policy if isinstance(policy, tuple) else (policy, {})
    module = policy_module(name)
    return Chosen(name, _checked_params(module, name, params), module)


def _filter(admission: Policy) -> tuple[str | Path, Mapping[str, Any]]:
    name, params = admission if isinstance(admission, tuple) else (admission, {})
    return name, _checked_params(filter_module(name), name, params)


def _checked_params(module: ModuleType, name: str | Path, params: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not at their defaults, in Python's own types, so that the same choice has one name on disk."""
    model = params_model(module)
    found = validate(model, dict(params), prefix=f"{policy_name(name)}.params", context={"yaml": False})
    return {key: _plain(value) for key, value in found.model_dump(exclude_defaults=True).items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, eq=False)
class _Work:
    """What curves are made from."""

    accesses: Accesses
    capacities: NDArray[np.int64]
    warmup: int
    options: Options
    threads: int | None
    progress: Progress | None

    def hits(self, parts: Sequence[Part], chosen: Sequence[Chosen]) -> NDArray[np.int64]:
        return all_hits(parts, chosen, self.options, threads=self.threads, progress=self.progress)

    def curve(
        self,
        chosen: Chosen,
        ratios: Sequence[Ratios | None],
        errors: Sequence[Ratios | None] = (None, None, None),
        rate: float | None = None,
    ) -> Curve:
        hit_ratio, byte_hit_ratio, token_hit_ratio = ratios
        error, byte_error, token_error = errors
        assert hit_ratio is not None
        return Curve(
            policy=chosen.name,
            params=dict(chosen.params),
            capacity=self.capacities,
            hit_ratio=hit_ratio,
            byte_hit_ratio=byte_hit_ratio,
            token_hit_ratio=token_hit_ratio,
            error=error,
            byte_error=byte_error,
            token_error=token_error,
            rate=rate,
            definition=definition_of(self.accesses, self.options.order == "tail_first"),
        )


def _kept_or_made(work: _Work, chosen: Sequence[Chosen], sample: float | None) -> list[Curve]:
    keys = _keys(work, chosen, sample)
    curves = [None if key is None else _read(store.stored(key)) for key in keys]
    missing = [number for number, curve in enumerate(curves) if curve is None]
    if missing:
        wanted = [chosen[number] for number in missing]
        made = _exact(work, wanted) if sample is None else _sampled(work, wanted, sample)
        now = _keys(work, chosen, sample)
        for number, curve in zip(missing, made, strict=True):
            key = keys[number]
            if key is not None and key == now[number]:  # nothing was edited meanwhile
                store.keep(key, _written(curve))
            curves[number] = curve
    return [curve for curve in curves if curve is not None]


def _exact(work: _Work, chosen: Sequence[Chosen]) -> list[Curve]:
    hits = work.hits([Part(work.accesses, work.warmup, work.capacities, work.capacities)], chosen)
    asked = _asked(work.accesses, work.warmup)
    return [
        work.curve(c, [hits[i, 0, unit] / total if total else None for unit, total in enumerate(asked)])
        for i, c in enumerate(chosen)
    ]


def _sampled(work: _Work, chosen: Sequence[Chosen], rate: float) -> list[Curve]:
    whole = sampling.sample(work.accesses, rate, seed=work.options.seed, warmup=work.warmup, groups=True)
    _refuse_too_small(work, whole)
    samples = [whole, *whole.groups]
    _refuse_late_warmup(work, samples)
    parts = [Part(s.accesses, s.warmup, s.capacity(work.capacities), work.capacities) for s in samples]
    hits = work.hits(parts, chosen)
    here = [_asked(s.accesses, s.warmup) for s in samples]
    curves: list[Curve] = []
    for i, c in enumerate(chosen):
        ratios: list[Ratios | None] = [None] * len(UNITS)
        errors: list[Ratios | None] = [None] * len(UNITS)
        for unit, total in enumerate((whole.asked, whole.asked_bytes, whole.tokens)):
            if total:
                of_all, *of_groups = (s.miss_ratio(here[k][unit] - hits[i, k, unit], total) for k, s in enumerate(samples))
                ratios[unit], errors[unit] = np.clip(1 - of_all, 0, 1), sampling.half_width(np.array(of_groups))
        curves.append(work.curve(c, ratios, errors, whole.rate))
    return curves


def _asked(accesses: Accesses, warmup: int) -> tuple[int, int, int]:
    asked = Prepared(accesses).asked(warmup)
    return asked.accesses, asked.asked_bytes, asked.tokens


def _refuse_too_small(work: _Work, sample: sampling.Sample) -> None:
    """A cache of the sample, and of each of its groups, must hold the largest object, as that of the trace does."""
    if work.accesses.sizes is not None:
        least = sampling.least_capacity(int(work.accesses.sizes.max()), sample.rate)
        if int(work.capacities.min()) < least:
            rule = f"must be at least {least} bytes, so that a sample's share of it holds the largest object"
            raise InputError(rule, path="capacities", value=int(work.capacities.min()), hint="replay all of the trace")


def _refuse_late_warmup(work: _Work, samples: Sequence[sampling.Sample]) -> None:
    """Something must be counted in every group, or its spread would be none."""
    if any(place(s.accesses, s.warmup) == len(s.accesses) for s in samples):
        rule = f"must leave an access in each of the {sampling.GROUPS} parts of the sample"
        raise InputError(rule, path="warmup", value=work.warmup, hint="sample more, or end the warm-up earlier")


_RATIOS = ("hit_ratio", "byte_hit_ratio", "token_hit_ratio", "error", "byte_error", "token_error")


def _keys(work: _Work, chosen: Sequence[Chosen], sample: float | None) -> list[str | None]:
    """Under which name each curve is kept, if it is."""
    options = work.options
    about = {
        "trace": work.accesses.key,
        "capacities": work.capacities.tolist(),
        "order": options.order,
        "warmup": work.warmup,
        "admission": str(options.admission),
        "admission_params": options.admission_params,
        "ways": options.ways,
        "sample": sample,
        "seed": options.seed,
    }
    admission = filter_module(options.admission)
    named = [{**about, "policy": c.name, "params": dict(c.params)} for c in chosen]
    return [store.key_of(names, (c.module, admission)) for names, c in zip(named, chosen, strict=True)]


def _written(curve: Curve) -> dict[str, Any]:
    """As JSON can say it."""
    content = {field.name: getattr(curve, field.name) for field in fields(curve)}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in content.items()}


def _read(content: Mapping[str, Any] | None) -> Curve | None:
    if content is None:
        return None
    arrays = {name: None if content[name] is None else np.array(content[name], np.float64) for name in _RATIOS}
    return Curve(**{**content, **arrays, "capacity": np.array(content["capacity"], np.int64)})
