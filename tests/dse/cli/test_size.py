"""`dse size`: figures of public threads from their commands, text within its width, the JSON shape, mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dse.cli.conftest import Dse
from tests.dse.test_terminal import check

HALF_PERCENT = 0.005
U01 = "vllm serve Qwen/Qwen3-1.7B --max-num-seqs 1 --max-model-len 1024"


def sized(dse: Dse, *arguments: str) -> dict[str, Any]:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    return dse("size", *arguments[:split], "--json", *arguments[split:]).data  # type: ignore[no-any-return]


def test_one_short_request_takes_the_whole_gpu(dse: Dse) -> None:
    """vllm-project/vllm#33263 (U01): 18.78 GiB, log 175,856 tokens; one request of 1,024 needs 0.11 GiB."""
    data = sized(dse, "--gpu", "rtx-4090", "--pool", "18.78GiB", "--", *U01.split())
    assert data["kv_bytes_per_token"] == 114_688
    assert data["pool_tokens"] == pytest.approx(175_856, rel=HALF_PERCENT)
    assert (data["running"], data["limit"][:12]) == (1, "max_num_seqs")
    assert round(data["request_bytes"] / 2**30, 2) == 0.11
    text = dse("size", "--gpu", "rtx-4090", "--pool", "18.78GiB", "--", *U01.split()).out
    assert f"Enough: --kv-cache-memory-bytes {114_688 * 1024}" in " ".join(text.split())
    enough = sized(dse, "--gpu", "rtx-4090", "--pool", f"{114_688 * 1024} B", "--", *U01.split())
    assert enough["max_sequences"] == 1 and enough["fits"]


