"""`dse simulate --sweep`: a scenario at many loads, capacities or settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import simcore
from dse.analysis.simulation import off_by
from dse.analysis.sweep import Axis, Line, Point, Sweep, Values, as_object, largest_load
from dse.analysis.sweep_text import sweep_lines
from dse.analysis.values import listing, percent, wrapped
from dse.commands.output import Output, ProgressLine, plain
from dse.commands.simulate import PROSE, Job, read_job, simulated
from dse.commands.written import check_outputs, write_output
from dse.versions import versions
from simcore.errors import InputError
from simcore.units import GIB, MIB, parse_quantity

MOST_POINTS = 10_000


def run(
    file: Path,
    assignments: tuple[str, ...],
    sweeps: Sequence[str],
    metric: str,
    share: str,
    files: Sequence[Path],
    output: Output,
) -> int:
    """Simulate every point and print what came of it."""
    key = simcore.find_metric(metric).key
    wanted = _share(share)
    check_outputs(files)
    base = read_job(file, assignments)
    axes = tuple(_axis(text, file, assignments) for text in sweeps)
    if len(axes) > 2 or len({a.path for a in axes}) < len(axes):
        raise InputError("may be given twice, with two different paths", path="--sweep", value=" ".join(sweeps))
    swept = _simulate(file, assignments, axes, key, wanted, output)
    first = next(iter(base.scenarios.values()))
    base_values = swept.lines[0].points[0].metrics
    data = {
        "scenario": simcore.yaml_dict(first),
        "errors": errors_object(first, base_values),
        "sweep": as_object(swept),
        "units": {name: simcore.find_metric(name).unit for name in swept.lines[0].points[0].metrics},
        "versions": versions(),
    }
    title = f"{file.stem}: {', '.join(a.path for a in axes)}"
    for path in files:
        _write(path, swept, title, data)
    output.answer("\n".join(_text(first, swept, output.width)) if not output.json else "", data)
    return 0


def _text(scenario: Any, swept: Sweep, width: int) -> list[str]:
    prose = min(width, PROSE)
    lines = [line for sentence in simcore.describe(scenario) for line in wrapped(sentence, prose, "  ")]
    lines += sweep_lines(swept, width, prose)
    off = errors_object(scenario, swept.lines[0].points[0].metrics)
    told = [f"{name.upper()} {percent(off[name])} %" for name in ("ttft", "tpot") if off[name] is not None]
    said = f"off by {listing(told)} (medians)" if told else "how far off was never measured"
    lines += ["", *wrapped(f"Latencies: {said}; their step times: {off['kind']}.", prose), "", "How far to trust it"]
    return [*lines, *(line for text in simcore.trust(scenario) for line in wrapped(f"  {text}", prose, "  "))]


def errors_object(scenario: Any, values: Values) -> dict[str, Any]:
    """The expected errors of the scenario's latencies; of E2E, for the mix of phases in `values`."""
    errors = simcore.expected_errors(scenario)
    return {"kind": errors.kind, **off_by(values, errors)}


def _simulate(
    file: Path, assignments: tuple[str, ...], axes: tuple[Axis, ...], key: str, share: float, output: Output
) -> Sweep:
    grid = list(product(*(axis.texts for axis in reversed(axes))))
    settings = [tuple(reversed(values)) for values in grid]
    jobs = [read_job(file, (*assignments, *_pins(axes, values))) for values in settings]
    simcore.prepare([scenario for job in jobs for scenario in job.scenarios.values()])
    progress = ProgressLine(output, lambda done, of: f"{done} of {of} simulations", f"0 of {len(jobs)} simulations")
    done = 0
    found: list[Values] = []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for values in pool.map(measured, jobs):
            found.append(values)
            done += 1
            progress(done, len(jobs))
    progress.close()
    if key not in found[0]:
        raise InputError("is no metric of this scenario", path="--metric", value=key)
    points = [Point(values, metrics) for values, metrics in zip(settings, found, strict=True)]
    size = len(axes[0].texts)
    names: list[str | None] = [None] if len(axes) == 1 else list(axes[1].texts)
    lines = [Line(name, tuple(points[k * size : (k + 1) * size])) for k, name in enumerate(names)]
    if axes[0].is_load and any(v.get("goodput_rps") is not None for v in found):

        def bounded(line: Line) -> Line:
            def at(load: float) -> Values:
                values = (f"{load:.15g}", *line.points[0].values[1:])
                return measured(read_job(file, (*assignments, *_pins(axes, values))))

            whole = axes[0].path.endswith("concurrency")
            return replace(line, slo=largest_load(axes[0], line.points, share, whole, at))

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            lines = list(pool.map(bounded, lines))
    return Sweep(axes, tuple(lines), key)


