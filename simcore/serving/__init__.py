"""Timed serving engine: LLM replicas with continuous batching over a tiered block pool, as one jitted event loop.

`serve.serve(trace, setup)` runs it, `setup` says what it is told, `result` what it tells; `docs/serving.md` states the rules.
`serve.prepare(policies)` loads one engine for several policies, before runs that use this one and that.

    setup, trace -> lower (arrays) -> engine (kernels with the policies' verbs, compiled or from `cache`) -> laws -> result

`kernels/` holds the loop, one file a topic: arrivals, admission, loading, prefill, decode, step and sequences on top of pool,
transfer, stores, queues and heap. They see `state.State` and nothing else.
"""
