"""`Columns`: what an access reader yields, a chunk of references at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Columns(NamedTuple):
    """Some references in order. Every chunk of a file gives the same columns.

    Attributes:
        keys: the objects as the file names them: i8 or u8 (m,), or an object array of str.
        sizes: i8 (m,), bytes asked for, >= 1; None: the format has none.
        time_s: f8 (m,), seconds.
        category: i4 (m,), number of the table or kind of the request, >= 0. Objects of different tables must have different
        keys.
        request: i8 (m,), number of the request that the access belongs to, never falling, also from chunk to chunk; None: every
            access is a request.
    """

    keys: NDArray[Any]
    sizes: NDArray[np.int64] | None = None
    time_s: NDArray[np.float64] | None = None
    category: NDArray[np.int32] | None = None
    request: NDArray[np.int64] | None = None
