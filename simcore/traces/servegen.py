"""Requests drawn from the statistics of production traffic by client that ServeGen publishes: a generator kept in a file.

Source: alibaba/ServeGen, data/ (Apache-2.0); Xiang et al., "ServeGen", arXiv 2505.09999. A tar archive or a folder holds two
files a client:

    chunk-12-trace.csv      600,1.05,0.98,Gamma,1.039,0.9158
    chunk-12-dataset.json   {"0": {"input_tokens": "{50: 0.25, 51: 0.75}", "output_tokens": "{...}"}, "21600": {...}}

The trace gives, by window of 600 s: its start in s, requests per second, the coefficient of variation (CV) of the gaps, the
distribution fitted to them and its shape and scale. The dataset gives, from each start in s on, a {value: probability} text for
`input_tokens` (or `text_tokens` and, for image, audio and video, count and tokens of one) and `output_tokens`.

Arrivals of a client are a renewal process in operational time (the integral of its rate): gaps have the fitted distribution's
shape and mean 1, so that every window has its stated rate. Fitted Gammas have the stated CV; of the fitted Weibulls, a sixth
of the windows, the median misses it by 14 %, and their mean gap is off by up to a factor of 3.5, which is why the scale is not
used. The process starts long before the window asked for, since one that started with it would give bursty clients too many
requests.

`input_tokens` is text plus all images, audio and video of a request; how many there were is not kept. Answers include the
reasoning. A client is a tenant. Nothing tells what requests share: each has blocks of its own.
"""

from __future__ import annotations

import io
import json
import math
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.assembly import GRANULE_TOKENS, own_blocks, trace_by_time
from simcore.traces.files import head_bytes, read_bytes
from simcore.traces.rows import at_least, positive
from simcore.traces.trace import Trace
from simcore.units import format_seconds

suffixes = (".tar",)
WINDOW_S = 600
_MEMBER = re.compile(r"(?:.*/)?chunk-(\d+)-(trace\.csv|dataset\.json)")
_PMF = re.compile(r"\{[0-9eE+.\-:, ]*\}")
_MEDIA = ("image", "audio", "video")
_SETTLING_GAPS, _MOST_SETTLING = 50, 20_000
Floats = NDArray[np.float64]


class Client(NamedTuple):
    """One client: its windows, and the texts of its length distributions by start.

    `shape` is that of the gaps' distribution, a Weibull where `weibull`, else a Gamma; 1 where the rate is 0.
    """

    number: int
    rate_per_s: Floats
    cv: Floats
    weibull: NDArray[np.bool_]
    shape: Floats
    lengths: dict[int, dict[str, Any]]


def sniff(path: str | Path) -> bool:
    """Whether it is a tar archive or a folder with files named as ServeGen names them."""
    if Path(path).is_dir():
        return any(_MEMBER.fullmatch(inside.name) for inside in Path(path).iterdir())
    head = head_bytes(path)
    return head[257:262] == b"ustar" and re.search(rb"chunk-\d+-(trace\.csv|dataset\.json)\0", head) is not None


def read(
    path: str | Path,
    *,
    seed: int = 0,
    start_s: float = 0.0,
    duration_s: float = 3600.0,
    rate_scale: float = 1.0,
    granule_tokens: int | None = None,
) -> Trace:
    """Draw requests; same file, options and seed, same trace.

    Args:
        seed: of the random numbers; every client has its own.
        start_s, duration_s: the part of the recorded day to draw; arrivals count from its start.
        rate_scale: factor on every client's rate.
        granule_tokens: tokens of one block; None: 16.

    Raises:
        InputError: unreadable or damaged archive, a file that breaks the format, options outside the recorded time, or no
            request drawn.
    """
    file = str(path)
    granule = GRANULE_TOKENS if granule_tokens is None else granule_tokens
    at_least("start_s", start_s, 0.0)
    positive("duration_s", duration_s)
    positive("rate_scale", rate_scale)
    at_least("seed", seed, 0)
    try:
        found = clients(path)
        end_s = min(len(client.rate_per_s) for client in found) * WINDOW_S
        if start_s + duration_s > end_s:
            raise InputError(f"only {end_s} s are recorded", path="start_s + duration_s", value=start_s + duration_s)
        drawn = [_drawn(client, seed, start_s, duration_s, rate_scale) for client in found]
        times_s, inputs, outputs = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
        if not len(times_s):
            raise InputError("no request was drawn", hint="ask for a longer duration_s or a larger rate_scale")
        tenant = np.repeat(np.arange(len(found)), [len(part[0]) for part in drawn])
        first = float(start_s)
        source = f"ServeGen {Path(path).name}, {len(found)} clients, {format_seconds(duration_s)} from {first:g} s, seed {seed}"
        source += f", rates times {rate_scale:g}" if rate_scale != 1 else ""
        source += ", lengths only: nothing can be reused"
        blocks = own_blocks(inputs, granule)
        return trace_by_time(times_s, inputs, outputs, blocks, granule, tenant=tenant, source=source)
    except InputError as error:
        raise error.within(file=file) from None


