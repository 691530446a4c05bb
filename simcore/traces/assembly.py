"""From what a reader found to a `Trace`: order of arrival, unshared blocks, and chained blocks of prompt texts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.trace import Trace, gather, int32

GRANULE_TOKENS = 16
"""Tokens of one block where the format names none: the block size most engines default to."""

_MAX_BLOCKS = 2**31
Ints = NDArray[np.int64]


def own_blocks(input_tokens: Ints, granule_tokens: int) -> tuple[Ints, Ints]:
    """Blocks for requests that are known by their lengths alone, each block unlike all others: (block_start, ids).

    Raises:
        InputError: more than 2^31 blocks, or a granule below 1.
    """
    if granule_tokens < 1:
        raise InputError("must be at least 1", path="granule_tokens", value=granule_tokens)
    start = np.zeros(len(input_tokens) + 1, np.int64)
    np.cumsum(-(-input_tokens // granule_tokens), out=start[1:])
    if start[-1] > _MAX_BLOCKS:
        hint = "ask for fewer requests or a larger granule_tokens"
        raise InputError(f"too many blocks: {start[-1]} of {granule_tokens} tokens", hint=hint)
    return start, np.arange(start[-1])


def trace_by_time(
    times_s: NDArray[np.float64],
    input_tokens: Ints,
    output_tokens: Ints,
    blocks: tuple[Ints, Ints],
    granule_tokens: int,
    *,
    source: str,
    after: Ints | None = None,
    **columns: Any,
) -> Trace:
    """A `Trace` of requests in any order, put in order of arrival; those that arrive together stay as given.

    An output of no token counts as one, since every request ends with a first token; `source` says how many there were.

    Args:
        blocks: (block_start, ids), any ids.
        after: numbers in the given order.
        columns: think_s, session, tenant, as in `Trace.of`.
    """
    order = np.argsort(times_s, kind="stable")
    silent = int((output_tokens == 0).sum())
    if silent:
        source += f", {silent} empty outputs counted as 1 token"
    if after is not None:
        place = np.full(len(order) + 1, -1, np.int64)  # the extra entry, read by index -1, keeps "unchained"
        place[order] = np.arange(len(order))
        columns["after"] = place[after][order]
    for name in ("think_s", "session", "tenant"):
        if columns.get(name) is not None:
            columns[name] = np.asarray(columns[name])[order]
    start, ids = gather(blocks[0], blocks[1], order)  # type: ignore[arg-type]
    return Trace.of(
        times_s[order],
        int32("input_tokens", input_tokens[order]),
        int32("output_tokens", np.maximum(output_tokens, 1)[order]),
        (start, ids),
        granule_tokens,
        source=source,
        **columns,
    )


class Numbers:
    """Names numbered 0, 1, ... by first appearance."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}

    def __call__(self, name: Any) -> int:
        return self._number.setdefault(name, len(self._number))

    def __len__(self) -> int:
        return len(self._number)


class TextBlocks:
    """Prompts cut into blocks of `block_chars` characters; equal ids stand for equal text from the prompt's beginning.

    A block is named by its text and the block before it, in a table of all pairs seen, so no two different prefixes can share
    an id. The last block may be partly filled. Tokens are estimated: `chars_per_token` characters each, rounded up.

    Attributes:
        granule_tokens: tokens of a full block.
        input_tokens: of each prompt added.
        empty: prompts without a character.

    Raises:
        InputError: sizes below 1, or blocks that hold no whole number of tokens.
    """

    def __init__(self, block_chars: int, chars_per_token: int) -> None:
        for name, value in (("block_chars", block_chars), ("chars_per_token", chars_per_token)):
            if value < 1:
                raise InputError("must be at least 1", path=name, value=value)
        if block_chars % chars_per_token:
            rule = f"must be a multiple of chars_per_token ({chars_per_token})"
            raise InputError(rule, path="block_chars", value=block_chars)
        self.granule_tokens = block_chars // chars_per_token
        self.input_tokens: list[int] = []
        self.empty = 0
        self._block_chars, self._chars_per_token = block_chars, chars_per_token
        self._known: dict[tuple[int, str], int] = {}
        self._n_ids = 0
        self._ids: list[int] = []
        self._start = [0]

    def add(self, text: str) -> None:
        """One more prompt; an empty one counts as one token."""
        self.empty += not text
        before = -1
        for at in range(0, max(len(text), 1), self._block_chars):
            block = (before, text[at : at + self._block_chars])
            before = self._known.setdefault(block, self._n_ids)
            self._n_ids += before == self._n_ids
            self._ids.append(before)
        self._close(max(self.tokens(text), 1))

    def add_own(self, input_tokens: int) -> None:
        """One more prompt whose text is not known: `input_tokens` tokens in blocks unlike all others."""
        count = -(-input_tokens // self.granule_tokens)
        self._ids.extend(range(self._n_ids, self._n_ids + count))
        self._n_ids += count
        self._close(input_tokens)

    def tokens(self, text: str) -> int:
        """Estimated tokens of a text."""
        return -(-len(text) // self._chars_per_token)

    def described(self) -> str:
        """How the prompts were cut, for `Trace.source`."""
        note = f", {self.empty} empty prompts counted as 1 token" if self.empty else ""
        return f"blocks of {self._block_chars} characters, {self._chars_per_token} characters a token{note}"

    @property
    def blocks(self) -> tuple[Ints, Ints]:
        """(block_start, ids) of all prompts added."""
        return np.array(self._start, np.int64), np.array(self._ids, np.int64)

    def _close(self, input_tokens: int) -> None:
        if self._n_ids > _MAX_BLOCKS or input_tokens >= 2**31:
            raise InputError("too large", hint="ask for fewer requests or larger blocks")
        self._start.append(len(self._ids))
        self.input_tokens.append(input_tokens)


def message_text(role: Any, content: Any) -> str:
    """One message of a conversation as a line of the prompt; what is not text (images, calls of tools) as canonical JSON."""
    return f"{role}: {content_text(content)}\n"


def content_text(content: Any) -> str:
    """The text of a message's content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(content_text(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, sort_keys=True)


def messages_text(messages: Any, name: str) -> str:
    """The prompt that a list of messages makes.

    Raises:
        InputError: not a list of objects; `path` is `name`.
    """
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise InputError("must be a list of messages", path=name, value=json.dumps(messages))
    parts = []
    for message in messages:
        parts.append(message_text(message.get("role", ""), message.get("content")))
        rest = {k: v for k, v in message.items() if k not in ("role", "content") and v is not None}
        if rest:
            parts.append(json.dumps(rest, sort_keys=True) + "\n")
    return "".join(parts)