def test_concurrency_to_memory(dse: Dse) -> None:
    """vllm-project/vllm#22291 (U02): 0.164 GiB a request of 3,072 tokens; 10.6 GB in use at 5, 18.1 at 50."""
    arguments = ("--gpu", "rtx-4090", "--max-model-len", "3072", "--concurrency", "5,20,50")
    data = sized(dse, *arguments, "--model", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8")
    assert data["kv_bytes_per_token"] == 57_344
    assert data["request_bytes"] / 2**30 == pytest.approx(0.164, rel=HALF_PERCENT)
    rows = {row["requests"]: row for row in data["concurrency"]}
    slope = (rows[50]["pool_bytes"] - rows[5]["pool_bytes"]) / 45
    assert slope == pytest.approx((18.1 - 10.6) / 45 * 1e9, rel=0.06)  # measured to three digits
    assert rows[5]["gpu_memory_utilization"] < rows[20]["gpu_memory_utilization"] < rows[50]["gpu_memory_utilization"] < 0.9
    shares = [str(rows[n]["gpu_memory_utilization"] + 1e-9) for n in (5, 20, 50)]
    for count, share in zip((5, 20, 50), shares, strict=True):
        again = sized(dse, *arguments, "--model", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "--utilization", share)
        assert int(again["max_sequences"]) == count, "the flag in the table gives that many"


@pytest.mark.parametrize(("mode", "gib"), [("unified", 12.0), ("ring", 6.09)])
def test_sliding_windows(dse: Dse, mode: str, gib: float) -> None:
    """alvarobartt/hf-mem#70 (U03): gpt-oss-20b, 32 requests of 8,192 tokens, both bounds."""
    data = sized(dse, "--model", "gpt-oss-20b", "--gpu", "h100-sxm", "--max-model-len", "8192", "--concurrency", "32",
                 "--set", f"engine.sliding_window_cache={mode}")  # fmt: skip
    assert data["concurrency"][0]["pool_bytes"] / 2**30 == pytest.approx(gib, rel=HALF_PERCENT)


def test_the_log_of_gpt_oss(dse: Dse) -> None:
    """alvarobartt/hf-mem#60 (U03): 5.38 GiB hold 78,384 tokens."""
    data = sized(dse, "--pool", "5.38GiB", "--gpu", "h100-sxm", "--", "vllm", "serve", "openai/gpt-oss-120b")
    assert data["pool_tokens"] == pytest.approx(78_384, rel=HALF_PERCENT)


def test_the_log_of_qwen3_14b(dse: Dse) -> None:
    """LMCache/LMCache#1739 (U04): 6.51 GiB, 42,656 tokens, 1.30x at 32,768; from the flags alone on a 40 GB card too."""
    command = ("--", "vllm", "serve", "Qwen/Qwen3-14B", "--max-model-len", "32768")
    data = sized(dse, "--gpu", "a100-40", "--pool", "6.51GiB", *command)
    assert (data["pool_tokens"], round(data["max_sequences"], 2)) == (42_656, 1.30)
    data = sized(dse, "--gpu", "a100-40", *command)
    assert data["pool_tokens"] == pytest.approx(42_656, rel=HALF_PERCENT)


U05 = Path(__file__).parents[3] / "examples" / "user_cases" / "u05"


def test_a_tier_below_does_not_lengthen_a_request(dse: Dse) -> None:
    """NVIDIA/TensorRT-LLM#7281 (U05): 44K tokens on a card of 16 GB, host offload will not make it 128K."""
    base = ("--model", str(U05 / "config.json"), "--gpu", str(U05 / "card.yaml"), "--set", "engine.family=trtllm",
            "--set", "engine.max_num_seqs=8", "--set", "engine.max_num_batched_tokens=8192")  # fmt: skip
    alone = sized(dse, *base)
    assert alone["longest_tokens"] == pytest.approx(44_000, rel=0.1)
    assert not alone["fits"] and "KV of a running request must be in HBM" in alone["limit"]
    below = sized(dse, *base, "--tier", "dram=64GiB")
    assert below["longest_tokens"] == alone["longest_tokens"] and below["tiers"][0]["tokens"] > 500_000
    assert dse("size", *base, "--tier", "dram=64GiB").status == 3
    levers = {lever["change"]: lever for lever in alone["levers"]}
    assert levers["kv_format fp8_e4m3"]["longest_tokens"] > 1.9 * alone["longest_tokens"]
    assert f"max_model_len {alone['longest_tokens']}" in levers
    assert [v["max_sequences"] for v in levers.values()] == sorted((v["max_sequences"] for v in levers.values()), reverse=True)


@pytest.mark.parametrize(
    ("arguments", "gib"),
    [
        (("--model", "qwen-72b", "--max-model-len", "8192"), 20.0),
        (("--model", "llama-2-70b", "--max-model-len", "4096"), 1.25),
        (("--model", "llama-3.1-8b", "--max-model-len", "32768"), 4.0),
        (("--model", "llama-3.1-8b", "--max-model-len", "32768", "--kv-format", "q8_0"), 2.125),
        (("--model", "llama-3.1-8b", "--max-model-len", "32768", "--kv-format", "q4_0"), 1.125),
    ],
)
def test_heads_and_formats(dse: Dse, arguments: tuple[str, ...], gib: float) -> None:
    """ggml-org/llama.cpp#6032, ollama/ollama#6276 (U07)."""
    assert sized(dse, *arguments, "--gpu", "b200")["request_bytes"] / 2**30 == pytest.approx(gib, rel=HALF_PERCENT)


@pytest.mark.parametrize(("name", "logged", "length"), [("Qwen3-30B-A3B-FP8", 87_584, "32000")])
def test_pools_of_two_cards(dse: Dse, name: str, logged: int, length: str) -> None:
    """LMCache/LMCache#1241 (U17): two RTX 4090, from the flags alone within 4 % (the driver keeps some)."""
    data = sized(dse, "--gpu", "rtx-4090", "--", "vllm", "serve", f"Qwen/{name}", "-tp", "2", "--max-model-len", length)
    assert data["pool_tokens"] == pytest.approx(logged, rel=0.04)
    assert data["kv_bytes_per_token"] == 98_304


def test_a_3090_as_logged(dse: Dse) -> None:
    """vllm-project/vllm#10517: Llama-3.1-8B on an RTX 3090, 20,000 tokens a step: 3.81 GiB, 1,952 blocks, 1.56x; flags: 4 %."""
    command = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 20000 --max-num-batched-tokens 20000"
    given = sized(dse, "--gpu", "rtx-3090", "--pool", "3.81GiB", "--", *command.split())
    assert given["blocks"] == pytest.approx(1952, rel=0.0015) and round(given["max_sequences"], 2) == 1.56
    assert sized(dse, "--gpu", "rtx-3090", "--", *command.split())["blocks"] == pytest.approx(1952, rel=0.04)


def test_sglang_as_logged(dse: Dse) -> None:
    """vllm-project/vllm#21348: Qwen3-235B-A22B-FP8 on four H100, static share 0.93: 367,404 tokens; here within 7 %."""
    data = sized(dse, "--gpu", "h100-sxm", "--", "python3", "-m", "sglang.launch_server", "--model", "Qwen/Qwen3-235B-A22B-FP8",
                 "--tp", "4", "--mem-fraction-static", "0.93")  # fmt: skip
    assert data["pool_tokens"] == pytest.approx(367_404, rel=0.07)


def test_a_hybrid_as_logged(dse: Dse) -> None:
    """mitchross/talos-argocd-proxmox#1995: two GPUs, fp8 cache, 4.99 GiB: 302,921 tokens, 2.31 requests of 131,072. The tokens
    are not a rate (U06, vllm-project/vllm#51041): they grow with the length, for the state is paid once a request."""
    command = "vllm serve Qwen/Qwen3.6-27B -tp 2 --kv-cache-dtype fp8_e4m3 --max-num-seqs 3 --max-model-len"
    data = sized(dse, "--gpu", "rtx-3090", "--pool", "4.99GiB", "--", *command.split(), "131072")
    assert data["pool_tokens"] == pytest.approx(302_921, abs=1) and round(data["max_sequences"], 2) == 2.31
    assert data["block_tokens"] == 1568, "so a shared prefix of 240 tokens is never reused (U10, vllm-project/vllm#54607)"
    short = sized(dse, "--gpu", "rtx-3090", "--pool", "4.99GiB", "--", *command.split(), "4096")
    assert short["pool_tokens"] < 0.5 * data["pool_tokens"]
    text = dse("size", "--gpu", "rtx-3090", "--pool", "4.99GiB", "--", *command.split(), "131072").out
    assert "not a rate" in " ".join(text.split())


def test_a_format_that_is_smaller_and_slower(dse: Dse) -> None:
    """InternLM/lmdeploy#525 (U08), Llama-13B on an A800, 2,048 in and 512 out: fp16 runs 25 at 1,787 tokens/s, prompts
    counted, int8 35 at 1,593, though 50 would fit; at one request 228.6 against 212.8."""
    base = ("--model", "llama-2-13b", "--gpu", "a800-80", "--max-model-len", "2560", "--compare", "int8")
    wide, int8 = sized(dse, *base)["formats"]
    assert wide["running"] == pytest.approx(25, abs=1) and int8["running"] == pytest.approx(50, abs=4)
    assert int8["full_tokens_per_s"] < wide["full_tokens_per_s"] and int8["break_even"] is None
    at_35 = sized(dse, *base, "--set", "engine.max_num_seqs=35")["formats"][1]
    assert at_35["full_tokens_per_s"] / wide["full_tokens_per_s"] == pytest.approx(1593 / 1787, rel=0.2)
    alone = sized(dse, *base, "--set", "engine.max_num_seqs=1")["formats"]
    assert alone[1]["equal_tokens_per_s"] / alone[0]["equal_tokens_per_s"] == pytest.approx(212.8 / 228.6, rel=0.05)
    assert "int8: x0.79 although 46 requests run instead of 24" in " ".join(dse("size", *base).out.split())


def test_a_smaller_format_pays_where_the_pool_limits(dse: Dse) -> None:
    """vllm-project/vllm#2279, #48786 (U09): LLaMA-7B on an A100, 1,514 to 2,266 tokens/s; one at a time gains nothing."""
    base = ("--model", "llama-7b", "--gpu", "a100-40", "--max-model-len", "1024", "--compare", "fp8_e5m2")
    wide, half = sized(dse, *base)["formats"]
    assert half["full_tokens_per_s"] / wide["full_tokens_per_s"] > 1.4
    alone = sized(dse, *base, "--set", "engine.max_num_seqs=1")
    assert alone["limit"].startswith("max_num_seqs")
    one, two = alone["formats"]
    assert two["full_tokens_per_s"] / one["full_tokens_per_s"] == pytest.approx(1, abs=0.05)
    assert "the pool, limits" not in dse("size", *base).out


@pytest.mark.parametrize(("name", "reused"), [("qwen3.6-27b", 0), ("qwen3-8b", 240)])
def test_a_shared_prefix(dse: Dse, name: str, reused: int) -> None:
    """vllm-project/vllm#54607 (U10): 240 shared tokens, a block of 784 or of 16."""
    data = sized(dse, "--model", name, "--gpu", "h100-sxm", "--prefix", "240", "--max-model-len", "8192")
    assert data["prefix"] == {"tokens": 240, "reusable_tokens": reused}
    text = " ".join(dse("size", "--model", name, "--gpu", "h100-sxm", "--prefix", "240", "--max-model-len", "8192").out.split())
    assert f"of 240 shared tokens {reused} can be reused" in text


def test_terms_from_log_lines(dse: Dse) -> None:
    """vllm-project/vllm#51041 (U06): one line gives a ratio, not a rate; two give bytes per sequence and per token."""
    command = "vllm serve Qwen/Qwen3.6-27B -tp 2 --kv-cache-dtype fp8_e4m3 --max-num-seqs 3 --max-model-len"
    lengths = (7840, 131_712)  # whole blocks of 1,568
    base = ("--gpu", "rtx-3090", "--pool", "4.99GiB")
    logs = [sized(dse, *base, "--", *command.split(), str(length)) for length in lengths]
    lines = [word for log, length in zip(logs, lengths, strict=True) for word in ("--logged", f"{log['pool_tokens']}@{length}")]
    fit = dse("size", "--pool", "4.99GiB", *lines, "--json").data["fit"]
    page = 1568 * 2 * 256 * 2 * 16
    assert fit["bytes_per_token"] == pytest.approx(page / 1568, rel=0.01)
    assert fit["bytes_per_sequence"] == pytest.approx(6 * page, rel=0.01)
    ratios = [4.99 * 2**30 / log["pool_tokens"] for log in logs]
    assert ratios[0] > 2 * ratios[1], "bytes over tokens swing with the length"
    assert "explain the logged lines exactly" in " ".join(dse("size", "--pool", "4.99GiB", *lines).out.split())


def test_the_text(dse: Dse) -> None:
    command = f"{U01} --gpu-memory-utilization 0.9 --port 8000".split()
    done = dse(
        "size", "--gpu", "rtx-4090", "--tier", "dram=64GiB", "--compare", "fp8_e4m3,int8", "--prefix", "250", "--", *command
    )
    assert done.status == 0 and done.out.isascii()
    assert all(len(line) <= 80 or "://" in line for line in done.out.splitlines())
    check("size", done.out)


def test_the_text_of_a_pipeline_that_is_too_small(dse: Dse) -> None:
    done = dse("size", "--model", "deepseek-v3", "--gpu", "h200", "--tp", "4", "--pp", "2", "--concurrency", "2,64",
               "--max-model-len", "65536")  # fmt: skip
    assert done.status == 3
    assert all(len(line) <= 80 or "://" in line for line in done.out.splitlines())
    assert "binds" in done.out and "What would make it fit" in done.out
    check("size_pipeline", done.out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--gpu", "mi300x", "--", "vllm", "serve", "meta-llama/Llama-3.1-70B-Instruct"),
        ("--gpu", "b200", "--pp", "2", "--compare", "fp8_e4m3,nvfp4,kivi2", "--", "vllm", "serve", "openai/gpt-oss-120b"),
        ("--gpu", "h100-sxm", "--", "python", "-m", "sglang.launch_server", "--model", "deepseek-r1", "--tp", "8", "--pp", "2"),
        ("--model", "qwen3.5-397b-a17b", "--gpu", "h200", "--tp", "8", "--tier", "dram=2TiB", "--tier", "nvme=8TiB"),
        ("--model", "opt-175b"),
    ],
)
def test_no_line_is_wider_than_the_terminal(dse: Dse, arguments: tuple[str, ...]) -> None:
    lines = dse("size", *arguments).out.splitlines()
    assert len(lines) > 10 and all(len(line) <= 80 or "://" in line for line in lines)


