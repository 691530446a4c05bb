"""Formats of measurements: samples as people posted them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcore.calibration import logs
from simcore.calibration.logs import bench_json, bench_text, lmcache, prometheus, table, vllm_startup
from simcore.calibration.user import calibrate_files
from simcore.errors import InputError
from simcore.plugins import find, names
from simcore.units import GIB

STORED = (
    "(EngineCore_DP0 pid=2985898) [2026-01-07 22:21:08,014] LMCache INFO: Stored 2048 out of total 2048 tokens. "
    "size: 0.2188 gb, cost 14.7797 ms, throughput: 14.8007 GB/s; offload_time: 14.7275 ms, put_time: 0.0522 ms "
    "(cache_engine.py:437:lmcache.v1.cache_engine)"
)
"""LMCache/LMCache#2262"""
RETRIEVED = (
    " Retrieved 30036 out of 30036 required tokens (from 30036 total tokens). size: 4.5831 gb, cost 14.0659 ms, "
    "throughput: 325.8318 GB/s; (cache_engine.py:509:lmcache.v1.cache_engine)"
)
"""LMCache/LMCache#1755"""
VLLM = """Traffic request rate: inf
Maximum request concurrency: 30
============ Serving Benchmark Result ============
Successful requests:                     100
Benchmark duration (s):                  82.97
Total input tokens:                      77700
Total generated tokens:                  603
---------------Time to First Token----------------
Mean TTFT (ms):                          18854.01
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          875.24
==================================================
"""
"""vllm-project/vllm#9722"""
SGLANG = """============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max request concurrency:                 16
Successful requests:                     80
Total input tokens:                      81920
Total generated tokens:                  10240
Mean TTFT (ms):                          120.50
Mean ITL (ms):                           9.25
==================================================
"""
STARTED = """INFO [gpu_worker.py:298] Available KV cache memory: 18.78 GiB
INFO [kv_cache_utils.py:1087] GPU KV cache size: 175,856 tokens
INFO [kv_cache_utils.py:1091] Maximum concurrency for 1,024 tokens per request: 171.73x
"""
"""vllm-project/vllm#33263"""
SCRAPED = """# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1",model_name="m"} 3.0
vllm:time_to_first_token_seconds_count{model_name="m"} 4.0
vllm:time_to_first_token_seconds_sum{model_name="m"} 0.5
vllm:request_time_per_output_token_seconds_count{model_name="m"} 4.0
vllm:request_time_per_output_token_seconds_sum{model_name="m"} 0.04
vllm:prompt_tokens_total{model_name="m"} 4096.0
vllm:generation_tokens_total{model_name="m"} 512.0
vllm:cache_config_info{block_size="16",num_gpu_blocks="10991"} 1.0
"""


def test_lmcache_lines() -> None:
    stored, retrieved = lmcache.read(f"{STORED}\nother\n{RETRIEVED}\n", "a.log").transfers
    assert (stored.tokens, stored.kind) == (2048, "stored") and stored.seconds == pytest.approx(14.7275e-3)
    assert stored.size_bytes / stored.seconds / GIB == pytest.approx(14.85, rel=1e-3)
    assert retrieved.size_bytes / retrieved.seconds / GIB == pytest.approx(325.83, rel=1e-3)


def test_clients_results() -> None:
    runs = bench_text.read(VLLM + SGLANG, "a.txt").runs
    assert runs[0].fields == {
        "ttft_ms": 18854.01, "tpot_ms": 875.24, "input_tokens": 777, "output_tokens": 6, "concurrency": 30,
    }  # fmt: skip
    assert runs[1].fields["tpot_ms"] == 9.25 and runs[1].fields["concurrency"] == 16 and runs[1].where == "a.txt, result 2"


def test_saved_results() -> None:
    saved = {
        "backend": "vllm",
        "completed": 100,
        "max_concurrency": 8,
        "total_input_tokens": 102_400,
        "total_output_tokens": 12_800,
    }
    saved |= {"mean_ttft_ms": 50.0, "mean_tpot_ms": 8.0}
    (run,) = bench_json.read(json.dumps(saved), "r.json").runs
    assert run.fields["input_tokens"] == 1024 and run.fields["family"] == "vllm" and "client" not in run.fields
    lines = "\n".join(json.dumps({**saved, "backend": "sglang", "random_range_ratio": ratio}) for ratio in (1.0, 0.8, 0.0))
    assert [run.fields.get("client") for run in bench_json.read(lines, "r.jsonl").runs] == ["fixed", "varied", None]


def test_start_up_and_metrics() -> None:
    (pool,) = vllm_startup.read(STARTED, "v.log").pools
    assert pool.tokens == 175_856 and pool.available_bytes == 18.78 * GIB
    found = prometheus.read(SCRAPED, "metrics.txt")
    assert found.runs[0].fields == {
        "family": "vllm", "ttft_ms": 125.0, "input_tokens": 1024, "output_tokens": 128, "tpot_ms": 10.0,
    }  # fmt: skip
    assert (found.pools[0].blocks, found.pools[0].block_tokens) == (10_991, 16)
    assert prometheus.read("vllm:num_requests_running 0.0\n", "m").notes


