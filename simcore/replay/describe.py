"""What `dse trace describe` says of a trace: its contents, and from how far back it reuses objects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simcore.replay.distances import Progress, lru_curve
from simcore.traces.accesses import Accesses
from simcore.traces.describe.contents import contents, opened


def describe_trace(
    path: str | Path, *, reader: str | None = None, options: Iterable[str] = (), progress: Progress | None = None
) -> dict[str, Any]:
    """Read a trace and put it in numbers, as plain data.

    Args:
        reader: name of the format; None: found by content, then by suffix.
        options: the format's own, texts key=value.
        progress: called with (accesses done, accesses in all) while distances are found.

    Returns:
        `trace` (the path), `source` (in words), `format` (`reader`, `found_by`, `options`, `compression`, `file_bytes`),
        `requests`, `accesses` and `distinct` (None where no object recurs: the format then tells no objects), `object` (what is
        accessed), and a mapping each for `arrivals`, `lengths`, `sessions`, `reuse`, `sizes`, `categories`, `popularity`,
        `distances`: None where it cannot be computed, with the reason in `left_out` under the same name. What the numbers mean
        is said by the functions of `simcore.traces.describe` and by `reuse_distances`.

    Raises:
        InputError: unreadable file, unknown format, a wrong option or bad content.
    """
    found = opened(path, reader, options)
    accesses = found.accesses
    sections = contents(found)
    reuse = sections["reuse"]
    sections["distances"] = reuse if isinstance(reuse, str) else reuse_distances(accesses, progress)
    recurs = not isinstance(reuse, str)
    granule = "objects" if found.trace is None else f"blocks of {found.trace.granule_tokens} tokens"
    return {
        "trace": str(path),
        "source": accesses.source if found.trace is None else found.trace.source,
        "format": found.about,
        "requests": accesses.n_requests,
        "accesses": len(accesses) if recurs else None,
        "distinct": accesses.n_objects if recurs else None,
        "object": granule,
        **{name: None if isinstance(section, str) else section for name, section in sections.items()},
        "left_out": {name: section for name, section in sections.items() if isinstance(section, str)},
    }


def reuse_distances(accesses: Accesses, progress: Progress | None = None) -> dict[str, Any]:
    """LRU stack distances in objects, the access's own counted, whatever their sizes; of prefix chains the largest of the
    request so far, chains touched tail first. An access hits in an LRU cache of at least as many objects.

    `bins`: accesses with a distance above the bin before and at most `up_to`, powers of two, their share of all accesses, and
    `hit_ratio` of an LRU cache of `up_to` objects; `first_accesses` have no distance.
    """
    curve = lru_curve(accesses.with_columns(sizes=None) if accesses.sizes is not None else accesses, progress=progress)
    longest = len(curve.hits) - 1
    capacities = [1 << k for k in range(max(longest - 1, 0).bit_length() + 1)]
    hits = curve.hits_at(capacities).tolist()
    before = [0, *hits[:-1]]
    return {
        "definition": curve.definition,
        "bins": [
            {"up_to": c, "accesses": h - b, "share": (h - b) / curve.accesses, "hit_ratio": h / curve.accesses}
            for c, h, b in zip(capacities, hits, before, strict=True)
        ],
        "first_accesses": curve.accesses - hits[-1],
    }