def test_without_a_gpu_every_card_is_tried(dse: Dse) -> None:
    done = dse("size", "--", *U01.split())
    assert done.status == 0 and "rtx-4090" in done.out and "h100-sxm" in done.out
    data = dse("size", "--json", "--", *U01.split()).data
    assert data["gpus"]["h100-sxm"]["pool_tokens"] > data["gpus"]["t4"]["pool_tokens"] > 0


SCENARIO = """family: kv
model: llama-3.1-8b
gpu: {preset: h100-sxm, count: 2}
replicas: 2
engine: {max_num_seqs: 64}
tiers: {hbm: {capacity: 16 GiB}, dram: {preset: ddr5-host, capacity: 128 GiB},
        pooled: {preset: cxl2-x8, capacity: 256 GiB, shared: true}}
workload: chat-multi-tenant
"""


def test_a_scenario(dse: Dse, folder: Path) -> None:
    (folder / "s.yaml").write_text(SCENARIO)
    data = sized(dse, "s.yaml", "--max-model-len", "8192")
    assert data["pool_tokens"] == 2 * 131_072 and data["pools"] == 2
    assert [(t["name"], t["copies"], t["tokens"]) for t in data["tiers"]] == [("dram", 2, 2**21), ("pooled", 1, 2**21)]
    halved = sized(dse, "s.yaml", "--max-model-len", "8192", "--set", "kv_format=fp8_e4m3")
    assert halved["pool_tokens"] == 4 * 131_072


