"""`dse mrc`: hit ratio against capacity of a trace, for any policies, and what each tier of a chain of them answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simcore
from dse.analysis.mrc_data import LRU, Ceiling, Chain, Curves, Line
from dse.analysis.mrc_text import curves_text
from dse.analysis.mrc_words import definition
from dse.commands import mrc_arguments as given
from dse.commands.output import Output, ProgressLine, plain
from dse.commands.written import check_outputs, write_output
from simcore.errors import InputError
from simcore.units import GIB, KIB, MIB, TIB

if TYPE_CHECKING:
    from simcore import Accesses, Curve, LruCurve

POINTS = 12
"""Capacities when none are given."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for, as typed."""

    trace: Path
    policy: Sequence[str] = ()
    capacity: Sequence[str] = ()
    block_size: int | None = None
    count: str = "blocks"
    order: str | None = None
    warmup: str = "0"
    model: str | None = None
    kv_format: str | None = None
    splits: bool = False
    tiers: Sequence[str] = ()
    sample: str | None = None
    admission: str = "none"
    param: Sequence[str] = ()
    ways: int = 0
    reader: str | None = None
    option: Sequence[str] = ()
    seed: int = 0
    threads: int | None = None
    output: Sequence[Path] = ()


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is asked of the simulator, checked."""

    accesses: Accesses
    policies: Sequence[tuple[str | Path, dict[str, Any]]]
    capacity: list[int]
    pair_capacity: list[int]
    everything: int
    chains: list[list[int]]
    warmup: int
    order: str | None
    common: dict[str, Any]
    offline: frozenset[str | Path] = field(default_factory=frozenset)

    @property
    def lru_order(self) -> str:
        return given.ORDERS[self.order or "tail-first"]

    def order_of(self, policy: str | Path) -> str:
        """Offline policies take chains from the start unless told otherwise: there they hit more, and they stand for what is
        possible."""
        return "chain" if self.order is None and policy in self.offline else self.lru_order


def run(request: Request, output: Output) -> int:
    """Compute the curves, print them and write the files that were asked for."""
    files = request.output
    check_outputs(files)
    count = given.one_of(request.count, given.COUNTS, "--count")
    if request.order is not None:
        given.one_of(request.order, given.ORDERS, "--order")
    for name in ("block_size", "reader"):
        if name in [text.partition("=")[0].strip().replace("-", "_") for text in request.option]:
            raise InputError(f"use --{name.replace('_', '-')}", path="--option", value=name)
    policies, admission = _members(request)
    accesses = _read(request)
    if count == "tokens" and not _has_tokens(accesses):
        raise InputError("needs a trace of prompts: this one has no tokens", path="--count", value=count)
    if request.order is not None and not accesses.chain:
        raise InputError("needs a trace of prompts: this one has no chains", path="--order", value=request.order)
    block_bytes, model = _block_bytes(request, accesses)
    plan = _planned(request, accesses, policies, admission, block_bytes)
    curves = _curves(request, plan, output, block_bytes=block_bytes, model=model)
    data = curves.as_dict()
    for file in files:
        _write(file, curves, data)
    text = curves_text(curves, output.width)
    written = [f"Written: {', '.join(map(str, files))}"] if files else []
    output.answer("\n".join([*text, *([""] if written else []), *written]), data)
    return 0


def _read(request: Request) -> Accesses:
    try:
        options = simcore.parse_options(simcore.format_of(request.trace, request.reader), request.option)
        return simcore.read_accesses(request.trace, reader=request.reader, block_size=request.block_size, **options)
    except InputError as error:
        raise given.reading_mistake(error, request.trace, request.reader, request.option) from None


def _members(request: Request) -> tuple[list[tuple[str | Path, dict[str, Any]]], tuple[str | Path, dict[str, Any]]]:
    """Policies and the filter, with their parameters."""
    given.listed(request.policy, "--policy")
    chosen = given.members(request.policy or [LRU, "belady"])
    admission = given.member(given.FILTERS, request.admission, "--admission")
    params = given.parameters(request.param, [*chosen, admission])
    return [(p, params[given.name_of(p)]) for p in chosen], (admission, params[given.name_of(admission)])


def _has_tokens(accesses: Accesses) -> bool:
    return accesses.chain and accesses.tokens is not None


def _block_tokens(accesses: Accesses, block_size: int | None) -> int | None:
    """Tokens of a whole block. Only the last block of a prompt may be smaller."""
    return max(int(accesses.tokens.max()), block_size or 0) if accesses.chain and accesses.tokens is not None else None


def _block_bytes(request: Request, accesses: Accesses) -> tuple[float | None, str | None]:
    """KV bytes of a block and the model's name, if one is given."""
    if request.model is None:
        if request.kv_format is not None:
            raise InputError("needs a model", path="--kv-format", value=request.kv_format, hint="add --model NAME")
        return None, None
    tokens = _block_tokens(accesses, request.block_size)
    if tokens is None or accesses.sizes is not None:
        raise InputError("goes with traces of prompts only", path="--model", value=request.model)
    try:
        name, per_token = simcore.named_kv_bytes_per_token(request.model, request.kv_format or "bf16")
    except InputError as error:
        option = "--kv-format" if (error.path or "").startswith(("default", "kv_format")) else "--model"
        raise InputError(error.rule, file=error.file, path=option, value=error.value, hint=error.hint) from None
    return per_token * tokens, name


