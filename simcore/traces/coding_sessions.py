"""Sessions of a coding agent, one conversation a line, with ids of 64-token blocks that are local to the conversation.

Source: callanjfox/kv-cache-tester, traces/ (Apache-2.0): Claude Code sessions, one file each; concatenated, one a line.

    {"id": "trace_0026", "block_size": 64, "hash_id_scope": "local", "requests": [
      {"t": 0.0, "type": "n", "in": 15291, "out": 2282, "hash_ids": [1, 2, ...], "api_time": 46.25, "think_time": 0.0},
      {"t": 134.2, "type": "subagent", "requests": [{"t": 0.0, ...}, ...]}, ...]}

Rules: `t` in s from the conversation's start, sorted; a subagent's requests count from its own `t`, run beside those of its
parent and share its ids; `in` >= 1 and `out` >= 0 tokens, and none counts as one; `hash_ids` names the whole blocks of the
prompt (in // block_size of them, or one more if the last, partly filled one is named too). Where it is not named, that block
is taken as unlike any other. Equal ids in two conversations are different blocks, although conversations share the head of
their prompts in truth.

A request is chained to the one before it in its conversation, or in its subagent, and comes `think_time` after that one's
answer; arrivals as recorded give the order. The first ones, and those without a `think_time` (they were sent while the one
before still ran), come at their recorded time: a request may trigger one other only, so a subagent cannot wait for its parent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError
from simcore.traces.assembly import trace_by_time
from simcore.traces.files import head_text
from simcore.traces.rows import at_least, first_object, json_rows, number, required
from simcore.traces.trace import Trace, densify

suffixes: tuple[str, ...] = ()  # .jsonl alone says nothing: the content tells
_DEEPEST = 16
_Ints = NDArray[np.int64]


def sniff(path: str | Path) -> bool:
    """Whether the first object is a conversation: it has `requests`, and `hash_ids` inside."""
    text = head_text(path)
    return "requests" in first_object(text) and '"hash_ids"' in text


def read(path: str | Path, *, start_gap_s: float = 0.0, chained: bool = True, subagents_restart: bool = True) -> Trace:
    """Read coding sessions; every conversation is a session.

    Args:
        start_gap_s: conversation k of the file starts k times this after the first; 0: all start at once.
        subagents_restart: a subagent's times count from its own start; off: from the conversation's, as if all subagents began
            with it (published counts of what falls into the first hour are made so).
        chained: requests wait for the answer before and the think time; off: all arrive at their recorded times.

    Raises:
        InputError: unreadable file, or the first conversation that breaks a rule, with file, line, field and value.
    """
    file = str(path)
    at_least("start_gap_s", start_gap_s, 0.0)
    calls = _Calls(subagents_restart)
    for n, row in enumerate(json_rows(path)):
        with row.named(file):
            calls.add_conversation(row.data, n, n * start_gap_s)
    after, think_s = np.array(calls.after), np.array(calls.think_s)
    if not chained:
        after, think_s = np.full(len(after), -1), np.zeros(len(after))
    start = np.concatenate(([0], np.cumsum([len(ids) for ids in calls.ids])))
    n_conversations = calls.session[-1] + 1
    source = f"coding sessions {Path(path).name}, {n_conversations} conversations"
    source += f" started every {start_gap_s:g} s" if start_gap_s else " started at once"
    source += "" if chained else ", arrivals as recorded"
    try:
        return trace_by_time(
            np.array(calls.times_s),
            np.array(calls.inputs),
            np.array(calls.outputs),
            (start, np.concatenate(calls.ids)),
            calls.granule,
            after=after,
            think_s=think_s,
            session=calls.session,
            source=source,
        )
    except InputError as error:
        raise error.within(file=file) from None


class _Calls:
    """The requests of all conversations, in file order."""

    def __init__(self, subagents_restart: bool) -> None:
        self._restart = subagents_restart
        self.granule = 0
        self.times_s: list[float] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.ids: list[_Ints] = []
        self.after: list[int] = []
        self.think_s: list[float] = []
        self.session: list[int] = []
        self._next_id = 0

    def add_conversation(self, row: dict[str, Any], n: int, start_s: float) -> None:
        required(row, "block_size")
        granule = int(number(row, "block_size", (int,), 1))
        if self.granule and granule != self.granule:
            rule = f"must be the same in every conversation, before it was {self.granule}"
            raise InputError(rule, path="block_size", value=granule)
        self.granule = granule
        paths: list[str] = []
        named: list[_Ints] = []
        for before, time_s, path, call in _walk(row, "", start_s, len(self.inputs), self._restart):
            try:
                named.append(self._add(call, before))
            except InputError as error:
                raise error.within(prefix=path) from None
            self.times_s.append(time_s)
            paths.append(path)
        if not named:
            raise InputError("holds no request", path="requests")
        self.session.extend([n] * len(named))
        self._number(named, paths)

    def _add(self, call: dict[str, Any], before: int) -> _Ints:
        """One request without its ids, which are returned as the file names them."""
        for name in ("in", "out", "hash_ids"):
            required(call, name)
        tokens = int(number(call, "in", (int,), 1))
        hashes = call["hash_ids"]
        if not isinstance(hashes, list) or set(map(type, hashes)) - {int}:
            raise InputError("must be a list of whole numbers", path="hash_ids", value=json.dumps(hashes))
        whole, rest = divmod(tokens, self.granule)
        if len(hashes) not in (whole, whole + (rest > 0)):
            rule = f"must hold one id per {self.granule} tokens: {whole} for {tokens} tokens"
            raise InputError(rule, path="hash_ids", value=f"{len(hashes)} ids")
        try:
            named = np.array(hashes, np.int64)
        except OverflowError:
            raise InputError("ids must fit in 64 bits", path="hash_ids", value=hashes) from None
        waits = before >= 0 and call.get("think_time") is not None
        self.think_s.append(number(call, "think_time", (int, float), 0) if waits else 0.0)
        self.after.append(before if waits else -1)
        self.outputs.append(int(number(call, "out", (int,), 0)))
        self.inputs.append(tokens)
        return named

    def _number(self, named: list[_Ints], paths: list[str]) -> None:
        """Give the blocks of one conversation numbers that no other uses, and unnamed last blocks one each."""
        ends = np.cumsum([len(names) for names in named])
        ids, count = densify(np.concatenate(named))
        before = np.full(len(ids), -1, np.int64)
        before[1:] = ids[:-1]
        begins = np.concatenate(([0], ends[:-1]))
        before[begins[begins < len(ids)]] = -1
        usual = np.empty(count, np.int64)
        usual[ids[::-1]] = before[::-1]  # of repeated indices the last one written stays: the first of the file
        odd = usual[ids] != before
        if odd.any():
            at = int(np.argmax(odd))
            call = int(np.searchsorted(ends, at, side="right"))
            rule = "equal ids must stand for equal prefixes (same ids before them)"
            name = f"{paths[call]}.hash_ids[{at - begins[call]}]"
            raise InputError(rule, path=name, value=int(named[call][at - begins[call]]))
        numbers = ids.astype(np.int64) + self._next_id
        self._next_id += count
        first = len(self.ids)
        for call, own in enumerate(np.split(numbers, ends[:-1])):
            if len(own) * self.granule < self.inputs[first + call]:
                own = np.append(own, self._next_id)
                self._next_id += 1
            self.ids.append(own)


def _walk(
    row: dict[str, Any], path: str, start_s: float, next_call: int, restart: bool, depth: int = 0
) -> Iterator[tuple[int, float, str, dict[str, Any]]]:
    """The requests of a conversation as (number of the one before it or -1, time, path, request); subagents inside included."""
    calls = required(row, "requests")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise InputError("must be a list of objects", path=f"{path}requests", value=json.dumps(calls))
    if depth > _DEEPEST:
        raise InputError(f"subagents must not be nested more than {_DEEPEST} deep", path=f"{path}requests")
    before, latest_s = -1, start_s
    for i, call in enumerate(calls):
        here = f"{path}requests[{i}]"
        try:
            required(call, "t")
            time_s = start_s + number(call, "t", (int, float), 0)
            if time_s < latest_s:
                raise InputError("times must be sorted", path="t", value=call["t"])
        except InputError as error:
            raise error.within(prefix=here) from None
        latest_s = time_s
        if "requests" in call:
            for inner in _walk(call, f"{here}.", time_s if restart else start_s, next_call, restart, depth + 1):
                next_call += 1
                yield inner
        else:
            yield before, time_s, here, call
            before = next_call
            next_call += 1
