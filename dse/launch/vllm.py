"""Flags of `vllm serve` (and of `python -m vllm.entrypoints.openai.api_server`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dse.launch.flags import Flag, Launch, amount, gibibytes, sets, setting, share, switch, whole
from simcore.errors import InputError, did_you_mean
from simcore.units import GIB

KV_FORMATS = {
    "auto": None, "bfloat16": "bf16", "float16": "f16", "half": "f16", "fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2", "fp8_inc": "fp8_e4m3", "fp8_ds_mla": "fp8_ds_mla", "nvfp4": "nvfp4", "int8": "int8",
    "int8_per_token_head": "int8", "int4": "int4", "int4_per_token_head": "int4", "fp4_e2m1": "nvfp4",
}  # fmt: skip
DTYPES = {
    "auto": None, "bfloat16": "bf16", "float16": "f16", "half": "f16", "float32": "f32", "float": "f32",
}  # fmt: skip
WEIGHTS = {
    "fp8": "fp8", "fbgemm_fp8": "fp8", "modelopt": "fp8", "modelopt_fp8": "fp8", "modelopt_fp4": "nvfp4", "nvfp4": "nvfp4",
    "awq": "int4", "awq_marlin": "int4", "gptq_marlin": None, "gptq": None, "bitsandbytes": "int4", "mxfp4": "mxfp4",
    "compressed-tensors": None, "w8a8_int8": "int8", "w8a8_fp8": "fp8", "int8": "int8", "int4": "int4",
}  # fmt: skip
DEFAULTS = {"engine.gpu_memory_utilization": 0.9, "engine.block_size": 16}
"""Of the releases that most people run; the newest code has 0.92 (vllm/config/cache.py)."""


def _named(path: str, names: Mapping[str, str | None], what: str) -> Flag:
    def act(launch: Launch, flag: str, value: str) -> None:
        if value not in names:
            raise InputError(f"unknown {what}", value=value, hint=did_you_mean(value, names))
        if names[value] is not None:
            launch.put(path, names[value], flag)

    return Flag(act)


kv_format = _named("kv_format", KV_FORMATS, "KV cache format")
weight_format = _named("weight_format", WEIGHTS, "quantisation")


def _dtype(launch: Launch, flag: str, value: str) -> None:
    if value not in DTYPES:
        raise InputError("unknown number format", value=value, hint=did_you_mean(value, DTYPES))
    if DTYPES[value] is not None:
        launch.settings["dtype"] = DTYPES[value]
        launch.flags["dtype"] = flag


dtype = Flag(_dtype)


def _longest(launch: Launch, flag: str, value: str) -> None:
    if value not in ("auto", "-1"):
        launch.put("max_model_len", whole(value), flag)
    else:
        launch.notes.append(f"{flag} {value}: the engine takes the longest that fits; sized at the model's own limit.")


def _offload(launch: Launch, flag: str, value: str) -> None:
    """GiB of host memory over all tensor-parallel ranks."""
    launch.put("tiers.dram", {"preset": "ddr5-host", "capacity": f"{gibibytes(value)} B"}, flag)


def _transfer(launch: Launch, flag: str, value: str) -> None:
    try:
        named = json.loads(value).get("kv_connector")
    except (ValueError, AttributeError):
        raise InputError("must be a JSON object", value=value) from None
    launch.settings["connector"] = named
    if "LMCache" not in str(named):
        launch.notes.append(f"{flag}: the size of {named}'s store is not in the command; give --tier dram=64GiB.")


def _ring(launch: Launch) -> None:
    launch.notes.append("--disable-hybrid-kv-cache-manager: sliding-window layers at full length, as sized here.")


def _states(launch: Launch, keep: int, flag: str) -> None:
    launch.put("engine.states_per_sequence", keep, flag)


def _caching(launch: Launch, flag: str, value: str) -> None:
    _states(launch, 1 if flag.startswith("--no-") else 2, flag)


def _speculative(launch: Launch, flag: str, value: str) -> None:
    launch.notes.append(f"{flag}: the draft model's weights and cache are not counted.")


def _cpu_offload(launch: Launch, flag: str, value: str) -> None:
    if gibibytes(value):
        raise InputError("weights in host memory are not modelled", value=value, hint=f"leave {flag} out")


def _swap(launch: Launch, flag: str, value: str) -> None:
    gibibytes(value)  # refuses what is no size
    launch.ignored.append(flag)


def changes_context(launch: Launch, flag: str, value: str) -> None:
    """The model as configured anew is not read: the reader is told."""
    hint = "for another one give --model the path of a config.json"
    launch.notes.append(f"{flag} is not applied: sized with the model's own configuration and context; {hint}.")


FLAGS: dict[str, Flag] = {
    "--gpu-memory-utilization": sets("engine.gpu_memory_utilization", share),
    "--max-model-len": Flag(_longest),
    "--max-num-seqs": sets("engine.max_num_seqs", whole),
    "--max-num-batched-tokens": sets("engine.max_num_batched_tokens", whole),
    "--block-size": sets("engine.block_size", whole),
    "--kv-cache-dtype": kv_format,
    "--num-gpu-blocks-override": sets("max_blocks", whole),
    "--kv-cache-memory-bytes": sets("pool_bytes", amount),
    "--kv-cache-memory": sets("pool_bytes", amount),
    "--tensor-parallel-size": sets("parallel.tp", whole),
    "--pipeline-parallel-size": sets("parallel.pp", whole),
    "--data-parallel-size": setting("dp", whole),
    "--enable-expert-parallel": switch(lambda launch: launch.put("parallel.ep", True, "--enable-expert-parallel")),
    "--enable-prefix-caching": Flag(_caching, switch=True),
    "--no-enable-prefix-caching": Flag(_caching, switch=True),
    "--kv-offloading-size": Flag(_offload),
    "--dtype": dtype,
    "--quantization": weight_format,
    "--disable-hybrid-kv-cache-manager": switch(_ring),
    "--kv-transfer-config": Flag(_transfer),
    "--speculative-config": Flag(_speculative),
    "--cpu-offload-gb": Flag(_cpu_offload),
    "--swap-space": Flag(_swap),
    "--rope-scaling": Flag(changes_context),
    "--hf-overrides": Flag(changes_context),
    "--model": Flag(lambda launch, flag, value: setattr(launch, "model", value)),
}
ALIASES = {"-tp": "--tensor-parallel-size", "-pp": "--pipeline-parallel-size", "-dp": "--data-parallel-size",
           "-q": "--quantization", "-O": "--compilation-config", "-cc": "--compilation-config"}  # fmt: skip
IGNORED = {
    "valued": """--host --port --served-model-name --api-key --tokenizer --tokenizer-mode --chat-template
        --chat-template-content-format --tool-call-parser --reasoning-parser --download-dir --seed --uvicorn-log-level
        --generation-config --load-format --revision --code-revision --tokenizer-revision --hf-config-path --config-format
        --preemption-mode --limit-mm-per-prompt --mm-processor-cache-gb --mm-processor-kwargs
        --kv-offloading-backend --prefix-caching-hash-algo --scheduling-policy --distributed-executor-backend
        --compilation-config --max-log-len --max-logprobs --rope-theta --lora-modules
        --max-loras --max-lora-rank --attention-backend --response-role --root-path --ssl-keyfile --ssl-certfile
        --otlp-traces-endpoint --override-generation-config --guided-decoding-backend --max-seq-len-to-capture
        --long-prefill-token-threshold --max-num-partial-prefills --data-parallel-address --data-parallel-rpc-port
        --data-parallel-size-local --data-parallel-start-rank --data-parallel-backend --stream-interval
        --api-server-count --num-scheduler-steps --mamba-cache-mode --task --runner --allowed-origins
        --default-chat-template-kwargs --model-loader-extra-config --gdn-prefill-backend --middleware""",
    "switch": """--trust-remote-code --enable-auto-tool-choice --enable-chunked-prefill --no-enable-chunked-prefill
        --disable-log-requests --disable-log-stats --enforce-eager --enable-lora --disable-custom-all-reduce
        --enable-prompt-tokens-details --enable-reasoning --async-scheduling --no-async-scheduling
        --enable-sleep-mode --disable-uvicorn-access-log --enable-eplb --enable-dbo --language-model-only
        --disable-frontend-multiprocessing --return-tokens-as-token-ids --enable-log-requests --use-v2-block-manager""",
}


def start(words: list[str]) -> list[str] | None:
    """The words after the engine's name; None when this is no command of vLLM."""
    if words[:2] == ["vllm", "serve"]:
        return words[2:]
    for position, word in enumerate(words[:4]):
        if word == "-m" and len(words) > position + 1 and words[position + 1].startswith("vllm.entrypoints"):
            return words[position + 2 :]
    return None


