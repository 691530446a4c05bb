"""Why prompt tokens are not found. The rules are in `tests.reference.serving`."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from simcore.serving.setup import ServingSetup

if TYPE_CHECKING:
    from tests.reference.replica import Request
    from tests.reference.tiers import Store, Tiers


class Misses:
    """What happened to each block, whoever had it: "asked", "lost", and of its writes to lower tiers "written" or a refusal."""

    def __init__(self, setup: ServingSetup) -> None:
        self.recompute_last = setup.recompute_last
        self.selective = any(tier.write_policy == "write_through_selective" for tier in setup.tiers)
        self.past: dict[int, list[str]] = defaultdict(list)
        self.stores: set[Store] = set()

    def why(self, block: int) -> str:
        past = self.past[block]
        writes = [event for event in past if event not in ("asked", "lost")]
        if writes:
            return "capacity" if writes[-1] == "written" else writes[-1]
        if "lost" in past:
            return "not_written" if self.selective else "capacity"
        return "in_flight" if past else "first_use"

    def finished(self, q: Request) -> None:
        for block in q.output_blocks:
            self.past[block].append("asked")

    def reasons(self, q: Request, found: int, run: int, tiers: Tiers) -> Counter[str]:
        """Of the prompt of q, of which `found` blocks are found and `run` were before the load rule."""
        tokens: Counter[str] = Counter()
        whole, reason = q.covered(len(q.blocks)), "alignment"
        for i in range(found, len(q.blocks)):
            block = q.blocks[i]
            known = bool(self.past[block])
            if i < run:
                reason = "not_loaded"
            elif self.recompute_last and known and i + 1 == len(q.blocks) and whole == q.prompt:
                reason = "alignment"
            elif not known or not any(block in store.pins for store in tiers.stores):
                elsewhere = known and any(block in store.pins for store in self.stores)
                reason = "other_replica" if elsewhere else self.why(block)
            tokens[reason] += q.covered(i + 1) - q.covered(i)
        if not q.blocks or self.past[q.blocks[-1]]:
            reason = "alignment"
        tokens[reason] += q.prompt - whole
        for block in q.blocks:
            self.past[block].append("asked")
        return tokens
