"""The serving engine's knobs, in the words of the engines themselves."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from simcore.specs.base import Bytes, Seconds, Spec

Positive = Annotated[int, Field(ge=1)]


class EngineSpec(Spec):
    """How a replica schedules and where it keeps blocks.

    Args:
        family: whose calibrated step-time constants to use ("vllm", "trtllm", "sglang", or the name of a set of
            constants); a pair of GPU and family without a fit uses the typical values.
        max_num_seqs: most sequences in a step; also bounds the logits the GPU must hold.
        max_num_batched_tokens: most tokens in a step (prefill chunks plus one per decoding sequence); also bounds the
            activations the GPU must hold.
        block_size: tokens of a KV block, the unit of allocation, reuse and copying.
        chunked_prefill: a prompt may be split over steps and share them with decoding; otherwise prompts go first,
            whole.
        max_model_len: longest request, prompt and output together; longer ones are rejected and counted, as engines do. Absent:
            the model's, and a workload that exceeds it is refused.
        stream_interval: tokens of a packet to the client; time to first token is that of the first packet.
        scheduling: "fcfs", or "priority": waiting requests in order of their tenant's priority (the lowest number first),
            then of arrival; preemption strikes the highest number first. As in vLLM, a waiting request never displaces a
            running one.
        tenant_priority: of "priority": entry t is that of tenant t; tenants beyond it have 0.
        preemption_victim: who is preempted when memory runs out (under "priority": among the highest numbers): the request
            "last_admitted", or the one with the "least_computed" tokens.
        preemption: "recompute" gives the KV of a preempted request up; "swap" moves it over the host link to `swap_space` and
            back, if it fits there whole and the request was decoding, else it is recomputed.
        swap_space_bytes: of "swap": host memory of a replica for it (vLLM's `--swap-space`, 4 GiB). In no price.
        reserve: "none" admits a request when its prompt fits (vLLM, SGLang), and preempts when outputs outgrow the memory;
            "output" only when all its tokens and those of all running requests fit, so nothing is ever preempted
            (TensorRT-LLM's GUARANTEED_NO_EVICT).
        allocation: how a request gets its memory. "paged": in blocks, as it grows. Else the baselines of the study that
            introduced paging (arXiv 2309.06180): one contiguous region from a buddy allocator, on admission, for
            `max_model_len` tokens ("max"), for prompt and output rounded up to a power of two ("pow2"), or for its exact
            length ("oracle"); nothing is then shared, reused or preempted, and there is no tier below HBM.
        draft_tokens: k tokens a draft model proposes for each decoding sequence and step, verified in it (the step computes
            k + 1 tokens for each); 0: no speculative decoding.
        acceptance_rate: share a of proposed tokens that are accepted; a step then yields (1 - a^(k+1)) / (1 - a) tokens of a
            sequence, the mean of arXiv 2211.17192 (equation 1), without its spread.
        draft_cost: time of one pass of the draft as a share of a step of the target; k of them precede each step.
        load: what to do with a prefix found below HBM: "always" load, "never" (recompute), "cheaper" of the two by
            estimate, or "threshold": load when at least `min_load_tokens` can be had and at most `max_waiting` requests wait
            or load, this one counted (vLLM counts those that load among the waiting). The defaults of the two are those of a
            published comparison (llm-d/llm-d-router#2833).
        min_load_tokens: see `load`.
        max_waiting: see `load`.
        gpu_memory_utilization: share of the GPU's memory the engine may use, as the family counts it. vLLM: weights,
            activations, reserve and pool must fit in it, the rest is left to CUDA graphs and other processes. SGLang
            (`mem_fraction_static`): weights, reserve and pool; activations take from the rest. TensorRT-LLM
            (`free_gpu_memory_fraction`): the pool's share of what weights, activations and reserve leave free.
        kv_layout: "contiguous" moves a block in one copy; "per_layer" in one copy for each layer's K and V.
        sliding_window_cache: how sliding-window layers are held. "unified": full length in the same pages as the other
            layers (what vLLM's log of gpt-oss-120b shows: 78,384 tokens in 5.38 GiB); "ring": a window-sized buffer
            reserved for each of `max_num_seqs` sequences.
        state_pages: how the states of recurrent layers are held. "aligned": in the pages of the attention layers, whose
            block grows until a page is as large as a state (vLLM: 784 tokens with Qwen3.6-27B); "separate": in a pool
            of their own beside pages of `block_size` tokens (SGLang).
        states_per_sequence: states kept for each running sequence: 2 with prefix caching, the one in use and the last one
            that others can start from; 1 without.
        write_backlog_s: longest queue of writes a link may build up; what exceeds it is dropped, not written.
        overlap: of a request's load with its own prefill. "none": it waits until all is there, while others run (vLLM's
            connectors); "layer": it prefills at once and each layer waits for its part, the whole step with it
            (CachedAttention, LMCache and SGLang layer by layer); "full": the longer of the two, the bound of that.
        prefetch: bring blocks below the first lower tier up into it while their request waits in the queue (SGLang HiCache).
            When it is scheduled, of what is still on its way it uses nothing ("best_effort"), all ("wait"), or what comes
            within `prefetch_timeout_s` of its arrival ("timeout"). Needs two tiers below HBM.
        prefetch_timeout_s: see there (SGLang's base: 1 s).
    """

    shorthand: ClassVar[str | None] = None
    family: str = "vllm"
    max_num_seqs: Positive = 256
    max_num_batched_tokens: Annotated[int, Field(ge=1, le=2**20)] = 2048
    block_size: Positive = 16
    chunked_prefill: bool = True
    max_model_len: Positive | None = None
    stream_interval: Positive = 1
    scheduling: Literal["fcfs", "priority"] = "fcfs"
    tenant_priority: tuple[int, ...] = ()
    preemption_victim: Literal["last_admitted", "least_computed"] = "last_admitted"
    preemption: Literal["recompute", "swap"] = "recompute"
    swap_space_bytes: Bytes = 4 * 2**30
    reserve: Literal["none", "output"] = "none"
    allocation: Literal["paged", "max", "pow2", "oracle"] = "paged"
    draft_tokens: Annotated[int, Field(ge=0, le=64)] = 0
    acceptance_rate: Annotated[float, Field(ge=0, le=1)] = 0.7
    draft_cost: Annotated[float, Field(ge=0, le=100)] = 0.0
    load: Literal["always", "never", "cheaper", "threshold"] = "cheaper"
    min_load_tokens: Annotated[int, Field(ge=0)] = 1024
    max_waiting: Annotated[int, Field(ge=0)] = 8
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    kv_layout: Literal["contiguous", "per_layer"] = "contiguous"
    sliding_window_cache: Literal["unified", "ring"] = "unified"
    state_pages: Literal["aligned", "separate"] = "aligned"
    states_per_sequence: Positive = 2
    write_backlog_s: Seconds = 1.0
    overlap: Literal["none", "layer", "full"] = "none"
    prefetch: Literal["none", "best_effort", "wait", "timeout"] = "none"
    prefetch_timeout_s: Seconds = 1.0
