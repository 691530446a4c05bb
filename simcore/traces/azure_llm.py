"""Azure LLM inference traces: time, prompt tokens and generated tokens of each request, and nothing that tells what they share.

Source: Azure/AzurePublicDataset, AzureLLMInferenceTrace_{conv,code}.csv (CC BY 4.0), of 2023 (Patel et al., Splitwise, ISCA
2024) and 2024 (Stojkovic et al., DynamoLLM, HPCA 2025; its times end in +00:00).

    TIMESTAMP,ContextTokens,GeneratedTokens
    2023-11-16 18:15:46.6805900,374,44

Rules: times are dates with up to nanosecond digits, UTC unless they name a zone, in any order; ContextTokens >= 1;
GeneratedTokens >= 0, and none counts as one. Every request has blocks of its own, so a cache finds nothing: use these traces
for arrivals and lengths.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from simcore.errors import InputError
from simcore.traces.assembly import GRANULE_TOKENS, own_blocks, trace_by_time
from simcore.traces.rows import csv_rows, head_names, required, whole
from simcore.traces.stamps import Stamp, parse_stamp, since_first
from simcore.traces.trace import Trace

suffixes = (".csv",)


def sniff(path: str | Path) -> bool:
    """Whether the header names ContextTokens and GeneratedTokens."""
    return {"ContextTokens", "GeneratedTokens"} <= set(head_names(path))


def read(path: str | Path, *, granule_tokens: int | None = None) -> Trace:
    """Read an Azure trace.

    Args:
        granule_tokens: tokens of one block; None: 16.

    Raises:
        InputError: unreadable file, a column is missing, or the first row that breaks a rule, with file, line, field and value.
    """
    file = str(path)
    granule = GRANULE_TOKENS if granule_tokens is None else granule_tokens
    stamps: list[Stamp] = []
    prompts, answers = array("q"), array("q")
    for line, row in csv_rows(path):
        try:
            stamps.append(parse_stamp(required(row, "TIMESTAMP"), "TIMESTAMP"))
            prompts.append(whole(required(row, "ContextTokens"), "ContextTokens", 1))
            answers.append(whole(required(row, "GeneratedTokens"), "GeneratedTokens", 0))
        except InputError as error:
            raise error.within(file=file, line=line) from None
    inputs, outputs = np.array(prompts), np.array(answers)
    try:
        times_s = since_first(stamps, None, "s")
        blocks = own_blocks(inputs, granule)
    except InputError as error:
        raise error.within(file=file) from None
    source = f"Azure LLM trace {Path(path).name}, lengths only: nothing can be reused"
    return trace_by_time(times_s, inputs, outputs, blocks, granule, source=source)