def _planned(
    request: Request,
    accesses: Accesses,
    policies: Sequence[tuple[str | Path, dict[str, Any]]],
    admission: tuple[str | Path, dict[str, Any]],
    block_bytes: float | None,
) -> _Plan:
    sized = accesses.sizes is not None

    def sizes(texts: Sequence[str], option: str) -> list[int]:
        return given.capacities(texts, option, sized=sized, block_bytes=block_bytes)

    asked = given.listed(request.capacity, "--capacity")
    sample = None if request.sample is None else given.rate(request.sample)
    capacity = sorted(set(sizes(asked, "--capacity"))) if asked else _round(accesses, request.ways, sample)
    common: dict[str, Any] = {"warmup": given.warmup(request.warmup, accesses.n_requests), "seed": request.seed}
    common |= {"sample": sample, "threads": request.threads}
    chains = [sizes(text.split(","), "--tiers") for text in request.tiers]
    for text, chain in zip(request.tiers, chains, strict=True):
        if sum(chain) >= given.LIMIT:
            raise InputError("must sum to less than 2^62", path="--tiers", value=text)
    if (chains or request.splits) and (sized or request.sample is not None or request.ways or admission[0] != "none"):
        what = "sizes" if sized else "--sample, --ways or --admission"
        raise InputError(f"is exact for plain LRU and objects of one size, not with {what}", path=_split_option(request))
    return _Plan(
        accesses=accesses,
        policies=policies,
        capacity=capacity,
        pair_capacity=capacity if asked else capacity[1:-1:2],
        everything=_footprint(accesses) if sized else accesses.n_objects,
        chains=chains,
        warmup=common["warmup"],
        order=request.order,
        common={**common, "admission": admission, "ways": request.ways},
        offline=frozenset(policy for policy, _ in policies if simcore.sees_the_future(policy)),
    )


def _split_option(request: Request) -> str:
    return "--tiers" if request.tiers else "--splits"


def _footprint(accesses: Accesses) -> int:
    """Bytes of all objects, each at its largest."""
    return int(simcore.default_capacities(accesses, 2)[-1])


def _round(accesses: Accesses, ways: int, sample: float | None) -> list[int]:
    """Capacities by default: evenly spaced by their logarithm, two digits, up to all of the trace."""
    found = set()
    try:
        capacities = simcore.default_capacities(accesses, POINTS, sample=sample).tolist()
    except InputError as error:
        raise _by_option(error) from None
    for capacity in capacities:
        units = (TIB, GIB, MIB, KIB, 1) if accesses.sizes is not None else (1,)
        unit = next(u for u in units if capacity >= u)
        step = unit * 10 ** max(0, math.floor(math.log10(capacity / unit)) - 1)
        rounded = math.ceil(capacity / step) * step
        found.add(math.ceil(rounded / ways) * ways if ways else rounded)
    return sorted(found)


def _curves(request: Request, plan: _Plan, output: Output, *, block_bytes: float | None, model: str | None) -> Curves:
    accesses = plan.accesses
    first = "preparing (a policy is compiled at its first use)"
    progress = ProgressLine(output, lambda done, of: f"replaying {done}/{of}", first)
    try:
        ceiling, lines = _replayed(plan, progress)
        distances = _distances(request, plan)
        chains = [_chain(distances, chain, request.count) for chain in plan.chains] if distances else []
        alone, pairs = _pairs(distances, plan, request.count) if distances and request.splits else (None, None)
    finally:
        progress.close()
    sized = accesses.sizes is not None
    admission = plan.common["admission"][0]
    return Curves(
        trace=request.trace.name,
        requests=accesses.n_requests,
        warmup=plan.warmup,
        accesses=len(accesses),
        distinct=accesses.n_objects,
        unit="bytes" if sized else "blocks" if accesses.chain else "objects",
        count=request.count if accesses.chain else "accesses",
        block_tokens=_block_tokens(accesses, request.block_size),
        block_bytes=block_bytes,
        model=model,
        kv_format=(request.kv_format or "bf16") if model else None,
        footprint=plan.everything if sized else None,
        definition=definition(accesses, plan.order, plan.warmup, [str(given.name_of(p)) for p in plan.offline]),
        capacity=plan.capacity,
        ceiling=ceiling,
        lines=lines,
        chains=chains,
        pair_capacity=plan.pair_capacity if request.splits else (),
        alone=alone,
        pairs=pairs,
        rate=plan.common["sample"],
        seed=request.seed,
        filtered=None if admission == "none" else given.name_of(admission),
        ways=request.ways,
    )


