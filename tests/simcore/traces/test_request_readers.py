"""Readers of request logs on the published traces and on small files worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.traces import agent_text, azure_llm, coding_sessions, lengths, openai_log, sharegpt
from simcore.traces.reuse import ideal_hit, units
from simcore.traces.trace import Trace


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "t.txt"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), newline="")
    return path


def blocks(trace: Trace) -> list[list[int]]:
    return [trace.prompt_blocks(i).tolist() for i in range(trace.n)]


@pytest.mark.parametrize(
    ("name", "n", "span_s", "cv", "prompt", "answer"),
    [
        ("conv", 19_366, 3501.722, 1.094, (1020.0, 4142.0, 1154.7), (129.0, 601.0, 211.13)),
        ("code", 8_819, 3435.948, 13.151, (1469.0, 7436.0, 2047.85), (13.0, 251.46, 27.88)),
    ],
)
def test_azure_traces(shared: Path, name: str, n: int, span_s: float, cv: float, prompt: Any, answer: Any) -> None:
    trace = azure_llm.read(shared / f"traces/kv/azure_llm_2023_{name}.csv.zst")
    gaps = np.diff(trace.arrival_s)
    assert (trace.n, round(trace.span_s, 3), round(float(gaps.std() / gaps.mean()), 3)) == (n, span_s, cv)
    for tokens, facts in ((trace.input_tokens, prompt), (trace.output_tokens, answer)):
        assert (*np.percentile(tokens, [50, 99]).round(2).tolist(), round(float(tokens.mean()), 2)) == facts
    assert ideal_hit(trace).hit_units.sum() == 0
    assert trace.n_ids == int((-(-trace.input_tokens.astype(np.int64) // 16)).sum())
    assert "nothing can be reused" in trace.source


def test_azure_rows_by_hand(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "\ufeffTIMESTAMP,ContextTokens,GeneratedTokens\r",
        "2024-05-10 00:00:01.5000001+00:00,17,3\r",
        "\r",
        "2024-05-10 02:00:00+02:00,16,0\r",
    )
    assert azure_llm.sniff(path)
    trace = azure_llm.read(path)
    assert trace.arrival_s.tolist() == [0.0, 1.5000001]
    assert (trace.input_tokens.tolist(), trace.output_tokens.tolist()) == ([16, 17], [1, 3])
    assert blocks(trace) == [[0], [1, 2]]
    assert "1 empty outputs counted as 1 token" in trace.source
    assert blocks(azure_llm.read(path, granule_tokens=8)) == [[0, 1], [2, 3, 4]]


@pytest.mark.parametrize(
    ("name", "n", "sessions", "span_s", "block_chars", "hit"),
    [
        ("miniswe", 402, 20, 552, 256, 0.937),
        ("miniswe", 402, 20, 552, 2048, 0.937),
        ("magagent", 746, 25, 6449, 256, 0.839),
        ("magagent", 746, 25, 6449, 2048, 0.822),
    ],
)
def test_agent_traces(shared: Path, name: str, n: int, sessions: int, span_s: int, block_chars: int, hit: float) -> None:
    trace = agent_text.read(shared / f"traces/kv/lmcache_agent_{name}.jsonl.zst", block_chars=block_chars)
    assert (trace.n, int(trace.session.max()) + 1, round(trace.span_s)) == (n, sessions, span_s)
    assert round(ideal_hit(trace, recompute_last=False).unit_ratio, 3) == hit  # whole blocks only, as the facts count
    with_tails = ideal_hit(trace, partial_block=True, recompute_last=False)
    assert with_tails.prompt_units == len(trace.block_ids)
    assert trace.granule_tokens == block_chars // 4


def test_agent_prompts_by_hand(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"timestamp": 3_000_000, "input": "aaaabbbbcc", "output": "xyz", "session_id": "s"},
        {"timestamp": 1_000_000, "input": "aaaabbbb", "session_id": "s"},
        {"timestamp": 2_000_000, "input": "aaaa", "output": "", "session_id": 7},
        {"timestamp": 4_000_000, "input": "bbbbcc"},
        {"timestamp": 5_000_000, "input": "", "session_id": None},
        {"timestamp": 6_000_000, "input": [{"role": "u", "content": "hi"}], "session_id": "s"},
    )
    assert agent_text.sniff(path)
    trace = agent_text.read(path, block_chars=4, chars_per_token=2)
    assert trace.arrival_s.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert blocks(trace) == [[0, 1], [0], [0, 1, 2], [3, 4], [5], [6, 7]]
    assert trace.input_tokens.tolist() == [4, 2, 5, 3, 1, 3]
    assert trace.output_tokens.tolist() == [1, 1, 2, 1, 1, 1]
    assert trace.session.tolist() == [0, 1, 0, 2, 3, 0]
    assert "1 empty prompts counted as 1 token" in trace.source
    ideal = ideal_hit(trace, partial_block=True, recompute_last=False)
    assert ideal.hit_units.tolist() == [0, 1, 2, 0, 0, 0]
    assert agent_text.read(path, time_unit="ms").span_s == 5000.0
    with pytest.raises(InputError, match=r"block_chars: must be a multiple of chars_per_token \(3\); got 4"):
        agent_text.read(path, block_chars=4, chars_per_token=3)


def test_equal_ids_stand_for_equal_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("ab"), rng.integers(1, 12))) for _ in range(200)]
    path = written(tmp_path, *({"timestamp": i, "input": text, "output": ""} for i, text in enumerate(texts)))
    trace = agent_text.read(path, block_chars=3, chars_per_token=1)
    seen: dict[int, str] = {}
    for text, ids in zip(texts, blocks(trace), strict=True):
        ends = [*range(3, len(text), 3), len(text)]
        assert [seen.setdefault(name, text[:end]) for name, end in zip(ids, ends, strict=True)] == [text[:end] for end in ends]
    assert len(set(seen.values())) == len(seen) == trace.n_ids


def test_coding_sessions(shared: Path) -> None:
    path = shared / "traces/kv/claude_code_0001_0120.jsonl.zst"
    trace = coding_sessions.read(path)
    ideal = ideal_hit(trace, recompute_last=False)
    whole = units(trace, 64, partial_block=False, output=False)
    assert (trace.n, ideal.prompt_units, whole.n_ids) == (6_136, 12_842_125, 626_349)
    assert round(ideal.unit_ratio, 4) == 0.9512
    assert int(trace.session.max()) + 1 == 116
    assert np.percentile(trace.input_tokens, [50, 90]).tolist() == [109_506.5, 232_227.0]
    assert int(trace.input_tokens.max()) == 894_371
    per_session = [ideal.hit_units[trace.session == s].sum() / whole.prompt_units[trace.session == s].sum() for s in range(116)]
    assert np.percentile(per_session, [10, 50, 90]).round(3).tolist() == [0.816, 0.936, 0.969]
    think_s = trace.think_s[trace.after >= 0]
    assert float(np.median(think_s)) == 13.0
    assert (trace.session[trace.after] == trace.session)[trace.after >= 0].all()


def test_coding_sessions_in_their_first_hour(shared: Path) -> None:
    path = shared / "traces/kv/claude_code_0001_0120.jsonl.zst"
    trace = coding_sessions.read(path, chained=False, subagents_restart=False)
    hour = trace.first(int((trace.arrival_s <= 3600).sum()))
    assert (hour.n, units(hour, 64, partial_block=False, output=False).n_ids) == (3_347, 391_345)
    assert (trace.after == -1).all()


def conversation(*calls: Any, **changes: Any) -> dict[str, Any]:
    return {"id": "c", "block_size": 4, "hash_id_scope": "local", "requests": list(calls), **changes}


def call(t: float, tokens: int, ids: list[int], **changes: Any) -> dict[str, Any]:
    return {"t": t, "type": "n", "in": tokens, "out": 2, "hash_ids": ids, **changes}


def test_coding_sessions_by_hand(tmp_path: Path) -> None:
    subagent = {"t": 10, "type": "subagent", "requests": [call(0, 4, [9]), call(1, 9, [9, 8], think_time=0.5)]}
    path = written(
        tmp_path,
        conversation(call(0, 8, [1, 2]), subagent, call(10.5, 10, [1, 2], think_time=3), call(30, 4, [1])),
        conversation(call(0, 4, [1]), call(10, 10, [1, 2, 3], think_time=1, out=0)),
    )
    assert coding_sessions.sniff(path)
    trace = coding_sessions.read(path)
    assert trace.arrival_s.tolist() == [0, 0, 10, 10, 10.5, 11, 30]
    assert trace.session.tolist() == [0, 1, 0, 1, 0, 0, 0]
    assert trace.after.tolist() == [-1, -1, -1, 1, 0, 2, -1]
    assert trace.think_s.tolist() == [0, 0, 0, 1, 3, 0.5, 0]
    # The unnamed last block of a prompt is its own; ids of the second conversation are not those of the first.
    assert blocks(trace) == [[0, 1], [2], [3], [2, 4, 5], [0, 1, 6], [3, 7, 8], [0]]
    assert coding_sessions.read(path, start_gap_s=5).arrival_s.tolist() == [0, 5, 10, 10.5, 11, 15, 30]
    flat = coding_sessions.read(path, chained=False, subagents_restart=False)
    assert flat.arrival_s.tolist() == [0, 0, 0, 1, 10, 10.5, 30]


def test_a_request_log_with_texts(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    question = {"role": "user", "content": "hi"}
    path = written(
        tmp_path,
        {"created": 1_718_000_002, "user": "b", "body": {"messages": [question]}, "usage": usage, "session_id": 4},
        {"created": 1_718_000_000, "user": "a", "messages": [question], "choices": [{"message": {"content": "x" * 9}}]},
        {"created": 1_718_000_003, "body": {"prompt": "user: hi\nmore"}, "response": {"body": {"usage": usage}}},
        {"created": 1_718_000_004, "usage": usage},
    )
    assert openai_log.sniff(path)
    trace = openai_log.read(path, block_chars=8)
    assert trace.arrival_s.tolist() == [0.0, 2.0, 3.0, 4.0]
    assert trace.input_tokens.tolist() == [3, 3, 4, 5]  # "user: hi\n" is 9 characters
    assert trace.output_tokens.tolist() == [3, 7, 7, 7]
    assert blocks(trace) == [[0, 1], [0, 1], [0, 2], [3, 4, 5]]
    assert trace.tenant.tolist() == [1, 0, 2, 2]
    assert trace.session.tolist() == [1, 0, 2, 3]
    assert "(usage: 2.20)" in trace.source  # 9 + 13 characters for 10 counted tokens
    assert "1 requests by length only" in trace.source
    with pytest.raises(InputError, match="rate: the log has times of its own"):
        openai_log.read(path, rate=1.0)


def test_tools_and_parts_belong_to_the_prompt(tmp_path: Path) -> None:
    def asked(content: Any, **more: Any) -> dict[str, Any]:
        return {"custom_id": "r", "body": {"messages": [{"role": "user", "content": content, **more}]}}

    image = {"type": "image_url", "image_url": {"url": "http://x/1.png"}}
    rows = [asked([{"type": "text", "text": "hi"}]), asked("hi"), asked([image]), asked("hi", name="me")]
    rows.append({"body": {**rows[1]["body"], "tools": [{"type": "function"}]}})
    path = written(tmp_path, *rows)
    assert openai_log.sniff(path)
    trace = openai_log.read(path, rate=2.0)
    assert trace.arrival_s.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert blocks(trace) == [[0], [0], [1], [2], [3]]
    with pytest.raises(InputError, match="the log has no times. Give a rate"):
        openai_log.read(path)
    with pytest.raises(InputError, match="time_unit: the log has no times"):
        openai_log.read(path, time_unit="s")


@pytest.mark.parametrize("form", ["array", "lines"])
def test_conversations(tmp_path: Path, form: str) -> None:
    talk = [{"from": f, "value": v} for f, v in (("gpt", "yes?"), ("human", "aa"), ("gpt", "b"), ("human", "c"), ("gpt", "dd"))]
    rows = [
        {"id": "1", "conversations": talk},
        {"id": "2", "conversations": [{"role": "user", "content": "q"}, {"role": "assistant", "content": ""}]},
        {"id": "3", "conversations": []},
    ]
    path = written(tmp_path, rows) if form == "array" else written(tmp_path, *rows)
    assert sharegpt.sniff(path)
    trace = sharegpt.read(path, block_chars=4, chars_per_token=2, rate=4)
    first, second = "gpt: yes?\nhuman: aa\n", "gpt: yes?\nhuman: aa\ngpt: b\nhuman: c\n"
    assert trace.input_tokens.tolist() == [len(first) // 2, -(-len(second) // 2), 4]
    assert trace.output_tokens.tolist() == [1, 1, 1]
    assert trace.arrival_s.tolist() == [0.0, 0.25, 0.5]
    assert trace.session.tolist() == [0, 0, 1]
    assert blocks(trace)[1][:5] == blocks(trace)[0]
    assert "4 per second" in trace.source
    assert "1 conversations without an answer left out" in trace.source


def test_lengths_alone(tmp_path: Path) -> None:
    path = written(
        tmp_path, "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", "5,m,20,0,20,a", "5.5,m,3,4,7,a"
    )
    assert lengths.sniff(path)
    trace = lengths.read(path)
    assert (trace.input_tokens.tolist(), trace.output_tokens.tolist(), trace.arrival_s.tolist()) == (
        [20, 3],
        [1, 4],
        [0.0, 0.5],
    )
    assert blocks(trace) == [[0, 1], [2]]
    assert lengths.read(path, time_unit="ms").arrival_s.tolist() == [0.0, 0.0005]
    with pytest.raises(InputError, match="rate: the file has times of its own"):
        lengths.read(path, rate=1.0)
    untimed = written(tmp_path, {"prompt_len": 5, "output_len": 6}, {"prompt_len": 7, "output_len": 8})
    assert lengths.sniff(untimed)
    assert lengths.read(untimed).arrival_s.tolist() == [0.0, 1.0]
    assert lengths.read(untimed, rate=4, granule_tokens=4).arrival_s.tolist() == [0.0, 0.25]
    assert "1 per second" in lengths.read(untimed).source
    with pytest.raises(InputError, match="time_unit: the file has no times"):
        lengths.read(untimed, time_unit="s")
    mooncake_without_ids = written(tmp_path, {"timestamp": 9, "input_length": 5, "output_length": 6})
    assert lengths.sniff(mooncake_without_ids)
