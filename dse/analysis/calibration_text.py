"""What `dse calibrate` found, in words and as an object."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcore import Calibration
from simcore.units import format_bandwidth, format_bytes, format_seconds

CLIENTS = {
    "varied": "ten requests a client, lengths 80 to 100 % of those asked for",
    "fixed": "ten requests a client, equal lengths",
    "lockstep": "two requests a client, equal lengths, so all clients wait for each other",
}


def lines(found: Calibration, written: str | None) -> list[str]:
    """The answer, a line an item."""
    told = [*_step_lines(found), *_link_lines(found), *_pool_lines(found), *found.notes]
    if written:
        told += [f"Written to {written}; use it as engine.family: {written}"]
    elif found.text:
        told += ["", found.text.rstrip(), "", "Nothing was written; give --output mine.yaml to keep it."]
    return told


def _step_lines(found: Calibration) -> list[str]:
    fitted = found.fitted
    if fitted is None:
        return []
    model, gpu = fitted.runs[0].model.name, fitted.runs[0].gpu.name
    told = [
        f"Step time: {len(fitted.runs)} runs of {model} on {gpu}; clients taken as {fitted.deployment.client}: "
        f"{CLIENTS[fitted.deployment.client]}, all starting at once.",
        f"  error on the fitted runs     {_errors(fitted.errors)}",
    ]
    if found.cross_validated:
        told.append(
            f"  error on runs left out       {_errors(fitted.unseen)} (up to 5 folds of cells: lengths and tensor parallelism)"
        )
    else:
        told.append("  not cross-validated: needs 8 runs in 3 combinations of lengths and tensor parallelism")
    return told + [f"  do not rely on it: {fault}" for fault in found.faults]


def _errors(errors: Any) -> str:
    sizes = 100 * np.abs(np.expm1(errors))
    told = []
    for name, column in zip(("TTFT", "TPOT"), sizes.T, strict=True):
        measured = column[np.isfinite(column)]
        if len(measured):
            told.append(f"{name} median {np.median(measured):.0f} %, worst {measured.max():.0f} %")
    return "; ".join(told)


def _link_lines(found: Calibration) -> list[str]:
    link = found.link
    if link is None:
        return []
    fixed = "fixed cost unknown (all transfers of one size)"
    if link.overhead_s is not None:
        fixed = f"{format_seconds(link.overhead_s)} a transfer"
    dropped = f"; {link.dropped} faster than the link can be were left out" if link.dropped else ""
    rate = format_bandwidth(link.bandwidth_bytes_per_s)
    return [f"Host link: {rate} and {fixed}, from {link.used} transfers, median error {100 * link.error:.0f} %{dropped}."]


def _pool_lines(found: Calibration) -> list[str]:
    told = []
    for pool, ours in found.pools:
        said = [f"{format_bytes(int(pool.available_bytes))} for the cache"] if pool.available_bytes else []
        said += [f"{pool.tokens:,} tokens"] if pool.tokens else []
        said += [f"{pool.blocks:,} blocks"] if pool.blocks else []
        line = f"KV pool: the engine says {', '.join(said)}"
        if ours is not None and pool.tokens:
            line += f"; our arithmetic gives {ours:,.0f} tokens ({100 * (ours / pool.tokens - 1):+.2f} %)"
        elif ours is None:
            line += "; give --model to compare (and dse size for the whole arithmetic)"
        told.append(line + ".")
    return told


def as_object(found: Calibration, written: str | None) -> dict[str, Any]:
    """The same for machines: constants file, errors in ratios, link in base units."""
    fitted, link = found.fitted, found.link
    steps = None
    if fitted is not None:
        steps = {
            "runs": len(fitted.runs),
            "client": fitted.deployment.client,
            "errors": _medians(fitted.errors),
            "cross_validated_errors": _medians(fitted.unseen) if found.cross_validated else None,
            "faults": found.faults,
        }
    return {
        "steps": steps,
        "link": None if link is None else link._asdict(),
        "pools": [{**vars(pool), "computed_tokens": ours} for pool, ours in found.pools],
        "constants": found.text or None,
        "written": written,
        "notes": list(found.notes),
    }


def _medians(errors: Any) -> dict[str, float | None]:
    sizes = np.abs(np.expm1(errors))
    return {
        name: float(np.nanmedian(column)) if np.isfinite(column).any() else None
        for name, column in zip(("ttft", "tpot"), sizes.T, strict=True)
    }
