"""Pasted launch commands: what they set, what they leave out, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dse.launch import sglang, vllm
from dse.launch.command import is_command, read_command
from dse.launch.flags import amount, whole
from dse.launch.models import find_model
from simcore.errors import InputError
from simcore.units import GIB

H100 = {"name": "H100 SXM 80 GB", "memory_bytes": 79 * GIB}
RTX = {"name": "GeForce RTX 4090 24 GB", "memory_bytes": 24 * GIB}
DENSE: dict[str, Any] = {"max_model_len": 40_960, "dtype": "bf16"}
MIXTURE = {**DENSE, "experts": 128}


def read(text: str, gpu: dict[str, Any] = RTX, model: dict[str, Any] = DENSE) -> dict[str, Any]:
    """The data of a command with the engine's defaults."""
    launch, environment = read_command([text])
    {"vllm": vllm, "sglang": sglang}[launch.engine].finish(launch, gpu, model, environment)
    return launch.data


def test_a_vllm_command() -> None:
    launch, _ = read_command(
        [
            """CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-1.7B --tensor-parallel-size 2 -pp=2 \\
           --gpu_memory_utilization 0.85 --max-model-len 32k --max-num-seqs 16 --kv-cache-dtype fp8 \\
           --enable-expert-parallel --block-size 32 \\
           --kv-cache-memory-bytes 4G --port 8000 --trust-remote-code --frobnicate 7 --gpu-memory-utilisation 0.5"""
        ]
    )
    assert (launch.engine, launch.model) == ("vllm", "Qwen/Qwen3-1.7B")
    assert launch.data == {
        "parallel": {"tp": 2, "pp": 2, "ep": True},
        "engine": {"gpu_memory_utilization": 0.85, "max_num_seqs": 16, "block_size": 32},
        "max_model_len": 32_000,
        "kv_format": "fp8_e4m3",
        "pool_bytes": 4 * GIB,
    }
    assert launch.ignored == ["--port", "--trust-remote-code"]
    assert launch.unknown == ["--frobnicate", "--gpu-memory-utilisation (did you mean --gpu-memory-utilization?)"]
    assert launch.flags["max_model_len"] == "--max-model-len"


@pytest.mark.parametrize(
    ("gpu", "seqs", "tokens"),
    [(RTX, 256, 2048), (H100, 1024, 8192), ({"name": "A100 SXM 80 GB", "memory_bytes": 80 * GIB}, 256, 2048)],
)
def test_defaults_of_vllm_depend_on_the_gpu(gpu: dict[str, Any], seqs: int, tokens: int) -> None:
    """vllm/engine/arg_utils.py: from 70 GiB on, A100 apart, 1,024 sequences and 8,192 tokens."""
    engine = read("vllm serve m", gpu)["engine"]
    assert (engine["max_num_seqs"], engine["max_num_batched_tokens"]) == (seqs, tokens)
    assert engine["gpu_memory_utilization"] == 0.9


def test_a_step_is_no_longer_than_all_requests() -> None:
    assert read("vllm serve m --max-model-len 1024 --max-num-seqs 1")["engine"]["max_num_batched_tokens"] == 1024


def test_data_parallel_ranks_of_a_dense_model_are_replicas() -> None:
    assert read("vllm serve m -dp 4")["replicas"] == 4
    assert read("vllm serve m -dp 4", model=MIXTURE)["parallel"] == {"dp": 4}


@pytest.mark.parametrize(
    ("flags", "kv", "weights"),
    [
        ("--dtype float16", "f16", "f16"),
        ("--dtype half --kv-cache-dtype fp8_e5m2", "fp8_e5m2", "f16"),
        ("--kv-cache-dtype auto -q fp8", None, "fp8"),
        ("--quantization awq_marlin", None, "int4"),
    ],
)
def test_number_formats(flags: str, kv: str | None, weights: str) -> None:
    data = read(f"vllm serve m {flags}")
    assert (data.get("kv_format"), data["weight_format"]) == (kv, weights)


def test_stores_below_hbm() -> None:
    tiers = read("vllm serve m --kv-offloading-size 64 --kv-offloading-backend native")["tiers"]
    assert tiers == {"dram": {"preset": "ddr5-host", "capacity": f"{64 * GIB} B"}}
    cached = read(
        "LMCACHE_MAX_LOCAL_CPU_SIZE=20 LMCACHE_MAX_LOCAL_DISK_SIZE=100 vllm serve m -tp 2 "
        '--kv-transfer-config \'{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}\''
    )["tiers"]
    assert {name: tier["capacity"] for name, tier in cached.items()} == {
        "dram": f"{40 * GIB} B", "nvme": f"{200 * GIB} B",
    }  # fmt: skip


