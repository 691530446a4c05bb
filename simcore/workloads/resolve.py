"""From a workload spec to its trace, with a small memo per process: every design of a search asks for the same few."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from simcore.errors import InputError
from simcore.plugins import find
from simcore.traces.load import file_sha256, format_of, read_trace
from simcore.traces.options import check_options, parameters
from simcore.traces.trace import Trace
from simcore.workloads.spec import FAMILY, TraceWorkload, WorkloadSpec
from simcore.workloads.streams import replayed

__all__ = ["TraceWorkload", "WorkloadSpec", "build_trace", "file_sha256", "is_random", "trace_path"]

_KEPT = 8
_memo: OrderedDict[tuple[str, str], Trace] = OrderedDict()
_NOT_IN_TRACE = {"warmup", "concurrency", "client_pattern"}


def build_trace(spec: WorkloadSpec, *, base_dir: str | Path | None = None) -> Trace:
    """The requests a workload offers.

    Args:
        spec: a validated workload (`validate(WorkloadSpec, data)`).
        base_dir: folder that a trace's path is relative to; None: the current one.

    Returns:
        The same `Trace` object for equal parameters and, for a recorded trace, equal file content.

    Raises:
        InputError: unreadable trace, or parameters that do not fit together.
    """
    content = file_sha256(trace_path(spec, base_dir)) if isinstance(spec, TraceWorkload) else type(spec).__module__
    in_waves = spec.client_pattern is not None and spec.client_pattern.waves
    rounds_of = spec.concurrency if in_waves or spec.concurrency_shapes_requests else None
    key = (content, f"{in_waves} {rounds_of} " + spec.model_dump_json(exclude=_NOT_IN_TRACE | {"trace"}))
    if key in _memo:
        _memo.move_to_end(key)
        return _memo[key]
    trace = _recorded(spec, base_dir) if isinstance(spec, TraceWorkload) else _generated(spec)
    if in_waves and spec.concurrency is not None:
        trace = trace.in_waves(spec.concurrency)
    _memo[key] = trace
    while len(_memo) > _KEPT:
        _memo.popitem(last=False)
    return trace


def trace_path(spec: TraceWorkload, base_dir: str | Path | None) -> Path:
    """Where the trace of a workload lies."""
    return Path(base_dir or ".") / Path(spec.trace).expanduser()


def is_random(spec: WorkloadSpec, base_dir: str | Path | None = None) -> bool:
    """Whether the seed changes the workload: a generated one, or a trace with something drawn."""
    if not isinstance(spec, TraceWorkload) or spec.arrivals is not None or spec.think_time is not None:
        return True
    return "seed" in parameters(format_of(trace_path(spec, base_dir), spec.reader))


def _recorded(spec: TraceWorkload, base_dir: str | Path | None) -> Trace:
    path = trace_path(spec, base_dir)
    if spec.seed and not is_random(spec, base_dir):
        raise InputError("changes nothing in a recorded trace", path="seed", value=spec.seed, hint="leave it out")
    options = dict(spec.options)
    if spec.options or spec.seed:
        module = format_of(path, spec.reader)
        try:
            check_options(module, spec.options)
        except InputError as error:
            raise error.within(prefix="options") from None
        options |= {"seed": spec.seed} if spec.seed and "seed" in parameters(module) else {}
    trace = read_trace(path, reader=spec.reader, granule_tokens=spec.granule_tokens, spread_ticks=spec.spread_ticks, **options)
    return replayed(trace, spec)


def _generated(spec: WorkloadSpec) -> Trace:
    trace: Trace = find(FAMILY, spec.kind, ("Params", "generate")).generate(spec, spec.seed)
    return trace
