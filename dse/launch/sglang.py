"""Flags of `python -m sglang.launch_server`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.launch import vllm
from dse.launch.flags import Flag, Launch, number, sets, setting, share, switch, whole
from simcore.units import GIB, MIB

CHUNKS = ((35, 2048), (60, 4096), (160, 8192), (float("inf"), 16384))
"""Prefill chunk by GPU memory below so many GiB (sglang/srt/server_args.py)."""
GRAPHS = ((35, 24, 80), (60, 32, 160), (90, 256, 512), (float("inf"), 256, 512))
"""Largest batch of the CUDA graphs, below and from 4 tensor-parallel GPUs."""


def _model(launch: Launch, flag: str, value: str) -> None:
    launch.model = value


FLAGS: dict[str, Flag] = {
    "--model-path": Flag(_model),
    "--mem-fraction-static": sets("engine.gpu_memory_utilization", share),
    "--page-size": sets("engine.block_size", whole),
    "--max-total-tokens": setting("max_total_tokens", whole),
    "--context-length": sets("max_model_len", whole),
    "--chunked-prefill-size": setting("chunk", lambda text: -1 if text == "-1" else whole(text)),
    "--max-running-requests": sets("engine.max_num_seqs", whole),
    "--max-prefill-tokens": setting("prefill", whole),
    "--cuda-graph-max-bs": setting("graphs", whole),
    "--kv-cache-dtype": vllm.kv_format,
    "--dtype": vllm.dtype,
    "--quantization": vllm.weight_format,
    "--tp-size": sets("parallel.tp", whole),
    "--pp-size": sets("parallel.pp", whole),
    "--dp-size": setting("dp", whole),
    "--ep-size": setting("ep", whole),
    "--enable-dp-attention": Flag(lambda launch, flag, value: launch.settings.update(dp_attention=True), switch=True),
    "--disable-radix-cache": switch(lambda launch: launch.put("engine.states_per_sequence", 1, "--disable-radix-cache")),
    "--enable-hierarchical-cache": Flag(lambda launch, flag, value: launch.settings.update(hicache=flag), switch=True),
    "--hicache-ratio": setting("hicache_ratio", lambda text: number(text, 0, 1e6)),
    "--hicache-size": setting("hicache_size", lambda text: round(number(text, 0, 1e9) * 1e9)),  # decimal GB, as it counts
    "--json-model-override-args": Flag(vllm.changes_context),
    "--speculative-algorithm": Flag(
        lambda launch, flag, value: launch.notes.append(f"{flag}: the draft's weights and cache are not counted.")
    ),
}
ALIASES = {
    "--model": "--model-path", "--tp": "--tp-size", "--tensor-parallel-size": "--tp-size", "--pp": "--pp-size",
    "--pipeline-parallel-size": "--pp-size", "--dp": "--dp-size", "--data-parallel-size": "--dp-size",
    "--ep": "--ep-size", "--expert-parallel-size": "--ep-size",
}  # fmt: skip
IGNORED = {
    "valued": """--host --port --served-model-name --api-key --tokenizer-path --tokenizer-mode --chat-template
        --tool-call-parser --reasoning-parser --download-dir --random-seed --log-level --load-format --revision
        --attention-backend --sampling-backend --grammar-backend --schedule-policy --schedule-conservativeness
        --hicache-write-policy --hicache-io-backend --hicache-mem-layout --hicache-storage-backend
        --hicache-storage-prefetch-policy --hicache-storage-backend-extra-config --radix-eviction-policy
        --dist-init-addr --nnodes --node-rank --watchdog-timeout --stream-interval --cuda-graph-bs
        --moe-a2a-backend --moe-runner-backend --deepep-mode --load-balance-method --speculative-num-steps
        --speculative-eagle-topk --speculative-num-draft-tokens --speculative-draft-model-path --mamba-ssm-dtype
        --mamba-scheduler-strategy --base-gpu-id --kv-events-config --disaggregation-mode
        --disaggregation-transfer-backend --disaggregation-ib-device --fp8-gemm-backend""",
    "switch": """--trust-remote-code --enable-metrics --enable-cache-report --enable-torch-compile --disable-cuda-graph
        --enable-mixed-chunk --disable-overlap-schedule --enable-p2p-check --log-requests --skip-server-warmup
        --enable-multimodal --disable-custom-all-reduce --enable-nccl-nvls --enable-flashinfer-allreduce-fusion
        --skip-tokenizer-init --enable-two-batch-overlap --enable-eplb""",
}


def start(words: list[str]) -> list[str] | None:
    """The words after the engine's name; None when this is no command of SGLang."""
    if words[:2] == ["sglang", "serve"]:
        return words[2:]
    for position, word in enumerate(words[:4]):
        if word == "-m" and len(words) > position + 1 and words[position + 1] == "sglang.launch_server":
            return words[position + 2 :]
    return None


