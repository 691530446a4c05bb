"""vLLM's start-up log: the KV pool it made.

Available KV cache memory: 18.78 GiB
GPU KV cache size: 175,856 tokens
# GPU blocks: 10991, # CPU blocks: 2048
"""

from __future__ import annotations

import re

from simcore.calibration.checks import number
from simcore.calibration.records import PoolLine, Reading
from simcore.units import GIB

_AVAILABLE = re.compile(r"Available KV cache memory: (\S+) GiB")
_TOKENS = re.compile(r"GPU KV cache size: (\S+) tokens")
_BLOCKS = re.compile(r"# (?:GPU|cuda) blocks: ([^\s,]+)")


def sniff(text: str) -> bool:
    """Whether the text has one of these lines."""
    return any(pattern.search(text) for pattern in (_AVAILABLE, _TOKENS, _BLOCKS))


def read(text: str, file: str) -> Reading:
    """The pool of the last start in the text.

    Raises:
        InputError: a number that no pool can have: an engine that says 0 has not started.
    """
    available, tokens, blocks = (pattern.findall(text) for pattern in (_AVAILABLE, _TOKENS, _BLOCKS))
    line = PoolLine(
        available_bytes=number(available[-1], file=file, path="Available KV cache memory") * GIB if available else None,
        tokens=int(number(tokens[-1].replace(",", ""), file=file, path="GPU KV cache size")) if tokens else None,
        blocks=int(number(blocks[-1], file=file, path="GPU blocks")) if blocks else None,
    )
    return Reading(pools=(line,))