def measured(job: Job) -> Values:
    """What `dse simulate` would print as the metrics of this job."""
    return job.combine_values({name: simulated(job, name).metrics for name in job.scenarios})


def _pins(axes: Sequence[Axis], values: Sequence[str]) -> list[str]:
    return [f"{axis.path}={value}" for axis, value in zip(axes, values, strict=True)]


def _share(text: str) -> float:
    number, dimension = parse_quantity(text)
    if dimension not in ("number", "fraction") or not 0 < number <= 1:
        raise InputError("must be a share of requests", path="--slo-share", value=text, hint="for example 90%")
    return float(number)


def _axis(text: str, file: Path, assignments: tuple[str, ...]) -> Axis:
    """Parse "path=v1,v2,..." or "path=start:stop:n[:log]".

    Raises:
        InputError: neither.
    """
    path, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not path or not given:
        hint = "for example workload.request_rate=5,10,20 or tiers.hbm.capacity=4GiB:64GiB:5:log"
        raise InputError("must be path=v1,v2,... or path=start:stop:n[:log]", path="--sweep", value=text, hint=hint)
    parts = given.split(":")
    if len(parts) > 1 and "," not in given:
        return _range(path, parts, text, lambda value: read_job(file, (*assignments, f"{path}={value}")))
    texts = tuple(dict.fromkeys(value.strip() for value in given.split(",") if value.strip()))
    if not texts:
        raise InputError("names no value", path="--sweep", value=text, hint=f"for example {path}=5,10,20")
    numbers = _numbers(texts)
    if numbers is not None:
        pairs = sorted(zip(numbers, texts, strict=True))
        numbers, texts = tuple(number for number, _ in pairs), tuple(value for _, value in pairs)
    log = numbers is not None and len(numbers) > 2 and 0 < 16 * numbers[0] <= numbers[-1]
    return Axis(path, texts, numbers, log)


def _numbers(texts: Sequence[str]) -> tuple[float, ...] | None:
    try:
        parsed = [parse_quantity(text) for text in texts]
    except InputError:
        return None
    kinds = {dimension for (value, dimension) in parsed if value}
    return tuple(float(value) for value, _ in parsed) if len(kinds) <= 1 else None


def _range(path: str, parts: list[str], text: str, build: Callable[[str], Any]) -> Axis:
    wrong = InputError(
        "must be path=v1,v2,... or path=start:stop:n[:log]", path="--sweep", value=text, hint="n is how many values, 2 or more"
    )
    if len(parts) not in (3, 4):
        raise wrong
    (start, kind), (stop, other) = (parse_quantity(part) for part in parts[:2])
    log = len(parts) == 4
    if not parts[2].isdigit() or not 2 <= int(parts[2]) <= MOST_POINTS or (log and parts[3] != "log"):
        raise wrong
    if not start < stop or (log and start <= 0) or (kind != other and start != 0):
        raise InputError("must grow from start to stop, in one unit", path="--sweep", value=text)
    n = int(parts[2])
    values = [start * (stop / start) ** (i / (n - 1)) if log else start + (stop - start) * i / (n - 1) for i in range(n)]
    texts = [_with_unit(value, other, parts[1]) for value in values]
    if other == "number" and float(start).is_integer() and float(stop).is_integer() and not _takes(build, texts):
        texts = [str(round(value)) for value in values]  # a field of whole numbers
    texts = list(dict.fromkeys(texts))
    return Axis(path, tuple(texts), _numbers(texts), log)


def _takes(build: Callable[[str], Any], texts: Sequence[str]) -> bool:
    try:
        build(next((t for t in texts if "." in t), texts[0]))
    except InputError:
        return False
    return True


def _with_unit(value: float, dimension: str, written: str) -> str:
    """A value of a range as a user would write it."""
    if dimension == "bytes":
        whole = round(value)
        if whole < 16 * MIB:
            return f"{whole} B"
        step = MIB if whole < 2 * GIB else GIB // 4 if whole < 16 * GIB else GIB
        whole = round(whole / step) * step
        return f"{whole / GIB:g} GiB" if whole % (GIB // 4) == 0 else f"{whole // MIB} MiB"
    unit = written.strip().lstrip("+-0123456789._eE").strip()
    base, _ = parse_quantity(f"1 {unit}") if unit else (1, "")
    return f"{value / float(base):.4g} {unit}".strip()


def _write(path: Path, swept: Sweep, title: str, data: dict[str, Any]) -> None:
    kind = path.suffix.lower()
    if kind == ".json":
        from json import dumps

        content = (dumps(plain(data), indent=1, allow_nan=False) + "\n").encode()
    else:
        from dse.analysis.sweep_picture import page, png

        content = png(swept, title) if kind == ".png" else page(swept, title).encode(errors="backslashreplace")
    write_output(path, content)