def finish(launch: Launch, gpu: Mapping[str, Any], model: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """What the engine decides by itself: step sizes by GPU, replicas of a dense model, number formats."""
    large = gpu["memory_bytes"] >= 70 * GIB and "a100" not in gpu["name"].lower()
    seqs = _default(launch, "engine.max_num_seqs", 1024 if large else 256)
    tokens = 8192 if large else 2048
    length = launch.get("max_model_len") or model["max_model_len"]
    _default(launch, "engine.max_num_batched_tokens", max(seqs, min(tokens, seqs * length)))
    for path, value in DEFAULTS.items():
        _default(launch, path, value)
    data_parallel(launch, model)
    if "dtype" in launch.settings:
        launch.put("kv_format", launch.get("kv_format", launch.settings["dtype"]), launch.flags["dtype"])
        if model.get("dtype", "bf16") in ("bf16", "f16", "f32"):
            launch.put("weight_format", launch.get("weight_format", launch.settings["dtype"]), launch.flags["dtype"])
    if "LMCache" in str(launch.settings.get("connector")) or "LMCACHE_MAX_LOCAL_CPU_SIZE" in environment:
        _lmcache(launch, environment)


def _default(launch: Launch, path: str, value: Any) -> Any:
    if launch.get(path) is None:
        launch.put(path, value, "default of vLLM")
    return launch.get(path)


def data_parallel(launch: Launch, model: Mapping[str, Any]) -> None:
    """Data-parallel ranks of a mixture share its experts; those of a dense model are replicas."""
    ranks = launch.settings.get("dp", 1)
    if ranks > 1:
        launch.put("parallel.dp" if model.get("experts") else "replicas", ranks, launch.flags["dp"])


def _lmcache(launch: Launch, environment: Mapping[str, str]) -> None:
    """LMCache's local stores: 5 GB of host memory unless it is told otherwise, for each worker."""
    ranks = launch.get("parallel.tp", 1) * launch.get("parallel.pp", 1)
    name = "LMCACHE_MAX_LOCAL_CPU_SIZE"
    capacity = gibibytes(environment.get(name, "5")) * ranks
    launch.put("tiers.dram", {"preset": "ddr5-host", "capacity": f"{capacity} B"}, name)
    disk = environment.get("LMCACHE_MAX_LOCAL_DISK_SIZE")
    if disk is not None:
        tier = {"preset": "nvme-gen4", "capacity": f"{gibibytes(disk) * ranks} B"}
        launch.put("tiers.nvme", tier, "LMCACHE_MAX_LOCAL_DISK_SIZE")
