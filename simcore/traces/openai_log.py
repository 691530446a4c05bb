"""Logs of OpenAI-style requests, one JSON object a line: what a gateway or a batch file records.

    {"created": 1718000000, "user": "a", "body": {"messages": [{"role": "user", "content": "Hi"}]}, "usage": {...}}

A field is looked for in the object, then in its `body`, `request`, `request.body`, `response` and `response.body`:
`messages` (and `tools`, which engines put before them) or `prompt`, a text; `usage` with `prompt_tokens` and
`completion_tokens`; the answer in `choices`; the time in `created`, `created_at`, `timestamp` or `time`, a number or a date,
in any order; `user`, whose numbers become tenants; `session_id` or `conversation_id`.

Requests with a text get chained blocks of characters, and their prompt tokens are estimated from characters so that equal
prefixes are equal; of the others `usage` gives the length, and they share nothing. Answers have `usage.completion_tokens`,
else their text's estimate, else one token.
Format: OpenAI API reference, chat completions, completions and batch input (platform.openai.com/docs/api-reference).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import InputError
from simcore.traces import image_list
from simcore.traces.assembly import Numbers, TextBlocks, content_text, messages_text, trace_by_time
from simcore.traces.files import head_text
from simcore.traces.rows import CUT, first_object, json_rows, number
from simcore.traces.stamps import Stamp, parse_stamp, since_first, spaced
from simcore.traces.trace import Trace

suffixes: tuple[str, ...] = ()  # .jsonl alone says nothing: the content tells
_INSIDE = (("body",), ("request",), ("request", "body"), ("response",), ("response", "body"))
_TIMES = ("created", "created_at", "timestamp", "time")
_USAGE = ("prompt_tokens", "completion_tokens")


def sniff(path: str | Path) -> bool:
    """Whether the first object, or what lies in its `body`, `request` or `response`, has `messages`, `prompt` or
    `usage`, and the file is no list of images."""
    if image_list.sniff(path):
        return False  # a list of questions about images
    text = head_text(path)
    row = first_object(text)
    if any(row.get(name) is CUT for name in ("body", "request")):
        return '"messages"' in text or '"prompt"' in text
    usage = _field(row, "usage")
    return (
        _field(row, "messages") is CUT
        or isinstance(_field(row, "messages"), list)
        or isinstance(_field(row, "prompt"), str)
        or _field(row, "prompt") is CUT
        or (isinstance(usage, dict) and "prompt_tokens" in usage)
    )


def read(
    path: str | Path,
    *,
    block_chars: int = 256,
    chars_per_token: int = 4,
    time_unit: str | None = None,
    rate: float | None = None,
) -> Trace:
    """Read a request log.

    Args:
        block_chars: characters of a block, a multiple of `chars_per_token`.
        chars_per_token: characters counted as one token.
        time_unit: s, ms, us or ns; None: found (see `stamps.unit_of`; times since a start are in seconds).
        rate: requests per second at even spacing, for a log without times.

    Raises:
        InputError: unreadable file, or the first line that breaks a rule, with file, line, field and value.
    """
    file = str(path)
    log = _Log(TextBlocks(block_chars, chars_per_token))
    for row in json_rows(path):
        with row.named(file):
            log.add(row.data)
    try:
        times_s = log.times_s(time_unit, rate)
    except InputError as error:
        raise error.within(file=file) from None
    prompts = log.prompts
    source = f"request log {Path(path).name}"
    if log.texts:
        source += f", {prompts.described()}"
    if log.counted_tokens:
        source += f" (usage: {log.counted_chars / log.counted_tokens:.2f})"
    if log.texts < len(log.outputs):
        source += f", {len(log.outputs) - log.texts} requests by length only: nothing of them can be reused"
    if rate is not None:
        source += f", arrivals spaced evenly, {rate:g} per second"
    return trace_by_time(
        times_s,
        np.array(prompts.input_tokens),
        np.array(log.outputs),
        prompts.blocks,
        prompts.granule_tokens,
        session=log.session,
        tenant=log.tenant,
        source=source,
    )


class _Log:
    """The columns of a log as they grow; `texts` counts requests with a text, `counted_*` what is in those with a usage too."""

    def __init__(self, prompts: TextBlocks) -> None:
        self.prompts = prompts
        self.outputs: list[int] = []
        self.session: list[int] = []
        self.tenant: list[int] = []
        self.texts = self.counted_chars = self.counted_tokens = 0
        self._stamps: list[Stamp] = []
        self._users, self._sessions = Numbers(), Numbers()

    def add(self, row: dict[str, Any]) -> None:
        usage = _field(row, "usage")
        if usage is not None and not isinstance(usage, dict):
            raise InputError("must be an object", path="usage", value=json.dumps(usage))
        counts = {name: int(number(usage, name, (int,), 0)) for name in _USAGE if usage and usage.get(name) is not None}
        text = _prompt(row)
        if text is not None:
            self.prompts.add(text)
            self.texts += 1
            if counts.get("prompt_tokens"):
                self.counted_chars += len(text)
                self.counted_tokens += counts["prompt_tokens"]
        elif counts.get("prompt_tokens"):
            self.prompts.add_own(counts["prompt_tokens"])
        else:
            hint = f"the line has {', '.join(row) or 'no field'}"
            raise InputError("needs messages, prompt or usage.prompt_tokens above 0", hint=hint)
        self.outputs.append(counts.get("completion_tokens", self.prompts.tokens(_answer(row))))
        self._stamp(row)
        user, session = _field(row, "user"), _named(row, ("session_id", "conversation_id"))
        self.tenant.append(self._users(_key(user, "user")))
        self.session.append(self._sessions(("request", len(self.session)) if session is None else _key(session, "session_id")))

    def _stamp(self, row: dict[str, Any]) -> None:
        name = next((name for name in _TIMES if _field(row, name) is not None), None)
        before = len(self.outputs) - 1
        if before and bool(self._stamps) != (name is not None):
            raise InputError("some requests have a time and some have none", path=name or _TIMES[0])
        if name is not None:
            self._stamps.append(parse_stamp(_field(row, name), name))

    def times_s(self, time_unit: str | None, rate: float | None) -> Any:
        if self._stamps:
            if rate is not None:
                raise InputError("the log has times of its own", path="rate", value=rate)
            return since_first(self._stamps, time_unit, "s")
        if time_unit is not None:
            raise InputError("the log has no times", path="time_unit", value=time_unit)
        if rate is None:
            raise InputError("the log has no times", hint="give a rate (requests per second) to space the requests evenly")
        return spaced(len(self.outputs), rate)


def _places(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield row
    for names in _INSIDE:
        inner: Any = row
        for name in names:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            yield inner


def _field(row: dict[str, Any], name: str) -> Any:
    return next((place[name] for place in _places(row) if place.get(name) is not None), None)


def _named(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := _field(row, name)) is not None), None)


def _key(value: Any, name: str) -> Any:
    if isinstance(value, (list, dict)):
        raise InputError("must be a name or a number", path=name, value=json.dumps(value))
    return value


def _prompt(row: dict[str, Any]) -> str | None:
    messages = _field(row, "messages")
    if messages is not None:
        tools = _field(row, "tools")
        text = messages_text(messages, "messages")
        return (json.dumps(tools, sort_keys=True) + "\n" if tools else "") + text
    prompt = _field(row, "prompt")
    if prompt is None:
        return None
    if not isinstance(prompt, str):
        raise InputError("must be a text", path="prompt", value=json.dumps(prompt))
    return prompt


def _answer(row: dict[str, Any]) -> str:
    choices = _field(row, "choices")
    if not isinstance(choices, list):
        return ""
    answers = []
    for choice in choices:
        if isinstance(choice, dict):
            message = choice.get("message")
            answers.append(content_text(message.get("content") if isinstance(message, dict) else choice.get("text")))
    return "".join(answers)
