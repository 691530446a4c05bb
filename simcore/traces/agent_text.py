"""Agent sessions with the full text of every prompt, one call a line.

Source: LMCache/lmcache-agent-trace (Apache-2.0), folders miniswe and magagent.

    {"timestamp": 1760428221546118, "input": "<pr_description>\\nConsider ...", "output": "THOUGHT: ...", "session_id": "d80"}

Rules: `timestamp` is a number or a date, in any order (the published files are grouped by session); `input` is the whole prompt
as sent, a text or a list of messages; `output`, a text, may be missing; an empty prompt or output counts as one token;
`session_id` may be missing, then every call is a session of its own. Prompts are cut into blocks of characters, the last one
partly filled, and an id stands for all text up to the end of its block. Tokens are estimated from characters.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from simcore.errors import InputError
from simcore.traces.assembly import Numbers, TextBlocks, messages_text, trace_by_time
from simcore.traces.rows import CUT, head_object, json_rows, required
from simcore.traces.stamps import Stamp, parse_stamp, since_first
from simcore.traces.trace import Trace

suffixes: tuple[str, ...] = ()  # .jsonl alone says nothing: the content tells


def sniff(path: str | Path) -> bool:
    """Whether the first object has a `timestamp` and an `input` that is a text or a list of messages."""
    row = head_object(path)
    given = row.get("input")
    return "timestamp" in row and (given is CUT or isinstance(given, (str, list)))


def read(path: str | Path, *, block_chars: int = 256, chars_per_token: int = 4, time_unit: str | None = None) -> Trace:
    """Read agent calls.

    Args:
        block_chars: characters of a block, a multiple of `chars_per_token`.
        chars_per_token: characters counted as one token.
        time_unit: s, ms, us or ns; None: found (see `stamps.unit_of`; times since a start are in microseconds).

    Raises:
        InputError: unreadable file, or the first line that breaks a rule, with file, line, field and value.
    """
    file = str(path)
    prompts, sessions = TextBlocks(block_chars, chars_per_token), Numbers()
    stamps: list[Stamp] = []
    outputs: list[int] = []
    session: list[int] = []
    for row in json_rows(path):
        with row.named(file):
            stamps.append(parse_stamp(required(row.data, "timestamp")))
            text = required(row.data, "input")
            if not isinstance(text, str):
                text = messages_text(text, "input")
            prompts.add(text)
            answer = row.data.get("output")
            if answer is not None and not isinstance(answer, str):
                raise InputError("must be a text", path="output", value=json.dumps(answer))
            outputs.append(prompts.tokens(answer or ""))
            name = row.data.get("session_id")
            if isinstance(name, (list, dict)):
                raise InputError("must be a name or a number", path="session_id", value=json.dumps(name))
            session.append(sessions(("call", len(session)) if name is None else name))
    try:
        times_s = since_first(stamps, time_unit, "us")
    except InputError as error:
        raise error.within(file=file) from None
    source = f"agent trace {Path(path).name}, {prompts.described()}"
    return trace_by_time(
        times_s,
        np.array(prompts.input_tokens),
        np.array(outputs),
        prompts.blocks,
        prompts.granule_tokens,
        session=session,
        source=source,
    )
