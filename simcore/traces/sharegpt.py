"""Conversations without times, as ShareGPT and the data sets made like it hold them: a JSON array, or one object a line.

    {"id": "a1", "conversations": [{"from": "human", "value": "..."}, {"from": "gpt", "value": "..."}, ...]}

Every answer (`from` gpt, assistant, chatgpt, bing, bard, model) that has something before it is one request, whose prompt is
all that was said before: its history is reused from turn to turn. `role` and `content` are taken for `from` and `value`.
Lengths are estimated from characters. The format has no times: request k of the file arrives k / `rate` seconds after the
first, one conversation after the other.
Format: lm-sys/FastChat, docs/commands/data_cleaning.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import InputError
from simcore.traces.assembly import TextBlocks, content_text, message_text, trace_by_time
from simcore.traces.rows import CUT, head_object, json_rows, required
from simcore.traces.stamps import spaced
from simcore.traces.trace import Trace

suffixes = (".json",)
_ANSWERING = {"gpt", "assistant", "chatgpt", "bing", "bard", "model"}


def sniff(path: str | Path) -> bool:
    """Whether the first object has a list of `conversations`."""
    found = head_object(path).get("conversations")
    return found is CUT or isinstance(found, list)


def read(path: str | Path, *, block_chars: int = 256, chars_per_token: int = 4, rate: float = 1.0) -> Trace:
    """Read conversations.

    Args:
        block_chars: characters of a block, a multiple of `chars_per_token`.
        chars_per_token: characters counted as one token.
        rate: requests per second, evenly spaced.

    Raises:
        InputError: unreadable file, no answer in it, or the first conversation that breaks a rule, with its place.
    """
    file = str(path)
    prompts = TextBlocks(block_chars, chars_per_token)
    outputs: list[int] = []
    session: list[int] = []
    skipped = 0
    for n, row in enumerate(json_rows(path)):
        with row.named(file):
            found = _requests(required(row.data, "conversations"))
        skipped += not found
        for prompt, answer in found:
            prompts.add(prompt)
            outputs.append(prompts.tokens(answer))
            session.append(n)
    if not outputs:
        raise InputError("holds no answer to a prompt", file=file)
    source = (
        f"conversations {Path(path).name}, lengths estimated: {prompts.described()}, "
        f"arrivals spaced evenly, {rate:g} per second"
    )
    if skipped:
        source += f", {skipped} conversations without an answer left out"
    return trace_by_time(
        spaced(len(outputs), rate),
        np.array(prompts.input_tokens),
        np.array(outputs),
        prompts.blocks,
        prompts.granule_tokens,
        session=session,
        source=source,
    )


def _requests(turns: Any) -> list[tuple[str, str]]:
    """(prompt, answer) of every answer with something before it."""
    if not isinstance(turns, list):
        raise InputError("must be a list of turns", path="conversations", value=json.dumps(turns))
    found = []
    said: list[str] = []
    for i, turn in enumerate(turns):
        if not isinstance(turn, dict) or not {"from", "role"} & set(turn) or not {"value", "content"} & set(turn):
            rule = "must be an object with `from` and `value`"
            raise InputError(rule, path=f"conversations[{i}]", value=json.dumps(turn))
        speaker, text = turn.get("from", turn.get("role")), content_text(turn.get("value", turn.get("content")))
        if speaker in _ANSWERING and said:
            found.append(("".join(said), text))
        said.append(message_text(speaker, text))
    return found