def clients(path: str | Path) -> list[Client]:
    """The clients of an archive or a folder, by number.

    Raises:
        InputError: see `read`.
    """
    parts: dict[int, dict[str, tuple[str, bytes]]] = {}
    for name, content in _members(path):
        if found := _MEMBER.fullmatch(name):
            parts.setdefault(int(found[1]), {})[found[2]] = (name, content)
    if not parts:
        raise InputError("holds no file named like chunk-0-trace.csv")
    result = []
    for number, pair in sorted(parts.items()):
        for kind in ("trace.csv", "dataset.json"):
            if kind not in pair:
                raise InputError(f"client {number} has no chunk-{number}-{kind}")
        result.append(Client(number, *_windows(*pair["trace.csv"]), _lengths(*pair["dataset.json"])))
    return result


def _members(path: str | Path) -> Iterator[tuple[str, bytes]]:
    if Path(path).is_dir():
        for inside in sorted(Path(path).iterdir()):
            if _MEMBER.fullmatch(inside.name):
                yield inside.name, read_bytes(inside)
        return
    try:
        with tarfile.open(fileobj=io.BytesIO(read_bytes(path)), mode="r:") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield member.name, content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(f"the tar archive is damaged or truncated: {error}", hint="copy it again") from None


def _windows(name: str, content: bytes) -> tuple[Floats, Floats, NDArray[np.bool_], Floats]:
    rows = []
    lines = [line for line in content.decode("utf-8", "replace").splitlines() if line.strip()]
    for i, line in enumerate(lines):
        fields = line.split(",")
        try:
            start, rate, cv, shape = (float(fields[k]) for k in (0, 1, 2, 4))
            good = len(fields) == 6 and start == i * WINDOW_S and 0 <= rate < math.inf
            good &= rate == 0 or (fields[3] in ("Gamma", "Weibull") and 0 < shape < math.inf and 0 < cv < math.inf)
        except (ValueError, IndexError):
            good = False
        if not good:
            rule = f"{name} must give in row {i + 1}: {i * WINDOW_S},rate,CV,Gamma or Weibull,shape,scale"
            raise InputError(rule, value=line)
        rows.append((rate, cv, fields[3] == "Weibull", shape if rate else 1.0))
    if not rows:
        raise InputError(f"{name} holds no window")
    rates, cvs, weibulls, shapes = (np.array(column) for column in zip(*rows, strict=True))
    return rates, cvs, weibulls, shapes