def finish(launch: Launch, gpu: Mapping[str, Any], model: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """What the engine decides by itself: prefill chunk, static share, page, state pool; its host cache."""
    launch.put("engine.family", "sglang", "the command")
    launch.put("engine.state_pages", "separate", "the command")
    _parallel(launch, model)
    memory = gpu["memory_bytes"]
    chunk = launch.settings.get("chunk") or next(tokens for below, tokens in CHUNKS if memory < below * GIB)
    step = launch.settings.get("prefill", 16384) if chunk == -1 else chunk
    launch.put("engine.max_num_batched_tokens", step, launch.flags.get("chunk", "default of SGLang"))
    _default(launch, "engine.max_num_seqs", min(256, step))
    _default(launch, "engine.block_size", 1)
    _default(launch, "engine.gpu_memory_utilization", _static_share(launch, memory, step))
    limit = launch.settings.get("max_total_tokens")
    if limit:
        launch.put("max_blocks", max(1, limit // launch.get("engine.block_size")), launch.flags["max_total_tokens"])
    if "dtype" in launch.settings:
        launch.put("kv_format", launch.get("kv_format", launch.settings["dtype"]), launch.flags["dtype"])
    if "hicache" in launch.settings:
        _host_cache(launch)


def _default(launch: Launch, path: str, value: Any) -> None:
    if launch.get(path) is None:
        launch.put(path, value, "default of SGLang")


def _parallel(launch: Launch, model: Mapping[str, Any]) -> None:
    """With data-parallel attention the ranks divide the tensor-parallel GPUs; without it they are replicas."""
    if launch.settings.get("ep", 1) > 1:
        launch.put("parallel.ep", True, launch.flags["ep"])
    ranks = launch.settings.get("dp", 1)
    if launch.settings.get("dp_attention"):
        launch.settings["tp"] = launch.get("parallel.tp", 1)
        launch.put("parallel.tp", max(1, launch.settings["tp"] // ranks), "--enable-dp-attention")
        launch.put("parallel.dp", ranks, "--enable-dp-attention")
    elif ranks > 1:
        launch.put("replicas", ranks, launch.flags["dp"])


def _static_share(launch: Launch, memory: int, step: int) -> float:
    """What the engine leaves for activations (1.5 MiB a token), graphs (2 MiB a sequence, more with data-parallel attention)
    and communication; at least 10 GiB on cards above 60 GiB (`_handle_gpu_memory_settings` in sglang/srt/server_args.py)."""
    tp, pp = launch.get("parallel.tp", 1), launch.get("parallel.pp", 1)
    small, large = next((a, b) for below, a, b in GRAPHS if memory < below * GIB)
    graphs = launch.settings.get("graphs") or (small if launch.settings.get("tp", tp) < 4 else large)
    reserved: float = 512 + 1.5 * max(step, 2048) + 2 * graphs + launch.settings.get("tp", tp) * pp / 8 * 1024
    if launch.settings.get("dp_attention"):
        reserved += graphs * launch.settings.get("dp", 1) * (3 if graphs <= 300 else 4.5)
    if memory > 60 * GIB:
        reserved = max(reserved, 10 * 1024)
    return float(max(0.05, round(1 - reserved * MIB / memory, 3)))


def _host_cache(launch: Launch) -> None:
    """`--hicache-size` GB for each rank; otherwise a ratio to the pool, which is known once that is sized."""
    ranks = launch.get("parallel.tp", 1) * launch.get("parallel.pp", 1)
    given = launch.settings.get("hicache_size", 0)
    if given:
        tier = {"preset": "ddr5-host", "capacity": f"{given * ranks} B"}
        launch.put("tiers.dram", tier, launch.flags["hicache_size"])
    else:
        launch.settings.setdefault("hicache_ratio", 2.0)