def test_a_sglang_command() -> None:
    data = read(
        "python3 -m sglang.launch_server --model Qwen/Qwen3-8B --tp 8 --mem-fraction-static 0.8 --page-size 64 "
        "--context-length 32768 --max-total-tokens 640000 --chunked-prefill-size 4096 --max-running-requests 64"
    )
    assert data == {
        "parallel": {"tp": 8},
        "engine": {
            "gpu_memory_utilization": 0.8, "block_size": 64, "family": "sglang", "state_pages": "separate",
            "max_num_batched_tokens": 4096, "max_num_seqs": 64,
        },
        "max_model_len": 32_768,
        "max_blocks": 10_000,
    }  # fmt: skip


def test_defaults_of_sglang() -> None:
    """sglang/srt/server_args.py: 512 + 1.5 x 8192 + 2 x 256 + 1/8 x 1024 MiB are left to activations and graphs."""
    engine = read("python -m sglang.launch_server --model-path m", H100)["engine"]
    assert engine["max_num_batched_tokens"] == 8192
    assert engine["gpu_memory_utilization"] == pytest.approx(1 - (512 + 12_288 + 512 + 128) / (79 * 1024), abs=6e-4)


def test_the_static_share_of_other_cards() -> None:
    """RTX 4090, 24,564 MiB: 512 + 1.5 x 2048 + 2 x 24 + 128 = 3,760 MiB are left, a share of 0.847; with data-parallel
    attention over eight H100 (graphs to 512) 512 + 12,288 + 1,024 + 1,024 + 4.5 x 512 x 8 MiB."""
    text = "python -m sglang.launch_server --model-path m"
    rtx = {"name": "GeForce RTX 4090", "memory_bytes": 24_564 * 2**20}
    assert read(text, rtx)["engine"]["gpu_memory_utilization"] == 0.847
    spread = read(f"{text} --tp 8 --dp 8 --enable-dp-attention", H100, MIXTURE)["engine"]["gpu_memory_utilization"]
    assert spread == pytest.approx(1 - (512 + 12_288 + 1024 + 1024 + 4.5 * 512 * 8) / (79 * 1024), abs=6e-4)


def test_a_host_cache_in_decimal_gigabytes() -> None:
    data = read("python -m sglang.launch_server --model-path m --tp 2 --enable-hierarchical-cache --hicache-size 30")
    assert data["tiers"]["dram"]["capacity"] == "60000000000 B"


def test_data_parallel_attention_divides_the_tensor_parallel_gpus() -> None:
    text = "python -m sglang.launch_server --model-path m --tp 8 --dp 8"
    assert read(f"{text} --enable-dp-attention --ep 8", model=MIXTURE)["parallel"] == {"tp": 1, "dp": 8, "ep": True}
    assert read(text)["replicas"] == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vllm serve m --max-model-len", "--max-model-len: needs a value"),
        ("vllm serve m --max-model-len many", "--max-model-len: must be a whole number of at least 1; got many"),
        ("vllm serve m --gpu-memory-utilization 90", "--gpu-memory-utilization: must be within 1e-06 and 1; got 90"),
        ("vllm serve m --kv-cache-dtype fp9", "unknown KV cache format; got fp9. Did you mean fp8?"),
        ("vllm serve m extra", "command: stands alone"),
        ("vllm serve m --cpu-offload-gb 10", "weights in host memory are not modelled"),
        ("vllm serve m --kv-transfer-config LMCache", "must be a JSON object"),
        ("lmdeploy serve api_server m", "is no launch command of a known engine"),
        ("vllm serve 'm", "cannot be read: No closing quotation"),
    ],
)
def test_commands_that_cannot_be(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace("?", r"\?").replace(".", r"\.")):
        read_command([text])


def test_what_is_a_command() -> None:
    assert is_command(["vllm", "serve", "m"]) and is_command(["A=1 python -m sglang.launch_server"])
    assert is_command(["llama-server"]) and not is_command(["scenario.yaml"])


@pytest.mark.parametrize(
    ("name", "preset", "weights"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "qwen2.5-7b", "int8"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b", None),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "llama-3.1-70b", "int4"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8"),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", "llama-3.1-70b", "int8"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b", "fp8"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b", None),
        ("openai/gpt-oss-120b", "gpt-oss-120b", None),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1", None),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-3-nano-30b-a3b", None),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "qwen3-next-80b-a3b", None),
        ("qwen3-8b", "qwen3-8b", None),
    ],
)
def test_ids_of_a_hub(tmp_path: Any, name: str, preset: str, weights: str | None) -> None:
    assert find_model(name, tmp_path) == (preset, weights)


def test_a_model_of_another_shape_is_not_mistaken(tmp_path: Any) -> None:
    with pytest.raises(
        InputError, match=r"is no model preset and no config\.json; got deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"
    ):
        find_model("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", tmp_path)
    (tmp_path / "mine").mkdir()
    assert find_model("mine", tmp_path) == (str(tmp_path / "mine"), None)


def test_numbers_as_engines_write_them() -> None:
    assert [whole(t) for t in ("32768", "32k", "32K", "1.5k", "1_024")] == [32_768, 32_000, 32_768, 1500, 1024]
    assert amount("24GiB") == amount("24G") == 24 * GIB