def _lengths(name: str, content: bytes) -> dict[int, dict[str, Any]]:
    try:
        data = json.loads(content)
        return {int(start): dict(fields) for start, fields in data.items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{name} must be a JSON object of starts in s and distributions ({error})") from None


def pmf(text: Any, name: str) -> tuple[NDArray[np.int64], Floats]:
    """Values and cumulated probabilities of a {value: probability} text; nothing in it is executed.

    Raises:
        InputError: not such a text, negative values, or probabilities that do not sum to 1 within 1 %; `path` is `name`.
    """
    good = isinstance(text, str) and _PMF.fullmatch(text) is not None
    try:
        pairs = [pair.split(":") for pair in text[1:-1].split(",")] if good else []
        values = np.array([int(value) for value, _ in pairs], np.int64)
        weights = np.array([float(weight) for _, weight in pairs])
    except (ValueError, OverflowError):
        good = False
    if not good or (values < 0).any() or (values >= 2**31).any() or not (weights >= 0).all():
        raise InputError("must be a text like {50: 0.25, 51: 0.75}", path=name, value=text)
    total = float(weights.sum())
    if not abs(total - 1) <= 0.01:
        raise InputError("probabilities must sum to 1", path=name, value=total)
    return values, np.cumsum(weights) / total


def _drawn(
    client: Client, seed: int, start_s: float, duration_s: float, rate_scale: float
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Arrivals (from `start_s`, sorted), prompt and answer tokens of one client."""
    times_rng, lengths_rng = (np.random.default_rng([seed, client.number, part]) for part in range(2))
    times_s = arrivals(client, times_rng, start_s, duration_s, rate_scale)
    inputs, outputs = np.zeros(len(times_s), np.int64), np.zeros(len(times_s), np.int64)
    starts = sorted(client.lengths)
    part_of = np.searchsorted(starts, times_s + start_s, side="right") - 1
    if len(times_s) and part_of[0] < 0:
        raise InputError(f"client {client.number} has no lengths before {starts[0] if starts else 'any'} s")
    for part in np.unique(part_of):
        chosen = np.flatnonzero(part_of == part)
        fields = client.lengths[starts[part]]
        inputs[chosen], outputs[chosen] = _tokens(fields, f"chunk-{client.number}.{starts[part]}", lengths_rng, len(chosen))
    return times_s, np.maximum(inputs, 1), outputs


def _tokens(fields: dict[str, Any], place: str, rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    def draw(name: str, m: int) -> NDArray[np.int64]:
        if name not in fields:
            raise InputError("is required", path=f"{place}.{name}", hint=f"there are {', '.join(fields) or 'none'}")
        values, cumulated = pmf(fields[name], f"{place}.{name}")
        return values[np.minimum(np.searchsorted(cumulated, rng.random(m), side="right"), len(values) - 1)]

    inputs = draw("text_tokens" if "text_tokens" in fields else "input_tokens", n)
    for medium in _MEDIA:
        if f"{medium}_count" in fields:
            owner = np.repeat(np.arange(n), draw(f"{medium}_count", n))
            inputs = inputs + np.bincount(owner, draw(f"{medium}_tokens", len(owner)), n).astype(np.int64)
    return inputs, draw("output_tokens", n)


def arrivals(client: Client, rng: np.random.Generator, start_s: float, duration_s: float, rate_scale: float) -> Floats:
    """Arrival times of one client within the window asked for, from its start, rounded to microseconds; f8, sorted."""
    first, last = int(start_s // WINDOW_S), math.ceil((start_s + duration_s) / WINDOW_S)
    windows = np.arange(first, last)
    begin = np.maximum(windows * WINDOW_S, start_s)
    length = np.minimum((windows + 1) * WINDOW_S, start_s + duration_s) - begin
    rate = client.rate_per_s[windows] * rate_scale
    busy = np.flatnonzero(rate > 0)
    if not len(busy):
        return np.zeros(0)
    end = np.cumsum(rate * length)
    shape, weibull = client.shape[windows], client.weibull[windows]
    cv = float(client.cv[windows][busy[0]])
    now = -min(_SETTLING_GAPS * (1 + cv * cv), _MOST_SETTLING)
    now, _ = _renewals(rng, now, 0.0, float(shape[busy[0]]), bool(weibull[busy[0]]))
    found = []
    for w in busy:
        before = end[w] - rate[w] * length[w]
        now, at = _renewals(rng, now, float(end[w]), float(shape[w]), bool(weibull[w]))
        found.append(begin[w] - start_s + (at - before) / rate[w])
    times_s = np.concatenate(found)
    return np.clip(np.round(times_s, 6), 0.0, duration_s)  # libraries of other CPUs differ in the last bit


def _renewals(rng: np.random.Generator, now: float, end: float, shape: float, weibull: bool) -> tuple[float, Floats]:
    """The arrivals from `now`, itself one, up to `end`, with gaps of mean 1; and the first arrival beyond."""
    parts = []
    mean = math.gamma(1 + 1 / shape) if weibull else shape
    while now < end:
        n = int(1.1 * (end - now)) + 16
        gaps = rng.weibull(shape, n) if weibull else rng.standard_gamma(shape, n)
        at = now + np.concatenate(([0.0], np.cumsum(gaps / mean)))
        parts.append(at[:-1])
        now = float(at[-1])
    at = np.concatenate(parts) if parts else np.zeros(0)
    inside = at < end
    beyond = at[~inside]
    return (float(beyond[0]) if len(beyond) else now), at[inside]
