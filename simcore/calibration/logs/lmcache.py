"""LMCache's lines about stores and retrievals (lmcache/v1/cache_engine.py).

    LMCache INFO: Stored 2048 out of total 2048 tokens. size: 0.2188 gb, cost 14.7797 ms, throughput: 14.8007 GB/s; ...
    LMCache INFO: Retrieved 30036 out of 30036 required tokens (from 30036 total tokens). size: 4.5831 gb, cost 14.0659 ms, ...

"gb" is 2^30 bytes. Where a store says its `offload_time`, that is the copy; `put_time` is bookkeeping.
"""

from __future__ import annotations

import re

from simcore.calibration.checks import total
from simcore.calibration.records import Reading, Transfer
from simcore.units import GIB

_LINE = re.compile(
    r"(Stored|Retrieved) (\d+) out of (?:total )?\d+ (?:required )?tokens.*?size: (\S+) gb, cost (\S+) ms"
    r"(?:.*?offload_time: (\S+) ms)?"
)


def sniff(text: str) -> bool:
    """Whether a line of the text is one of LMCache's."""
    return _LINE.search(text) is not None


def read(text: str, file: str) -> Reading:
    """Every store and retrieval that moved something.

    Raises:
        InputError: a number that no transfer can have.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.search(line)
        if match is None:
            continue
        kind, tokens, size, cost, copied = match.groups()
        moved, size_gib, milliseconds = (
            total(value, file=file, path=name, line=number)
            for name, value in (("tokens", tokens), ("size", size), ("offload_time" if copied else "cost", copied or cost))
        )
        transfer = Transfer(int(moved), size_gib * GIB, milliseconds / 1e3, kind.lower())
        if transfer.size_bytes > 0 and transfer.seconds > 0:
            found.append(transfer)
    return Reading(transfers=tuple(found))
