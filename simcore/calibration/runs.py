"""Measured runs, and the same runs in the serving engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from simcore.roofline.constants import Constants
from simcore.roofline.memory import pool_of, pool_room_bytes, stages
from simcore.roofline.step_time import step_costs
from simcore.serving.serve import serve
from simcore.serving.setup import ServingSetup
from simcore.specs.engine import EngineSpec
from simcore.specs.gpu import GpuSpec
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.specs.model import ModelSpec
from simcore.specs.parallel import ParallelSpec
from simcore.traces.trace import Trace

Client = Literal["varied", "fixed", "lockstep"]
CLIENTS: tuple[Client, ...] = ("varied", "fixed", "lockstep")
GRANULE = 512


@dataclass(frozen=True)
class Run:
    """One measured run of a closed loop of clients.

    Attributes:
        model, gpu, parallel, weight_format: what served; `gpu.count` GPUs.
        input_tokens, output_tokens: of each request, as asked for.
        family: engine family; decides how the share of memory is counted.
        concurrency: clients, each with one request in flight.
        ttft_s, tpot_s: measured means; None where not measured.
        cell: what a fold of a cross-validation keeps together.
    """

    model: ModelSpec
    gpu: GpuSpec
    parallel: ParallelSpec
    weight_format: str
    input_tokens: int
    output_tokens: int
    family: str
    concurrency: int
    ttft_s: float | None
    tpot_s: float | None

    @property
    def cell(self) -> tuple[int, int, int]:
        """(input tokens, output tokens, tensor-parallel degree)."""
        return self.input_tokens, self.output_tokens, self.parallel.tp


@dataclass(frozen=True)
class Deployment:
    """What a table of results leaves out about the client and the server.

    Attributes:
        client: "varied": ten requests a client, lengths uniform in 80 to 100 % of those asked for; "fixed": ten requests of
            equal lengths; "lockstep": two requests of equal lengths. All clients start at once.
        kv_format: format of the KV cache.
        memory_share: share of the GPU's memory the engine may use.
        stream_interval: tokens the engine sends at a time; the first packet waits for as many.
        chunked_prefill: as in EngineSpec.
        max_num_batched_tokens: as in EngineSpec.
    """

    client: Client = "varied"
    kv_format: str = "bf16"
    memory_share: float = 0.9
    stream_interval: int = 1
    chunked_prefill: bool = True
    max_num_batched_tokens: int = 8192


def predict(run: Run, deployment: Deployment, constants: Constants) -> tuple[float, float]:
    """Mean (TTFT, TPOT) of a run in seconds; NaN where a request can never fit into the KV pool."""
    kv_format = KvFormatSpec(default=KvPair(k=deployment.kv_format, v=deployment.kv_format))
    budget = max(deployment.max_num_batched_tokens, run.concurrency)
    if not deployment.chunked_prefill:
        budget = max(budget, run.input_tokens)
    trace = closed_loop(run.input_tokens, run.output_tokens, run.concurrency, deployment.client)
    pages = _pool_pages(run, deployment, budget)
    if pages < -(-GRANULE // PAGE):
        return float("nan"), float("nan")
    result = serve(
        trace,
        ServingSetup(
            pool_pages=pages,
            page_tokens=PAGE,
            unit_tokens=GRANULE,
            costs=step_costs(run.model, run.gpu, kv_format, run.weight_format, budget, constants, run.parallel),
            max_num_seqs=run.concurrency,
            max_num_batched_tokens=budget,
            chunked_prefill=deployment.chunked_prefill,
            arrivals="closed",
            concurrency=run.concurrency,
            output_reuse=False,
        ),
    )
    if result.rejected.any():
        return float("nan"), float("nan")
    ttft = float((result.first_token_s - result.arrival_s).mean())
    tpot = float(((result.finish_s - result.first_token_s) / (trace.output_tokens - 1)).mean())
    packet = min(deployment.stream_interval, run.output_tokens) - 1
    return ttft + packet * tpot, tpot


PAGE = 16


@lru_cache(maxsize=4096)
def closed_loop(input_tokens: int, output_tokens: int, clients: int, client: Client) -> Trace:
    """The requests of a closed loop; prompts share nothing."""
    n = (2 if client == "lockstep" else 10) * clients
    shortest = 0.8 if client == "varied" else 1.0
    rng = np.random.default_rng(0)
    sizes = [np.ceil(size * (shortest + (1 - shortest) * rng.random(n))).astype(int) for size in (input_tokens, output_tokens)]
    start = np.concatenate(([0], np.cumsum(-(-sizes[0] // GRANULE))))
    return Trace.of(np.zeros(n), sizes[0], np.maximum(sizes[1], 2), (start, np.arange(start[-1])), GRANULE)


@cache
def _pool_pages(run: Run, deployment: Deployment, budget: int) -> int:
    """Pages of the KV pool of a replica: what weights, activations and runtime leave, on all attention copies."""
    on = run.parallel
    kv_format = KvFormatSpec(default=KvPair(k=deployment.kv_format, v=deployment.kv_format))
    engine = EngineSpec(
        family=run.family,
        max_num_seqs=run.concurrency,
        max_num_batched_tokens=budget,
        gpu_memory_utilization=deployment.memory_share,
    )
    parts = stages(run.model, kv_format, engine, on, run.weight_format)
    rooms = [pool_of(part.paging, engine, pool_room_bytes(run.gpu, engine, part.fixed)) for part in parts]
    return min(room.tokens for room in rooms) // PAGE * on.dp