def test_tables() -> None:
    text = "model,tp,ep,concurrency,ttft_ms\nqwen3-32b,2,true,8,120.5\nqwen3-32b,,,16,200\n"
    first, second = table.read(text, "t.csv").runs
    assert first.fields == {"model": "qwen3-32b", "tp": 2, "ep": True, "concurrency": 8, "ttft_ms": 120.5}
    assert second.fields == {"model": "qwen3-32b", "concurrency": 16, "ttft_ms": 200.0} and second.where == "t.csv:3"
    for wrong, message in (
        ("ttft_ms,concurency\n1,2\n", "concurency: unknown column.*Did you mean concurrency"),
        ("ttft_ms,tp\n1,two\n", r"t\.csv:2: tp: must be a whole number"),
        ("ttft_ms,ttft_ms\n1,2\n", "ttft_ms: is there twice"),
        ("ttft_ms,tp\n1,2,3\n", r"t\.csv:2: has 3 cells for 2 columns"),
        ("concurrency,ttft_ms\n900000000000,1\n", "concurrency: must be at most 1e5"),
        ("input_tokens,ttft_ms\n99999999999,1\n", "input_tokens: must be at most 1e7"),
        ("tp,ttft_ms\n99999999999,1\n", "tp: must be at most 1024"),
        ("ttft_ms\nnan\n", "ttft_ms: must be a number"),
        ("ttft_ms\n-1\n", "ttft_ms: must be above 0"),
    ):
        with pytest.raises(InputError, match=message):
            table.read(wrong, "t.csv")


SAVED = {
    "completed": 100, "max_concurrency": 8, "total_input_tokens": 102_400, "total_output_tokens": 12_800, "mean_ttft_ms": 50.0,
    "mean_tpot_ms": 8.0,
}  # fmt: skip


@pytest.mark.parametrize("value", [-5, 0, float("nan"), float("inf"), True, "seven", 10**400, [1]])
@pytest.mark.parametrize("key", SAVED)
def test_numbers_no_saved_run_can_have_are_refused_with_their_place(key: str, value: Any) -> None:
    text = "\n".join(json.dumps(entry) for entry in (SAVED, {**SAVED, key: value}))
    with pytest.raises(InputError, match=f"entry 2: {key}") as caught:
        bench_json.read(text, "r.jsonl")
    assert caught.value.file == "r.jsonl"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bench_text", SGLANG.replace("120.50", "1.2.3")),
        ("bench_text", SGLANG.replace("120.50", "nan")),
        ("bench_text", SGLANG.replace("9.25", ".")),
        ("bench_text", SGLANG.replace("81920", "1e300")),
        ("lmcache", STORED.replace("0.2188", ".")),
        ("lmcache", STORED.replace("14.7275", "1.2.3")),
        ("vllm_startup", STARTED.replace("175,856", ",")),
        ("vllm_startup", STARTED.replace("18.78", "0")),
        ("vllm_startup", STARTED.replace("18.78", ".")),
        ("prometheus", SCRAPED.replace("4096.0", "NaN")),
        ("prometheus", SCRAPED.replace("0.04", "-0.04")),
        ("prometheus", SCRAPED.replace("4096.0", "1.2e")),
        ("prometheus", SCRAPED.replace("seconds_sum{", "seconds_sux{")),
        ("prometheus", SCRAPED.replace("10991", "9" * 5000)),
        ("bench_json", '{"mean_ttft_ms": ' + "9" * 5000 + "}"),
        ("bench_json", '{"mean_ttft_ms": 1.0, "x": ' + "[" * 100_000),
        ("bench_json", json.dumps(SAVED) + "\n" + json.dumps(SAVED)[:50]),
        ("table", 'ttft_ms\n"' + "1" * 200_000 + '"\n'),
    ],
)
def test_what_is_cut_or_no_number_is_one_message(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / "measured.txt"
    file.write_text(text)
    assert find(logs.__name__, name, ("sniff", "read")).sniff(text)
    with pytest.raises(InputError) as caught:
        calibrate_files([file], {})
    assert caught.value.file == str(file)


def test_unlimited_clients_and_old_line_ends_are_read() -> None:
    (run,) = bench_text.read(SGLANG.replace(":                 16", ":                 not set"), "a.txt").runs
    assert "concurrency" not in run.fields
    text = "concurrency,ttft_ms\r8,120.5\r"
    assert table.sniff(text) and table.read(text, "t.csv").runs[0].fields == {"concurrency": 8, "ttft_ms": 120.5}


@pytest.mark.parametrize(
    ("name", "text"),
    [("lmcache", STORED), ("bench_text", VLLM), ("bench_json", '{"mean_ttft_ms": 1.0}'), ("vllm_startup", STARTED),
     ("prometheus", SCRAPED), ("table", "concurrency, ttft_ms\n1, 2\n")],
)  # fmt: skip
def test_each_format_knows_its_own_and_no_other(name: str, text: str) -> None:
    taken = [other for other in names(logs.__name__) if find(logs.__name__, other, ("sniff", "read")).sniff(text)]
    assert taken == [name]
