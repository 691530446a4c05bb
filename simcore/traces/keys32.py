"""Keys of 32 bits one after the other, most significant byte first, as in the cache2k traces that Caffeine's simulator reads.

Nothing in such a file says what it is. It is recognised if its name ends in .trace or .bin and its keys repeat as keys of 32
bits would (`simcore.traces._records.key_bytes`); otherwise name the reader: keys32 or keys64.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcore.traces._records import key_bytes, records
from simcore.traces.columns import Columns

suffixes = (".trace", ".bin", ".keys32")
_KEY_BYTES = 4


def sniff(path: str | Path) -> bool:
    """Whether the name fits and the keys of the head repeat as keys of 32 bits would."""
    name = Path(path).name
    return any(suffix in name for suffix in suffixes) and key_bytes(path) == _KEY_BYTES


def chunks(path: str | Path) -> Iterator[Columns]:
    """Read the keys in order, as signed numbers. The format has no options.

    Raises:
        InputError: unreadable file, or one that ends within a key.
    """
    for part in records(path, f">i{_KEY_BYTES}"):
        yield Columns(part.astype(np.int64))
