"""What metrics, dimensions and their values are called on screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dse.analysis.values import Scale, listing, plain_number
from simcore.units import GIB, KIB, MIB, TIB, format_bandwidth, format_seconds, parse_quantity

if TYPE_CHECKING:
    from dse.space import Dimension
    from simcore import Metric

INACTIVE = "-"
LONG, ABBREVIATED = 7, 4
"""A word longer than the first shrinks to the second many characters when a table has to."""
_UPPER = {"ttft", "tpot", "itl", "e2e", "hbm", "dram", "cxl", "kv", "nvme", "slo", "rps", "gpu", "qps", "usd"}
_UNIT_WORDS = {"usd", "bytes", "j"}


def word(text: str) -> str:
    """One word as the field writes it: "hbm" -> "HBM"."""
    return text.upper() if text.lower() in _UPPER else text


def metric_label(metric: Metric) -> str:
    """ "ttft_p99" -> "TTFT p99", "hbm_cost_usd" -> "HBM cost"; the unit is printed beside the value."""
    return " ".join(word(w) for w in metric.name.split("_") if w not in _UNIT_WORDS)


def tier_of(path: str) -> str | None:
    """The tier a dotted path speaks of, None for other paths and for all tiers at once."""
    parts = path.split(".")
    return parts[1] if len(parts) > 2 and parts[0] == "tiers" and parts[1] != "*" else None


def is_capacity(path: str) -> bool:
    """Whether the path is the capacity of one tier."""
    return tier_of(path) is not None and path.endswith(".capacity")


def heading(path: str, unit: str = "") -> tuple[str, str]:
    """Two heading lines for a dimension's column."""
    tier, field = tier_of(path), path.rsplit(".", 1)[-1]
    if tier is not None and field == "capacity":
        return ("pool", f"{unit}/GPU") if tier == "hbm" else (word(tier), unit)
    if tier is not None:
        return word(tier), field
    if path.startswith("tiers.*."):
        return "tiers", field
    if path == "kv_format" or path.startswith("kv_format."):
        rest = path.split(".")[1:]
        return "KV", " ".join(r for r in rest if r != "default")
    words = [word(w) for w in field.split("_")]
    half = (len(words) + 1) // 2
    return " ".join(words[:half]), unit or " ".join(words[half:])


def column_name(path: str) -> str:
    """The heading of a dimension's column as one name: "pool", "CXL policy"."""
    head, sub = heading(path)
    return head if is_capacity(path) else f"{head} {sub}".strip()


def in_tiers(field: str, text: str, tiers: Sequence[str]) -> str:
    """A tier's field with its value: "sieve in HBM and DRAM", "inclusive CXL", "read_latency 300 ns in CXL"."""
    where = listing([word(t) for t in tiers])
    if field == "capacity":
        return f"no {where}" if text == "0" else f"{where} {text}"
    if field == "placement":
        return f"{text} {where}"
    return f"{text} in {where}" if field == "policy" else f"{field} {text} in {where}"


def phrase(path: str, text: str) -> str:
    """A dimension with one of its values, for a sentence: "sieve in HBM", "kv_format bf16"."""
    tier, field = tier_of(path), path.rsplit(".", 1)[-1]
    if tier is not None and path.count(".") == 2:
        return in_tiers(field, text, [tier])
    if path.startswith("tiers.*."):
        return f"{field} {text} in every tier"
    return f"{path.removeprefix('engine.')} {text}"


def amount(value: Any) -> float | None:
    """The number in a point's value, base unit; None for words and mappings."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(parse_quantity(value)[0])
        except ValueError:
            return None
    return None


def dimension_scale(dimension: Dimension, values: Iterable[Any]) -> Scale | None:
    """The unit a dimension's column is printed in; None when its values are words."""
    numbers = [amount(v) for v in values if v is not None]
    if not numbers or any(n is None for n in numbers):
        return None
    if dimension.unit in ("bytes", "B"):
        largest = max(n for n in numbers if n is not None)
        step = next((s for s in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)) if largest >= s[1]), ("B", 1))
        if largest >= 100 * TIB:
            step = ("TiB", TIB)
        return Scale(step[0], step[1], 0)
    return Scale("" if dimension.unit in (None, "", "number") else str(dimension.unit), 1.0, 0)


def value_text(value: Any, scale: Scale | None = None) -> str:
    """A point's value for a cell: a number in the column's unit, a word as it stands, "-" when inactive."""
    if value is None:
        return INACTIVE
    number = amount(value)
    if scale is not None and number is not None:
        return plain_number(number / scale.divisor)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "+".join(dict.fromkeys(value_text(v) for v in value.values()))
    if isinstance(value, (list, tuple)):
        return "/".join(value_text(v) for v in value)
    return str(value)


def exact_text(value: Any, unit: str | None) -> str:
    """A point's value with its unit, for a sentence or a command: 13958643712 -> "13 GiB"."""
    number = amount(value)
    if number is None or isinstance(value, str):
        return value_text(value)
    if unit in ("bytes", "B") and number:
        step = next((s for s in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)) if number >= s[1]), ("B", 1))
        return f"{plain_number(number / step[1])} {step[0]}"
    if unit in ("seconds", "s") and number:
        return format_seconds(number)
    if unit in ("bytes_per_second", "bytes/s"):
        return format_bandwidth(number)
    return plain_number(number)


def abbreviate(texts: Sequence[str]) -> list[str]:
    """Shorter forms of a column's words, distinct where the words are: "fp8_e4m3" -> "fp8", "exclusive" -> "excl"."""
    long = [t for t in dict.fromkeys(texts) if len(t) > LONG]
    for shorts in ([t.split("_")[0][:ABBREVIATED] for t in long], [t[:ABBREVIATED] for t in long]):
        short = dict(zip(long, shorts, strict=True))
        if len({*shorts, *(t for t in texts if t not in short)}) == len(set(texts)):
            return [short.get(t, t) for t in texts]
    return list(texts)
