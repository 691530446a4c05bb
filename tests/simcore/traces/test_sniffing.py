"""Every format is recognised by its own reader and by no other."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from simcore.plugins import find, names
from simcore.traces.load import FAMILY, read_trace, reader_of

PUBLISHED = {
    "kv/mooncake_conversation.jsonl.zst": "mooncake",
    "kv/claude_code_0001_0120.jsonl.zst": "coding_sessions",
    "kv/lmcache_agent_miniswe.jsonl.zst": "agent_text",
    "kv/lmcache_agent_magagent.jsonl.zst": "agent_text",
    "kv/azure_llm_2023_conv.csv.zst": "azure_llm",
    "kv/azure_llm_2023_code.csv.zst": "azure_llm",
    "kv/servegen_deepseek-r1.tar.zst": "servegen",
    "multimodal/servegen_mm-image.tar.zst": "servegen",
    "multimodal/coco_pope_random.jsonl.zst": "image_list",
    "multimodal/coco_pope_popular.jsonl.zst": "image_list",
    "multimodal/coco_pope_adversarial.jsonl.zst": "image_list",
    "embedding/dlrm_reuse_medium_500K.txt.zst": "id_lines",
    "embedding/scarab-recs.trace.xz": "keys64",
    "embedding/rechorus_grocery_train.csv.zst": "user_item_time",
    "embedding/criteo_train_tiny.csv.zst": "criteo",
    "classical/cloudPhysicsIO.csv.zst": "libcachesim_csv",
    "classical/cloudPhysicsIO.oracleGeneral.bin.zst": "oracle_general",
    "classical/adaptsize_request.trace.xz": "adaptsize",
    "classical/cache2k_orm-busy.trace.xz": "keys32",
    "classical/cache2k_web12.trace.xz": "keys32",
    "classical/arc_OLTP.lis.zst": "arc_lis",
    "classical/cachelib_block_traces_1.csv": "cachelib_block",
    "classical/cachelib_kv_traces_1.csv": "cachelib_kv",
}

TURNS = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]
MESSAGES = [{"role": "user", "content": "hi"}]
LONG = "word " * 30_000  # goes on beyond what sniffing looks at
SAMPLES: dict[str, tuple[str, str]] = {
    "mooncake": ("mooncake", json.dumps({"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [1]})),
    "mooncake, dates and texts": (
        "mooncake",
        json.dumps({"hash_ids": ["a"], "timestamp": "2024-01-01 00:00:00", "input_length": 5, "output_length": 5}),
    ),
    "mooncake, a long first prompt": (
        "mooncake",
        json.dumps({"timestamp": 0, "input_length": 10**7, "output_length": 5, "hash_ids": list(range(20_000))}),
    ),
    "azure": ("azure_llm", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,5,6"),
    "agent": ("agent_text", json.dumps({"timestamp": 5, "input": "hi", "output": "x", "session_id": "s"})),
    "agent, a long first prompt": ("agent_text", json.dumps({"timestamp": 5, "input": LONG, "output": "x"})),
    "agent, messages": ("agent_text", json.dumps({"timestamp": 5, "input": MESSAGES})),
    "coding": ("coding_sessions", json.dumps({"id": "c", "block_size": 4, "requests": [{"t": 0, "hash_ids": [1]}]})),
    "chat log": ("openai_log", json.dumps({"created": 5, "messages": MESSAGES})),
    "chat log with answers": (
        "openai_log",
        json.dumps({"timestamp": 5, "request": {"messages": MESSAGES}, "response": {"usage": {"prompt_tokens": 5}}}),
    ),
    "batch file": ("openai_log", json.dumps({"custom_id": "a", "method": "POST", "body": {"messages": MESSAGES}})),
    "batch file, long": ("openai_log", json.dumps({"custom_id": "a", "body": {"messages": [{"content": LONG}]}})),
    "prompts": ("openai_log", json.dumps({"prompt": "hi", "created": 5})),
    "chat log with images": ("openai_log", json.dumps({"messages": MESSAGES, "images": ["a.jpg"]})),
    "usage alone": ("openai_log", json.dumps({"created": 5, "usage": {"prompt_tokens": 5, "completion_tokens": 6}})),
    "conversations": ("sharegpt", json.dumps([{"id": "a", "conversations": TURNS}])),
    "conversations by line": ("sharegpt", json.dumps({"id": "a", "conversations": TURNS})),
    "conversations about images": ("sharegpt", json.dumps({"id": "a", "image": "a.jpg", "conversations": TURNS})),
    "a long conversation": ("sharegpt", json.dumps([{"id": "a", "conversations": [{"from": "human", "value": LONG}]}])),
    "BurstGPT": ("lengths", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Log"),
    "vidur": ("lengths", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,5,6"),
    "lengths by line": ("lengths", json.dumps({"timestamp": 0, "input_length": 5, "output_length": 6})),
    "lengths in an array": ("lengths", json.dumps([{"prompt_len": 5, "output_len": 6}])),
    "images": ("image_list", json.dumps({"question_id": 1, "image": "a.jpg", "text": "?"})),
    "images with prompts": ("image_list", json.dumps({"prompt": "what?", "image": "a.jpg"})),
    "images in a table": ("image_list", "image,caption\na.jpg,b"),
    "image names": ("image_list", "val/a 1.jpg\nval/b.png\n"),
    "ids": ("id_lines", "5\n6\n5\n"),
    "blocks": ("libcachesim_csv", "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n"),
    "ratings": ("user_item_time", "user_id\titem_id\ttime\n2177\t3\t965779200\n"),
}
FOREIGN = {
    "blank": "\n\n",
    "a list of numbers": "[1, 2]",
    "brackets": "[" * 100_000,
    "an object": '{"name": "x"}',
    "a configuration": '{"requests": 5, "prompt": 3}',
    "prose": "It was a dark and stormy night,\nand the rain fell in torrents.\n",
    "a table of anything": "time,tokens\n0,5\n",
    "an HTTP log": "time,url,request_size,response_size\n0,/a,5,6\n",
    "YAML": "name: x\nscenario:\n  family: kv\n",
}


def claiming(path: Path) -> list[str]:
    return [name for name in names(FAMILY) if find(FAMILY, name).sniff(path)]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files(shared: Path, name: str) -> None:
    assert claiming(shared / "traces" / name) == [PUBLISHED[name]]


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(tmp_path: Path, name: str) -> None:
    reader, content = SAMPLES[name]
    path = tmp_path / "trace"
    for packed in (content.encode(), content.replace("\n", "\r\n").encode("utf-8-sig"), gzip.compress(content.encode())):
        path.write_bytes(packed)
        assert claiming(path) == [reader]
        assert reader_of(path).__name__ == f"simcore.traces.{reader}"


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace"
    path.write_text(FOREIGN[name])
    assert claiming(path) == []


def test_archives_of_other_things(tmp_path: Path) -> None:
    path = tmp_path / "some.tar"
    for name, expected in (("notes/readme.txt", []), ("x/chunk-3-trace.csv", ["servegen"])):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        path.write_bytes(buffer.getvalue())
        assert claiming(path) == expected


def test_options_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_text(SAMPLES["agent"][1])
    assert read_trace(path, block_chars=8, chars_per_token=2).granule_tokens == 4
