"""Conservation laws, checked at the end of every run: cheap, and the first to notice when the engine is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcore.errors import InternalError
from simcore.serving.state import DONE, NONE, REJECTED, State


def check(st: State) -> None:
    """Raises:
    InternalError: a law does not hold; the message names it.
    """
    store, replica, request = st.store, st.replica, st.request
    moved_in = sum(store[f] for f in ("in_computed", "in_loaded", "in_demoted", "in_written"))
    moved_out = sum(store[f] for f in ("out_evicted", "out_dropped", "out_promoted"))
    served = request["state"] == DONE
    over = served | (request["state"] == REJECTED)
    output = int(st.job["output"][served].sum())
    laws: list[tuple[str, Any]] = [
        ("blocks in = blocks out + resident", store["at_start"] + moved_in == moved_out + store["count"]),
        ("resident <= capacity", store["count"] <= store["cap"]),
        ("no block stays pinned", store["idle"] == store["count"]),
        ("no private page is left", replica["private"] == 0),
        ("no page stays promised", replica["promised"] == 0),
        ("no new block waits to be copied", replica["completed_n"] == 0),
        ("no context is left", (replica["context"] == 0) & (replica["decoding"] == 0)),
        ("no request stays in a queue", (replica["queue_n"] == 0) & (replica["run_n"] == 0) & (replica["load_n"] == 0)),
        ("all regions are given back", _rooms_are_free(st)),
        ("swap space is empty", (replica["swap_n"] == 0) & (replica["swap_used"] == 0)),
        ("no prefill replica waits to be rid of a request", (replica["sending"] == 0) & (request["source"] == NONE).all()),
        ("all that needs it is handed over", st.par.entries == st.par.replicas or _handed_over(st, served)),
        ("no first packet is left to send", replica["packet_n"] == 0),
        ("nothing is preempted where all tokens were reserved", st.par.reserve == 0 or st.stat.preemptions == 0),
        ("no work is left to route around", (replica["work_waiting"] == 0) & (replica["work_running"] == 0)),
        ("tenants hold what there is", not st.par.quotas or st.share["held"].sum() == store["count"].sum()),
        ("no request is on the way", replica["travelling"] == 0),
        ("no page phase is occupied", st.phase == 0),
        ("every request is over", over),
        ("hits + misses = lookups", _lookups_pass_down(st)),
        ("first tokens + decoded tokens = output tokens", st.stat.ended + st.stat.decode_tokens == output),
        ("arrival <= admission <= first token <= finish", _ordered(request) | ~served),
        ("admission + load + waiting again + prefill <= finish", _phases_end(request) | ~served),
        ("tokens found + tokens missed = prompt", _every_token_has_a_reason(st)),
    ]
    for law, holds in laws:
        if not np.all(holds):
            raise InternalError(f"the serving engine broke the law: {law}")


def _lookups_pass_down(st: State) -> bool:
    """A tier's misses are the next tier's lookups, over all replicas; the pools are asked for all blocks of all prompts."""
    view = st.tier["store"].reshape(-1, int(st.par.replicas))
    lookups, hits = (np.array([st.store[f][np.unique(row)].sum() for row in view]) for f in ("lookups", "hits"))
    asked = int(st.job["prompt_blocks"][st.request["state"] == DONE].sum())
    return bool(lookups[0] == asked and (lookups[:-1] - hits[:-1] == lookups[1:]).all() and (hits <= lookups).all())


def _handed_over(st: State, served: Any) -> bool:
    """Requests of more than one token leave their prefill replica, which decodes nothing."""
    moved, decodes = st.request["left"] > 0, st.replica["tick"] > 0
    return bool((moved == (served & (st.job["output"] > 1))).all() and not decodes[: st.par.entries].any())


def _phases_end(request: Any) -> Any:
    spent = sum(request[field] for field in ("load_wait", "queue_again", "prefill", "prefill_again", "transfer"))
    return request["admitted"] + spent <= request["finish"]


def _every_token_has_a_reason(st: State) -> bool:
    if not st.par.note_misses:
        return True
    n = len(st.request)
    found, missed = st.hit_tokens.reshape(n, -1).sum(axis=1), st.missed.reshape(n, -1).sum(axis=1)
    return bool((found + missed == np.where(st.request["state"] == DONE, st.job["prompt"], 0)).all())


def _rooms_are_free(st: State) -> bool:
    """The largest free region of each replica's pool is what it was."""
    trees = st.room.reshape(int(st.par.replicas), -1)
    return bool(trees.shape[1] == 0 or (trees[:, 1] == st.par.largest_order).all())


def _ordered(request: Any) -> Any:
    return (
        (request["arrival"] <= request["admitted"])
        & (request["admitted"] <= request["first"])
        & (request["first"] <= request["finish"])
    )
