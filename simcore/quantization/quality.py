"""What a cache format costs in quality, from published measurements only.

`quality_loss` is the relative drop against the 16-bit cache on the same model, over the mean of every benchmark the source
reports for that pair (no choosing among them), and never below 0: a gain is noise. A pair nobody published is unknown (None),
not 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from simcore.quantization.formats import find_format
from simcore.quantization.table import names, read
from simcore.specs.base import Spec
from simcore.specs.kv_format import KvFormatSpec, KvPair
from simcore.specs.model import ModelSpec

Scores = Annotated[tuple[float, ...], Field(min_length=1)]


class QualityRow(Spec):
    """One measured pair of formats on one model: the scores with a 16-bit cache and with this one, benchmark by benchmark."""

    shorthand: ClassVar[str | None] = None
    model: str
    k: str
    v: str
    baseline: Scores
    score: Scores


class QualitySource(Spec):
    """One publication: benchmarks in the order of the rows' scores; `lower_is_better` for perplexities."""

    shorthand: ClassVar[str | None] = None
    benchmarks: tuple[str, ...]
    lower_is_better: bool = False
    note: str = ""
    source: str
    date: str
    rows: tuple[QualityRow, ...]


class QualityLoss(NamedTuple):
    """A relative drop with the benchmarks and the publication it is from."""

    value: float
    benchmark: str
    source: str


LOSSLESS = QualityLoss(0.0, "16-bit cache, the reference", "by definition")


def quality_loss(model: ModelSpec, kv_format: KvFormatSpec) -> QualityLoss | None:
    """The published loss of this cache format on this model; None when nobody published it.

    Layers in different formats are unknown unless all of them are 16-bit. Where two sources measured a pair, the larger
    loss counts.
    """
    pairs = set(kv_format.per_layer(model.layers))
    if all(_lossless(model, pair) for pair in pairs):
        return LOSSLESS
    if len(pairs) > 1:
        return None
    k, v = next((p.k, p.k if model.mla is not None else p.v) for p in pairs)
    return max(_table().get((model.name, k, v), []), key=lambda loss: loss.value, default=None)


def _lossless(model: ModelSpec, pair: KvPair) -> bool:
    return find_format(pair.k).lossless and (model.mla is not None or find_format(pair.v).lossless)


@lru_cache
def _table() -> dict[tuple[str, str, str], list[QualityLoss]]:
    table: dict[tuple[str, str, str], list[QualityLoss]] = {}
    for name in names("quality"):
        source = read("quality", name, QualitySource)
        for row in source.rows:
            ratio = sum(row.score) / sum(row.baseline)
            loss = ratio - 1 if source.lower_is_better else 1 - ratio
            entry = QualityLoss(max(0.0, loss), "mean of " + ", ".join(source.benchmarks), source.source)
            table.setdefault((row.model, row.k, row.v), []).append(entry)
    return table