def _replayed(plan: _Plan, progress: Callable[[int, int], None]) -> tuple[Ceiling, list[Line]]:
    """The ceiling, and a line for each policy."""
    plain_lru = {**plan.common, "admission": "none", "ways": 0}
    beyond = [*plan.capacity, max(plan.everything, plan.capacity[-1])]
    free = plan.common["admission"][0] == "none" and not plan.common["ways"]
    lru = _made(plan, [LRU], beyond, plan.lru_order, plain_lru, progress)[0]
    evicting = [c for c in plan.capacity if c < plan.everything]  # where nothing is evicted, policies do not differ
    replayed = evicting if evicting and free and plan.common["sample"] is None else plan.capacity
    found: dict[str | Path, Line] = {}
    params = dict(plan.policies)
    if free and params.get(LRU) == {}:
        found[LRU] = _line(lru, plan, LRU)
    for order in ("tail_first", "chain"):
        wanted = [(p, q) for p, q in plan.policies if p not in found and plan.order_of(p) == order]
        if wanted:
            made = _made(plan, wanted, replayed, order, plan.common, progress)
            found |= {p: _line(curve, plan, p, lru) for (p, _), curve in zip(wanted, made, strict=True)}
    ceiling = Ceiling(
        hit_ratio=float(lru.hit_ratio[-1]),
        byte_hit_ratio=None if lru.byte_hit_ratio is None else float(lru.byte_hit_ratio[-1]),
        token_hit_ratio=None if lru.token_hit_ratio is None else float(lru.token_hit_ratio[-1]),
    )
    return ceiling, [found[p] for p, _ in plan.policies]


def _made(
    plan: _Plan,
    policies: Sequence[Any],
    capacity: Sequence[int],
    order: str,
    common: dict[str, Any],
    progress: Callable[[int, int], None],
) -> list[Curve]:
    """The simulator's curves; what is wrong is told by option."""
    try:
        return simcore.miss_ratio_curve(plan.accesses, policies, capacity, order=order, progress=progress, **common)
    except InputError as error:
        raise _by_option(error) from None


def _by_option(error: InputError) -> InputError:
    """The same mistake, told by option."""
    told = given.option_of(error.path or "")
    return InputError(error.rule, file=error.file, path=told, value=error.value, hint=error.hint)


def _line(curve: Curve, plan: _Plan, policy: str | Path, ceiling: Curve | None = None) -> Line:
    """The line of a curve; where the curve ends before the capacities do, it has come to the ceiling."""

    def of(name: str) -> list[float] | None:
        values = getattr(curve, name)
        if values is None:
            return None
        rest = len(plan.capacity) - len(values)
        return [*values[: len(plan.capacity)].tolist(), *([float(getattr(ceiling, name)[-1])] * rest if rest > 0 else ())]

    ratio = of("hit_ratio")
    assert ratio is not None
    return Line(
        policy=curve.policy,
        params=curve.params,
        offline=policy in plan.offline,
        order=next(name for name, order in given.ORDERS.items() if order == plan.order_of(policy)),
        hit_ratio=ratio,
        byte_hit_ratio=of("byte_hit_ratio"),
        token_hit_ratio=of("token_hit_ratio"),
        error=of("error"),
        byte_error=of("byte_error"),
        token_error=of("token_error"),
    )


def _distances(request: Request, plan: _Plan) -> LruCurve | None:
    if not plan.chains and not request.splits:
        return None
    try:
        found = simcore.lru_curve(plan.accesses, order=plan.lru_order, warmup=plan.warmup)
        found.splits([[1, 1]])
        return found
    except InputError as error:
        hint = "leave out --order chain" if plan.order == "chain" else error.hint
        raise InputError(error.rule, path=_split_option(request), hint=hint) from None


def _chain(distances: LruCurve, chain: Sequence[int], count: str) -> Chain:
    found = distances.splits([chain])
    hits = found.hits[0] / distances.accesses
    if count == "tokens" and found.hit_tokens is not None:
        hits = found.hit_tokens[0] / distances.tokens
    return Chain(capacity=list(chain), hits=hits.tolist(), demotions=(found.demotions[0] / distances.accesses).tolist())


def _pairs(distances: LruCurve, plan: _Plan, count: str) -> tuple[list[float], list[list[float]]]:
    """What a tier of each capacity answers, and for each of them on top what a tier of each capacity below it answers."""
    n = len(plan.pair_capacity)
    found = distances.splits([(top, below) for top in plan.pair_capacity for below in plan.pair_capacity])
    tokens = count == "tokens" and found.hit_tokens is not None
    hits, total = (found.hit_tokens, distances.tokens) if tokens else (found.hits, distances.accesses)
    assert hits is not None
    top, below = (hits[:, tier].reshape(n, n) / total for tier in (0, 1))
    return top[:, 0].tolist(), below.tolist()


def _write(file: Path, curves: Curves, data: dict[str, Any]) -> None:
    """Write one file, in the form of its suffix."""
    kind = file.suffix.lower()
    if kind == ".png":
        from dse.analysis.mrc_png import png

        content = png(curves)
    elif kind == ".html":
        from dse.analysis.mrc_html import page

        content = page(curves).encode(errors="backslashreplace")
    else:
        from json import dumps

        content = (dumps(plain(data), indent=1, allow_nan=False) + "\n").encode()
    write_output(file, content)
