"""ServeGen statistics: the published figures, and what is drawn from them against them."""

from __future__ import annotations

import io
import json
import math
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from simcore.errors import InputError
from simcore.traces import servegen
from simcore.traces.reuse import ideal_hit
from simcore.traces.servegen import Client, arrivals, clients, pmf

ARCHIVE = {"deepseek-r1": "traces/kv/servegen_deepseek-r1.tar.zst", "mm-image": "traces/multimodal/servegen_mm-image.tar.zst"}
STEADY = "".join(f"{600 * i},2.0,1.0,Gamma,1.0,0.5\n" for i in range(6))
LENGTHS = {"0": {"input_tokens": "{10: 0.5, 30: 0.5}", "output_tokens": "{7: 1.0}"}}


def archive(folder: Path, files: dict[str, str], pack: Any = bytes) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    path = folder / "stats.tar"
    path.write_bytes(pack(buffer.getvalue()))
    return path


def one(**changes: Any) -> dict[str, str]:
    files = {"x/chunk-0-trace.csv": STEADY, "x/chunk-0-dataset.json": json.dumps(LENGTHS)}
    return {**files, **changes}


def weighted(found: list[Client], field: str, p: float) -> tuple[float, int]:
    """Mean and percentile of a length, clients weighted by their requests of the day, the parts of the day alike."""
    values, weights = [], []
    for client in found:
        for start, fields in client.lengths.items():
            if fields[field] != "{}":
                value, cumulated = pmf(fields[field], f"{start}.{field}")
                values.append(value)
                weights.append(np.diff(cumulated, prepend=0.0) * client.rate_per_s.sum())
    value, weight = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(value, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    return float((value * weight).sum() / weight.sum()), int(value[order][np.searchsorted(share, p)])


@pytest.mark.parametrize(
    ("name", "n", "rate", "peak", "top5", "percentiles"),
    [
        (
            "deepseek-r1",
            73,
            16.0,
            2.66,
            0.52,
            {
                ("input_tokens", 0.5): 266,
                ("input_tokens", 0.99): 25_753,
                ("output_tokens", 0.5): 807,
                ("output_tokens", 0.99): 13_533,
            },
        ),
        (
            "mm-image",
            35,
            9.5,
            1.40,
            0.56,
            {
                ("text_tokens", 0.5): 94,
                ("text_tokens", 0.9): 1_913,
                ("image_tokens", 0.5): 432,
                ("image_tokens", 0.9): 1_222,
                ("output_tokens", 0.5): 98,
                ("output_tokens", 0.99): 583,
                ("image_count", 0.5): 1,
                ("image_count", 0.9): 3,
                ("image_count", 0.99): 9,
            },
        ),
    ],
)
def test_the_published_statistics(
    shared: Path, name: str, n: int, rate: float, peak: float, top5: float, percentiles: dict[tuple[str, float], int]
) -> None:
    found = clients(shared / ARCHIVE[name])
    rates = np.array([client.rate_per_s for client in found])
    total = rates.sum(axis=0)
    assert (len(found), rates.shape[1], round(total.mean(), 1)) == (n, 144, rate)
    assert round(total.max() / total.mean(), 2) == peak
    assert round(np.sort(rates.mean(axis=1))[-5:].sum() / total.mean(), 2) == top5
    assert {key: weighted(found, *key)[1] for key in percentiles} == percentiles
    if name == "mm-image":
        assert round(weighted(found, "image_count", 0.5)[0], 2) == 1.51
        cv = np.concatenate([client.cv[client.rate_per_s > 0] for client in found])
        assert np.percentile(cv, [50, 90]).round(2).tolist() == [1.37, 4.97]


@pytest.mark.parametrize("name", ARCHIVE)
def test_shapes_agree_with_the_stated_cv(shared: Path, name: str) -> None:
    for client in clients(shared / ARCHIVE[name]):
        gamma = (client.rate_per_s > 0) & ~client.weibull
        assert np.allclose(1 / np.sqrt(client.shape[gamma]), client.cv[gamma], rtol=1e-3)


@pytest.mark.parametrize("name", ARCHIVE)
def test_a_drawn_day_has_the_stated_rates_and_lengths(shared: Path, name: str) -> None:
    path = shared / ARCHIVE[name]
    found = clients(path)
    trace = servegen.read(path, duration_s=86_400.0, granule_tokens=4096)
    stated = np.array([client.rate_per_s for client in found]) * 600
    drawn = np.zeros_like(stated)
    np.add.at(drawn, (trace.tenant, np.minimum(trace.arrival_s // 600, 143).astype(int)), 1)
    assert abs(trace.n / stated.sum() - 1) < 0.01
    by_client, by_window = drawn.sum(axis=1), drawn.sum(axis=0)
    busy = stated.sum(axis=1) > 10_000
    assert np.allclose(by_client[busy], stated.sum(axis=1)[busy], rtol=0.1)
    assert np.corrcoef(by_window, stated.sum(axis=0))[0, 1] > 0.98
    assert (drawn[stated == 0] == 0).all()
    mean = sum(part * _mean_input(client, k) for client, row in zip(found, stated, strict=True) for k, part in _parts(row))
    assert math.isclose(float(trace.input_tokens.mean()), mean / stated.sum(), rel_tol=0.03)
    assert ideal_hit(trace).hit_units.sum() == 0


def _parts(row: np.ndarray) -> list[tuple[int, float]]:
    return [(k * 21_600, float(part)) for k, part in enumerate(row.reshape(4, 36).sum(axis=1)) if part]


def _mean_input(client: Client, start: int) -> float:
    def mean(name: str) -> float:
        values, cumulated = pmf(client.lengths[start][name], name)
        return float((values * np.diff(cumulated, prepend=0.0)).sum())

    if "input_tokens" in client.lengths[start]:
        return mean("input_tokens")
    return mean("text_tokens") + mean("image_count") * mean("image_tokens")


@pytest.mark.parametrize("name", ARCHIVE)
def test_an_hour_takes_no_time_and_is_the_same_every_time(shared: Path, name: str) -> None:
    path = shared / ARCHIVE[name]
    began = time.thread_time()
    trace = servegen.read(path, start_s=36_000.0, seed=3)
    assert time.thread_time() - began < 3
    assert servegen.read(path, start_s=36_000.0, seed=3).sha256 == trace.sha256
    assert servegen.read(path, start_s=36_000.0, seed=4).sha256 != trace.sha256
    stated = sum(client.rate_per_s[60:66].sum() * 600 for client in clients(path))
    assert abs(trace.n / stated - 1) < 0.05
    halved = servegen.read(path, start_s=36_000.0, rate_scale=0.5)
    assert abs(halved.n / stated - 0.5) < 0.05


@pytest.mark.parametrize(("weibull", "shape"), [(False, 1.0), (False, 0.04), (False, 4.0), (True, 0.7), (True, 1.5)])
def test_arrivals_are_stationary_with_the_shape_of_the_fit(weibull: bool, shape: float) -> None:
    moments = math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 if weibull else 1 + 1 / shape
    cv = math.sqrt(moments - 1)
    n = 144
    client = Client(0, np.full(n, 2.0), np.full(n, cv), np.full(n, weibull), np.full(n, shape), {})
    day = arrivals(client, np.random.default_rng(0), 0.0, 86_400.0, 1.0)
    assert (np.diff(day) >= 0).all()
    gaps = np.diff(day)
    assert math.isclose(float(gaps.mean()), 0.5, rel_tol=0.06)
    assert math.isclose(float(gaps.std() / gaps.mean()), cv, rel_tol=0.06)
    # A renewal process begun with the window would give (cv^2 - 1) / 2 requests too many, 12 of 120 at shape 0.04.
    short = [len(arrivals(client, np.random.default_rng(seed), 0.0, 60.0, 1.0)) for seed in range(400)]
    assert math.isclose(np.mean(short), 120, rel_tol=0.02 + 0.02 * cv)


def test_rates_change_from_window_to_window() -> None:
    rate = np.array([0.0, 4.0, 0.0, 1.0])
    client = Client(0, rate, np.full(4, 0.5), np.zeros(4, bool), np.full(4, 4.0), {})
    times_s = arrivals(client, np.random.default_rng(0), 300.0, 2100.0, 1.0)
    by_window = np.histogram(times_s, [0, 300, 900, 1500, 2100])[0]
    assert (by_window[0], by_window[2]) == (0, 0)
    assert abs(by_window[1] - 2400) < 100
    assert abs(by_window[3] - 600) < 50
    assert len(arrivals(client, np.random.default_rng(0), 0.0, 600.0, 1.0)) == 0


def test_archives_and_folders_read_alike(tmp_path: Path) -> None:
    plain = archive(tmp_path, one())
    trace = servegen.read(plain, duration_s=600.0)
    assert servegen.sniff(plain)
    assert trace.tenant.tolist() == [0] * trace.n
    assert set(trace.input_tokens.tolist()) == {10, 30}
    assert set(trace.output_tokens.tolist()) == {7}
    assert abs(trace.n - 1200) < 150
    packed = archive(tmp_path, one(), zstandard.compress)
    assert servegen.sniff(packed)
    assert servegen.read(packed, duration_s=600.0).sha256 == trace.sha256
    for name, text in one().items():
        (tmp_path / Path(name).name).write_text(text)
    assert servegen.sniff(tmp_path)
    assert servegen.read(tmp_path, duration_s=600.0).sha256 == trace.sha256


def test_images_are_added_to_the_text(tmp_path: Path) -> None:
    fields = {
        "text_tokens": "{100: 1.0}",
        "image_tokens": "{7: 1.0}",
        "image_count": "{0: 0.5, 3: 0.5}",
        "audio_tokens": "{0: 1.0}",
        "audio_count": "{0: 1.0}",
        "output_tokens": "{0: 1.0}",
    }
    path = archive(tmp_path, one(**{"x/chunk-0-dataset.json": json.dumps({"0": fields})}))
    trace = servegen.read(path, duration_s=600.0)
    assert set(trace.input_tokens.tolist()) == {100, 121}
    assert abs(float((trace.input_tokens == 121).mean()) - 0.5) < 0.1
    assert set(trace.output_tokens.tolist()) == {1}


def dataset(**fields: str) -> str:
    return json.dumps({"0": {**LENGTHS["0"], **fields}})


TRACE, DATASET = "x/chunk-0-trace.csv", "x/chunk-0-dataset.json"
BROKEN: dict[str, tuple[dict[str, str], str]] = {
    "no client": ({"readme.txt": "hello"}, "holds no file named like chunk-0-trace.csv"),
    "no lengths": ({TRACE: STEADY}, "client 0 has no chunk-0-dataset.json"),
    "no windows": (one(**{TRACE: "\n"}), "x/chunk-0-trace.csv holds no window"),
    "other step": (one(**{TRACE: STEADY.replace("600,", "300,")}), "must give in row 2: 600,rate,CV"),
    "cut row": (one(**{TRACE: STEADY[:-8]}), "must give in row 6: 3000,rate.*got 3000,2.0,1.0,Gamma,$"),
    "unknown fit": (one(**{TRACE: STEADY.replace("Gamma", "Pareto")}), "must give in row 1"),
    "no shape": (one(**{TRACE: STEADY.replace("Gamma,1.0", "Gamma,0")}), "must give in row 1"),
    "not a rate": (one(**{TRACE: STEADY.replace(",2.0,", ",nan,")}), "must give in row 1"),
    "not JSON": (one(**{DATASET: "{"}), "x/chunk-0-dataset.json must be a JSON object of starts"),
    "not by start": (one(**{DATASET: '{"a": {}}'}), "must be a JSON object of starts"),
    "no field": (one(**{DATASET: '{"0": {"output_tokens": "{1: 1.0}"}}'}), "chunk-0.0.input_tokens: is required"),
    "lengths later": (one(**{DATASET: json.dumps({"600": LENGTHS["0"]})}), "client 0 has no lengths before 600 s"),
    "code": (
        one(**{DATASET: dataset(input_tokens="__import__('os').getcwd()")}),
        "chunk-0.0.input_tokens: must be a text like",
    ),
    "empty": (one(**{DATASET: dataset(input_tokens="{}")}), "must be a text like"),
    "fraction": (one(**{DATASET: dataset(input_tokens="{1.5: 1.0}")}), "must be a text like"),
    "negative": (one(**{DATASET: dataset(input_tokens="{-1: 1.0}")}), "must be a text like"),
    "giant": (one(**{DATASET: dataset(input_tokens="{99999999999999999999: 1.0}")}), "must be a text like"),
    "no sum": (one(**{DATASET: dataset(input_tokens="{1: 0.5, 2: 0.1}")}), "probabilities must sum to 1; got 0.6"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_statistics(tmp_path: Path, case: str) -> None:
    files, message = BROKEN[case]
    path = archive(tmp_path, files)
    with pytest.raises(InputError, match=message) as caught:
        servegen.read(path, duration_s=60.0)
    assert caught.value.file == str(path)


def test_options_outside_their_range(tmp_path: Path) -> None:
    path = archive(tmp_path, one())
    for options, message in (
        ({"start_s": 3000.0, "duration_s": 601.0}, "start_s . duration_s: only 3600 s are recorded; got 3601"),
        ({"start_s": -1.0}, "start_s: must be at least 0"),
        ({"duration_s": 0.0}, "duration_s: must be positive"),
        ({"rate_scale": float("nan")}, "rate_scale: must be positive"),
        ({"seed": -1}, "seed: must be at least 0"),
        ({"granule_tokens": 0, "duration_s": 60.0}, "granule_tokens: must be at least 1"),
        ({"duration_s": 1.0, "rate_scale": 1e-9}, "no request was drawn"),
    ):
        with pytest.raises(InputError, match=message):
            servegen.read(path, **options)


def test_a_cut_archive(tmp_path: Path) -> None:
    path = archive(tmp_path, one())
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(InputError, match="the tar archive is damaged or truncated"):
        servegen.read(path)
    path.write_bytes(b"x" * 2000)
    assert not servegen.sniff(path)
    with pytest.raises(InputError, match="the tar archive is damaged or truncated"):
        servegen.read(path)