@pytest.mark.parametrize(
    "pin",
    [
        "gpu.memory=40GiB", "model.kv_heads=4", "model.params=9000000000", "kv_format.groups=2", "kv_format.default.k=q8_0",
        "tiers.dram.capacity=1GiB", "engine.block_size=96", "engine.max_num_seqs=1024", "engine.max_num_batched_tokens=32768",
        "engine.gpu_memory_utilization=0.5", "engine.family=trtllm", "engine.max_model_len=500", "parallel.tp=2", "replicas=3",
        "max_blocks=10", "weight_format=int4", "max_model_len=600",
    ],
)  # fmt: skip
def test_every_setting_moves_the_answer(dse: Dse, pin: str) -> None:
    base = ("--model", "qwen3-8b", "--gpu", "h100-sxm", "--tier", "dram=64GiB", "--set", "kv_format.groups.0.k=int8",
            "--set", "kv_format.groups.0.layers=0-3")  # fmt: skip
    if pin == "kv_format.groups=2":
        base, pin = base[:6], "kv_format.groups.1.v=int4"
    assert sized(dse, *base) != sized(dse, *base, "--set", pin)


def test_a_space_and_a_design_are_sized_by_their_base(dse: Dse, folder: Path) -> None:
    (folder / "s.yaml").write_text(SCENARIO)
    indented = "".join(f"  {line}\n" for line in SCENARIO.splitlines())
    (folder / "space.yaml").write_text(f"name: x\nscenario:\n{indented}search: {{}}\n")
    (folder / "001.yaml").write_text(
        "design: {}\nmembers:\n  one:\n" + "".join(f"  {line}\n" for line in indented.splitlines())
    )
    alone = sized(dse, "s.yaml")
    assert sized(dse, "space.yaml") == sized(dse, "001.yaml") == alone and alone["pool_tokens"] == 262_144


