"""Broken request logs: one message each, with file, line, field and value."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard

from simcore.errors import InputError
from simcore.traces import agent_text, azure_llm, coding_sessions, lengths, openai_log, sharegpt

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
AGENT = json.dumps({"timestamp": 5, "input": "hello", "output": "x", "session_id": "s"}) + "\n"
OPENAI = json.dumps({"created": 5, "messages": [{"role": "user", "content": "hi"}]}) + "\n"
SHAREGPT = json.dumps({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}) + "\n"
LENGTHS = "input_tokens,output_tokens,timestamp\n5,6,0\n"


def call(**changes: Any) -> dict[str, Any]:
    return {"t": 0, "in": 9, "out": 1, "hash_ids": [1, 2], **changes}


def coding(*calls: Any, **changes: Any) -> str:
    return json.dumps({"block_size": 4, "requests": calls or [call()], **changes}) + "\n"


GOOD: dict[ModuleType, str] = {
    azure_llm: AZURE,
    agent_text: AGENT,
    openai_log: OPENAI,
    sharegpt: SHAREGPT,
    lengths: LENGTHS,
    coding_sessions: coding(),
}

BROKEN: list[tuple[ModuleType, str, str]] = [
    (
        azure_llm,
        "TIMESTAMP,ContextTokens\n2023-11-16 18:15:46,3\n",
        ":2: GeneratedTokens: is required. The line has TIMESTAMP, ContextTokens",
    ),
    (azure_llm, "TIMESTAMP,ContextTokens,GeneratedTokens\n", "t.txt: holds no request. A header alone"),
    (azure_llm, AZURE + "2023-11-16 18:15:47,374\n", ":3: must have 3 fields as the header has; got 2 fields"),
    (azure_llm, AZURE + "\nyesterday,374,44\n", ":4: TIMESTAMP: must be a number or a date; got yesterday"),
    (azure_llm, AZURE + "2023-11-16 18:15:47,0,44\n", ":3: ContextTokens: must be at least 1; got 0"),
    (azure_llm, AZURE + "2023-11-16 18:15:47,x,44\n", ":3: ContextTokens: must be a whole number; got x"),
    (azure_llm, AZURE + "2023-11-16 18:15:47,7,-1\n", ":3: GeneratedTokens: must not be negative; got -1"),
    (azure_llm, AZURE + "2023-11-16 18:15:47,7,3000000000\n", ":3: GeneratedTokens: must fit in 31 bits"),
    (agent_text, '{"timestamp": 1' + "0" * 400 + ', "input": "a"}', ":1: timestamp: must fit in 64 bits"),
    (agent_text, '{"timestamp": 1e400, "input": "a"}', ":1: timestamp: must be finite"),
    (lengths, '{"input_len": 1' + "0" * 400 + ', "output_len": 1}', ":1: input_len: must fit in 31 bits"),
    (azure_llm, AZURE + "17,7,3\n", "must be dates or numbers throughout"),
    (agent_text, AGENT + '{"input": "a"}', ":2: timestamp: is required"),
    (agent_text, AGENT + '{"timestamp": 1}', ":2: input: is required. The line has timestamp"),
    (agent_text, AGENT + '{"timestamp": 1, "input": 5}', ":2: input: must be a list of messages; got 5"),
    (agent_text, AGENT + '{"timestamp": 1, "input": "a", "output": 5}', ":2: output: must be a text; got 5"),
    (agent_text, AGENT + '{"timestamp": 1, "input": "a", "session_id": [1]}', ":2: session_id: must be a name or a number"),
    (agent_text, AGENT + '{"timestamp": "x", "input": "a"}', ":2: timestamp: must be a number or a date; got x"),
    (agent_text, AGENT + '{"timestamp": "2023-11-16 18:15:47", "input": "a"}', "must be dates or numbers throughout"),
    (openai_log, OPENAI + '{"created": 5, "user": "a"}', ":2: needs messages, prompt or usage.prompt_tokens above 0"),
    (openai_log, OPENAI + '{"created": 5, "usage": 7}', ":2: usage: must be an object; got 7"),
    (
        openai_log,
        OPENAI + '{"created": 5, "usage": {"prompt_tokens": 1.5}}',
        ":2: prompt_tokens: must be a whole number; got 1.5",
    ),
    (openai_log, OPENAI + '{"created": 5, "messages": "hi"}', ":2: messages: must be a list of messages"),
    (openai_log, OPENAI + '{"created": 5, "prompt": ["hi"]}', ":2: prompt: must be a text"),
    (openai_log, OPENAI + '{"created": null, "prompt": "hi"}', ":2: created: some requests have a time and some have none"),
    (openai_log, OPENAI + '{"created": 5, "prompt": "hi", "user": {"id": 1}}', ":2: user: must be a name or a number"),
    (openai_log, '{"prompt": "hi"}\n' + OPENAI, ":2: created: some requests have a time and some have none"),
    (sharegpt, SHAREGPT + '{"id": 1}', ":2: conversations: is required"),
    (sharegpt, SHAREGPT + '{"conversations": "a"}', ":2: conversations: must be a list of turns"),
    (sharegpt, SHAREGPT + '{"conversations": [{"from": "human"}]}', r":2: conversations\[0\]: must be an object with"),
    (sharegpt, '[{"conversations": []},\n {"conversations": [7]}]', r"\[1\].conversations\[0\]: must be an object with"),
    (sharegpt, '{"conversations": [{"from": "gpt", "value": "a"}]}', "t.txt: holds no answer to a prompt"),
    (lengths, "a,b\n1,2\n", r":2: has no length of the prompt. The columns are a, b"),
    (lengths, "input_tokens,b\n1,2\n", r":2: has no length of the answer"),
    (lengths, LENGTHS + "0,6,1\n", ":3: input_tokens: must be at least 1; got 0"),
    (lengths, LENGTHS + "1,,1\n", ":3: output_tokens: must be a whole number; got"),
    (lengths, LENGTHS + "1,1,\n", ":3: timestamp: must be a number or a date"),
    (lengths, '{"input_len": 1, "output_len": [2]}', ":1: output_len: must be a whole number"),
    (lengths, '{"input_len": 1, "output_len": true}', ":1: output_len: must be a whole number; got true"),
    (
        lengths,
        '{"input_len": 1, "output_len": 1}\n{"input_len": 1, "output_len": 1, "time": 3}',
        ":2: time: some requests have",
    ),
    (coding_sessions, coding() + '{"requests": []}', ":2: block_size: is required"),
    (coding_sessions, coding() + '{"block_size": 4}', ":2: requests: is required"),
    (coding_sessions, coding() + coding(block_size=0), ":2: block_size: must be at least 1; got 0"),
    (
        coding_sessions,
        coding() + coding(block_size=8),
        ":2: block_size: must be the same in every conversation, before it was 4",
    ),
    (coding_sessions, coding() + coding(requests=[]), ":2: requests: holds no request"),
    (coding_sessions, coding(requests=[7]), ":1: requests: must be a list of objects"),
    (coding_sessions, coding({"t": 0, "in": 4, "out": 1}), r":1: requests\[0\].hash_ids: is required"),
    (coding_sessions, coding(call(t=3), call(t=2)), r":1: requests\[1\].t: times must be sorted; got 2"),
    (coding_sessions, coding(call(**{"in": 0})), r"requests\[0\].in: must be at least 1; got 0"),
    (coding_sessions, coding(call(out=-1)), r"requests\[0\].out: must not be negative"),
    (coding_sessions, coding(call(hash_ids=["a", "b"])), r"requests\[0\].hash_ids: must be a list of whole numbers"),
    (coding_sessions, coding(call(hash_ids=[1])), r"hash_ids: must hold one id per 4 tokens: 2 for 9 tokens; got 1 ids"),
    (coding_sessions, coding(call(hash_ids=[1, 2**70])), r"hash_ids: ids must fit in 64 bits"),
    (coding_sessions, coding(call(), call(think_time="x")), r"requests\[1\].think_time: must be a number"),
    (coding_sessions, coding(call(hash_ids=[5, 6]), call(hash_ids=[7, 6])), r"requests\[1\].hash_ids\[1\]: equal ids.*; got 6"),
    (
        coding_sessions,
        coding({"t": 0, "requests": [{"t": 0, "requests": [call(), {"t": 1}]}]}),
        r":1: requests\[0\].requests\[0\].requests\[1\].in: is required",
    ),
]


@pytest.mark.parametrize("case", range(len(BROKEN)), ids=lambda i: f"{BROKEN[i][0].__name__.rpartition('.')[2]}-{i}")
def test_a_broken_row_gives_one_message(tmp_path: Path, case: int) -> None:
    module, content, message = BROKEN[case]
    path = tmp_path / "t.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        module.read(path)
    assert caught.value.file == str(path)


READERS = pytest.mark.parametrize("module", GOOD, ids=lambda module: module.__name__.rpartition(".")[2])


@READERS
def test_broken_files(tmp_path: Path, module: ModuleType) -> None:
    good = GOOD[module]
    many = good * 200
    for content, message in (
        (b"", "t.txt: the trace file is empty"),
        (b"\n \r\n", "t.txt: holds no request"),
        (bytes(range(256)), "t.txt: must be a text file, this is binary"),
        (good.encode() + b"\xe9\xff", "must be UTF-8 text"),
        (gzip.compress(many.encode())[:-20], "the gzip file is truncated"),
        (zstandard.compress(many.encode())[:-10], "the Zstandard file is truncated"),
    ):
        path = tmp_path / "t.txt"
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            module.read(path)
        assert caught.value.file == str(path)
    with pytest.raises(InputError, match="no such trace file"):
        module.read(tmp_path / "none")


@READERS
def test_line_ends_marks_and_packing_do_not_matter(tmp_path: Path, module: ModuleType) -> None:
    path = tmp_path / "t.txt"
    path.write_text(GOOD[module])
    plain = module.read(path)
    for content in (
        b"\xef\xbb\xbf" + GOOD[module].replace("\n", "\r\n\r\n").encode(),
        GOOD[module].rstrip("\n").encode(),
        gzip.compress(GOOD[module].encode()),
        zstandard.compress(GOOD[module].encode()),
    ):
        path.write_bytes(content)
        assert module.sniff(path)
        assert module.read(path).sha256 == plain.sha256


def test_subagents_nest_only_so_deep(tmp_path: Path) -> None:
    inner: dict[str, Any] = call()
    for _ in range(20):
        inner = {"t": 0, "requests": [inner]}
    path = tmp_path / "t.txt"
    path.write_text(coding(inner))
    with pytest.raises(InputError, match="subagents must not be nested more than 16 deep"):
        coding_sessions.read(path)
