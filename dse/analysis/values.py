"""Numbers as a reader wants them: one unit per column, three significant digits, no value without its unit."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simcore.units import GIB, KIB, MIB, TIB

UNKNOWN = "?"
MARGIN = 11
"""Where the sentences beside a label begin."""
_STEPS: dict[str, tuple[tuple[str, float, float], ...]] = {
    # unit: (label, divisor, used from this largest value on)
    "s": (("s", 1.0, 20.0), ("ms", 1e-3, 1e-2), ("us", 1e-6, 1e-5), ("ns", 1e-9, 0.0)),
    "bytes": (("TiB", TIB, 100 * TIB), ("GiB", GIB, GIB), ("MiB", MIB, MIB), ("KiB", KIB, KIB), ("B", 1, 0)),
    "bytes/s": (("TB/s", 1e12, 1e13), ("GB/s", 1e9, 1e9), ("MB/s", 1e6, 1e6), ("B/s", 1.0, 0.0)),
    "ratio": (("%", 1e-2, 0.0),),
    "count": (("", 1.0, 0.0),),
    "bool": (("", 1.0, 0.0),),
}


@dataclass(frozen=True)
class Scale:
    """How the values of one quantity are printed: `value / divisor`, `decimals` places, `label` as unit."""

    label: str
    divisor: float
    decimals: int

    def number(self, value: float | None) -> str:
        """`value` without its unit, for a column."""
        if value is None:
            return UNKNOWN
        if not math.isfinite(value):
            return "inf" if value > 0 else "-inf"
        return f"{round(value / self.divisor, self.decimals) + 0.0:.{self.decimals}f}"

    def text(self, value: float | None) -> str:
        """`value` with its unit, for a sentence."""
        return f"{self.number(value)} {self.label}".rstrip()


def scale_for(unit: str, values: Iterable[float | None]) -> Scale:
    """One scale for all of `values`, given in a unit of METRICS: the largest has three digits, the smallest two."""
    sizes = [abs(v) for v in values if v is not None and math.isfinite(v) and v != 0]
    largest = max(sizes, default=0.0)
    steps = _STEPS.get(unit, ((unit, 1.0, 0.0),))
    label, divisor, _ = next(step for step in steps if largest >= step[2])
    if unit in ("count", "bool") or not sizes:
        return Scale(label, divisor, 0)
    for_largest = 2 - math.floor(math.log10(largest / divisor * 1.0000001))
    for_smallest = 1 - math.floor(math.log10(min(sizes) / divisor * 1.0000001))
    return Scale(label, divisor, max(0, min(max(for_largest, for_smallest), for_largest + 1)))


def percent(share: float | None) -> str:
    """A share as whole percent without the sign."""
    return UNKNOWN if share is None else f"{round(100 * share)}"


def plain_number(value: float) -> str:
    """A number with four significant digits, whole above a thousand, and no exponent in the everyday range."""
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 1000):
        return f"{value:.0f}"
    return f"{value:.4g}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def duration(seconds: float) -> str:
    """A wall-clock time as a person says it: "0.8 s", "41 s", "12 min 5 s", "2 h 14 min"."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """`text` in lines of at most `width`; leading blanks and runs of blanks stay, later lines start with `indent`."""
    body = text.lstrip()
    lead = text[: len(text) - len(body)]
    return textwrap.wrap(
        body, width, initial_indent=lead, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def margined(sentences: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Sentences with their labels in the margin; a label too long for it runs into its sentence."""
    lines: list[str] = []
    for label, sentence in sentences:
        head = f"  {label}"
        if len(head) + 2 <= MARGIN:
            lines += wrapped(f"{head:<{MARGIN}}{sentence}", width, " " * MARGIN)
        else:
            lines += wrapped(f"{head}: {sentence}", width, " " * MARGIN)
    return lines