KEYS = """kv_bytes_per_token fixed_bytes_per_sequence pool_bytes pool_tokens pools blocks block_tokens request_tokens
    request_bytes max_sequences running longest_tokens window_bounds fits excess_bytes limit stages concurrency tiers levers
    formats prefix fit working notes ignored unknown"""


def test_the_json_object_is_as_documented(dse: Dse) -> None:
    data = sized(dse, "--model", "qwen3-8b", "--gpu", "h100-sxm", "--concurrency", "3", "--tier", "cxl=64GiB")
    assert list(data) == KEYS.split()
    text = (Path(__file__).parents[3] / "docs" / "size.md").read_text()
    assert all(f"`{key}`" in text for key in data)
    assert all(set(term) == {"name", "value", "unit", "how", "source"} for term in data["working"])
    assert data["concurrency"][0]["requests"] == 3 and data["tiers"][0]["name"] == "cxl"


def test_data_parallel_ranks_have_a_pool_each(dse: Dse) -> None:
    data = sized(dse, "--model", "deepseek-v3", "--gpu", "h200", "--dp", "8", "--ep", "--max-model-len", "32768")
    assert data["pools"] == 8 and len(data["stages"]) == 1
    assert data["kv_bytes_per_token"] == 70_272


def test_requests_are_spread_over_the_pools(dse: Dse) -> None:
    base = ("--model", "deepseek-v3", "--gpu", "h200", "--dp", "8", "--ep", "--max-model-len", "32768")
    runs = sized(dse, *base)["running"]
    assert runs > 1
    fits = dse("size", *base, "--concurrency", str(8 * runs))
    assert fits.status == 0 and "per pool" in fits.out and "over 8 pools" in fits.out
    assert dse("size", *base, "--concurrency", str(8 * runs + 1)).status == 3


def test_a_number_of_requests_that_fits_nowhere(dse: Dse) -> None:
    assert dse("size", "--model", "qwen3-8b", "--concurrency", "2").status == 0
    assert dse("size", "--model", "qwen3-8b", "--concurrency", "100000").status == 3


def test_what_the_reader_is_told(dse: Dse) -> None:
    done = dse("size", "--gpu", "t4", "--", "vllm", "serve", "Qwen/Qwen3-1.7B", "--rope-scaling", "{}", "--hf-overrides", "{}")
    text = " ".join(done.out.split())
    assert "--rope-scaling is not applied" in text and "--hf-overrides is not applied" in text and "no bf16" in text
    assert "no bf16" not in dse("size", "--model", "qwen3-1.7b", "--gpu", "rtx-4090").out


def test_a_host_cache_in_proportion(dse: Dse) -> None:
    command = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-ratio 2"
    data = sized(dse, "--gpu", "h100-sxm", "--", *command.split())
    assert data["tiers"][0]["tokens"] == pytest.approx(2 * data["pool_tokens"], abs=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("size",), "--model: is required"),
        (("size", "--model", "qwen3-9b"), "--model: is no model preset and no config.json; got qwen3-9b"),
        (("size", "--model", "qwen3-8b", "--gpu", "h101"), "--gpu: unknown GPU preset; got h101"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--tp", "3"), "--tp: must divide the 32 query heads"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--kv-format", "fp9"), "--kv-format: unknown KV format; got fp9"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--concurrency", "5,x"), "--concurrency: must be whole numbers"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--max-model-len", "1M"), "--max-model-len: must not exceed"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--tier", "ram=4GiB"), "--tier: must be NAME=CAPACITY"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--pool", "12"), "--pool: needs a unit"),
        (
            ("size", "--model", "qwen3-8b", "--gpu", "t4", "--set", "engine.load=never"),
            "--set engine.load: has no meaning for size",
        ),
        (("size", "--model", "qwen3-8b", "--gpu", "t4", "--set", "workload.seed=3"), "workload: unknown key"),
        (("size", "--model", "qwen3-8b", "--gpu", "t4", "--set", "model.kv_heads=5"), "--set model.kv_heads: must divide"),
        (("size", "--pool", "7.7GiB", "--logged", "150000@121344"), "--logged: must be of two or more lengths"),
        (("size", "--logged", "150000@121344"), "--pool: is required with --logged"),
        (("size", "--pool", "7.7GiB", "--logged", "many"), "--logged: must be TOKENS@LENGTH; got many"),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--compare", "fp9"), "--compare: unknown KV format"),
        (("size", "--model", "qwen3-8b", "--gpu", "t4", "--compare", ","), "--compare: must be names of KV formats"),
        (("size", "--model", "qwen3-8b", "--gpu", "t4", "--compare", ""), "--compare: must be names of KV formats"),
        (("size", "--model", "qwen3-8b", "--gpu", "t4", "--compare", "bf16,bf16"), "--compare: is there twice; got bf16"),
        (("size", "--model", "qwen3-8b", "--gpu", "t4", "--concurrency", "1,1"), "--concurrency: has a number twice"),
        (
            ("size", "--model", "qwen3-8b", "--gpu", "t4", "--tier", "dram=1GiB", "--tier", "dram=2GiB"),
            "--tier: is there twice; got dram",
        ),
        (("size", "--model", "qwen3-8b", "--gpu", "h100-sxm", "--prefix", "50000"), "--prefix: must not exceed the 40960"),
        (("size", "--model", "qwen3-8b", "--prefix", "50"), "--prefix: needs one kind of GPU"),
        (("size", "--model", "qwen3-8b", "--compare", "int8"), "--compare: needs one kind of GPU"),
        (("size", "--model", "qwen3-8b", "--tier", "dram=1GiB"), "--tier: needs one kind of GPU"),
        (("size", "--gpu", "t4", "--", "vllm", "serve", "Qwen/Qwen3-8B", "--swap-space", "-4"), "--swap-space: must be within"),
        (("size", "s.yaml", "--gpu", "h100-sxm"), "--gpu: is in the scenario already"),
        (("size", "--gpu", "t4", "--", "vllm", "serve", "Qwen/Qwen3-8B", "-tp", "7"), "--tensor-parallel-size: must divide"),
    ],
)
def test_mistakes(dse: Dse, arguments: tuple[str, ...], message: str) -> None:
    done = dse(*arguments)
    assert done.status == 2 and message in done.err and done.err.count("\n") == 1


def test_unknown_flags_are_warned_of(dse: Dse) -> None:
    done = dse("size", "--gpu", "rtx-4090", "--", *U01.split(), "--max-modl-len", "5")
    assert "vllm is not known to have --max-modl-len (did you mean --max-model-len?); it is left out" in done.err


def test_flags_behind_two_dashes_are_the_engines(dse: Dse) -> None:
    """A pasted command may have a -v or a --json of its own."""
    done = dse("size", "--gpu", "rtx-4090", "--", *U01.split(), "--json", "-v")
    assert not done.out.lstrip().startswith("{")
