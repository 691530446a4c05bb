"""`dse trace describe`: its text whole, against golden files, and its JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dse.analysis.trace_text import trace_lines
from tests.dse.cli.conftest import Dse
from tests.dse.test_terminal import check

SECTIONS = ["arrivals", "lengths", "sessions", "reuse", "sizes", "categories", "popularity", "distances"]
KEYS = ["trace", "source", "format", "requests", "accesses", "distinct", "object", *SECTIONS, "left_out"]


def scrambled(n: int) -> list[int]:
    """n numbers below 2^31 that look random and never change."""
    values = [12345]
    for _ in range(n):
        values.append((1103515245 * values[-1] + 12345) % 2**31)
    return values[1:]


def chat(folder: Path) -> str:
    """Prompts of 1 to 12 blocks in Mooncake's form, some of which start alike, on a clock of 2 s."""
    lines = []
    for i, x in enumerate(scrambled(400)):
        blocks, root = 1 + (x >> 8) % 12, (x >> 16) % 23
        ids = [1000 * root + k if k < 4 or x % 3 else 100_000 + 50 * i + k for k in range(blocks)]
        stray = next((k for k, h in enumerate(ids) if h >= 100_000), blocks)
        ids[stray:] = [100_000 + 50 * i + k for k in range(stray, blocks)]
        row = {"timestamp": i // 7 * 2000, "input_length": 512 * blocks, "output_length": 1 + x % 900, "hash_ids": ids}
        lines.append(json.dumps(row))
    (folder / "chat.jsonl").write_text("\n".join(lines) + "\n")
    return "chat.jsonl"


def objects(folder: Path) -> str:
    """Objects of changing sizes in three tables, the low numbers asked for more often."""
    rows = ["object,bytes,table,when"]
    for i, x in enumerate(scrambled(3000)):
        key = int(400 * ((x >> 4) / 2**27) ** 3)
        rows.append(f"{key},{1000 + 37 * (key % 90) + (i % 97 == 0)},{key % 3},{i * 0.25 + (x % 100) / 500}")
    (folder / "objects.csv").write_text("\n".join(rows) + "\n")
    return "objects.csv"


TABLE = [f"--option={column}" for column in ("key=object", "size=bytes", "category=table", "time=when")]


@pytest.mark.parametrize(
    ("name", "make", "arguments"),
    [("trace_chat", chat, []), ("trace_objects", objects, ["--reader", "table", *TABLE])],
)
def test_the_text(name: str, make: object, arguments: list[str], dse: Dse, folder: Path) -> None:
    done = dse("trace", "describe", make(folder), *arguments)  # type: ignore[operator]
    assert done.status == 0 and done.err == ""
    check(name, done.out)
    commands = done.out[done.out.index("\nNext\n") :]
    lines = done.out.removesuffix(commands).splitlines()
    assert done.out.isascii() and max(map(len, lines)) <= 80 and all(line == line.rstrip() for line in lines)


def test_a_trace_of_lengths(dse: Dse, folder: Path) -> None:
    rows = [f"2023-11-16 18:15:{i // 4:02d}.{i % 4}000000,{100 + x % 3000},{x % 70}" for i, x in enumerate(scrambled(200))]
    (folder / "azure.csv").write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]) + "\n")
    done = dse("trace", "describe", "azure.csv")
    check("trace_lengths", done.out)
    assert "reuse, categories, popularity, distances: no block occurs twice" in done.out and "dse mrc" not in done.out


def test_the_object(dse: Dse, folder: Path) -> None:
    data = dse("trace", "describe", objects(folder), "--reader", "table", *TABLE, "--json").data
    assert list(data) == KEYS
    assert data["format"]["reader"] == "table" and data["format"]["options"]["key"] == "object"
    assert all((data[name] is None) == (name in data["left_out"]) for name in SECTIONS)
    assert set(data["left_out"]) == {"lengths", "sessions"}
    assert [row["category"] for row in data["categories"]["largest"]] == [0, 1, 2]
    assert sum(row["accesses"] for row in data["categories"]["largest"]) == data["accesses"] == 3000
    bins = data["distances"]["bins"]
    assert [b["up_to"] for b in bins] == [2**k for k in range(len(bins))]
    assert bins[-1]["hit_ratio"] == pytest.approx(data["reuse"]["ceiling"])


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_the_text_fits(width: int, dse: Dse, folder: Path) -> None:
    for arguments in ([chat(folder)], [objects(folder), "--reader", "table", *TABLE]):
        data = dse("trace", "describe", *arguments, "--json").data
        lines = trace_lines(data, width)
        lines = lines[: lines.index("Next")]
        assert max(map(len, lines)) <= max(width, 54), "tables have a least width"


def test_next_reads_the_trace_in_the_same_way(dse: Dse, folder: Path) -> None:
    out = dse("trace", "describe", objects(folder), "--reader", "table", "--option", "key=object").out
    assert out.endswith("Next\n  dse mrc objects.csv --reader table --option key=object\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope.csv"], "dse: nope.csv: no such trace file"),
        (
            ["objects.csv", "--reader", "tabel"],
            "dse: objects.csv: --reader: unknown name in traces; got tabel. Did you mean table?",
        ),
        (["objects.csv", "--reader", "table"], "dse: objects.csv: --option key: is required: the column of the object."),
        (["objects.csv", "--reader", "table", "--option", "ky=k"], "dse: objects.csv: --option ky: is not an option of the"),
        (["objects.csv", "--option", "key"], "dse: objects.csv: no reader recognises"),
        (["objects.csv", "--reader", "table", "--option", "key"], "dse: objects.csv: --option: must be key=value; got key"),
        (
            ["objects.csv", "--reader", "table", "--option", "text_ids=5"],
            "dse: objects.csv: --option text_ids: must be true or",
        ),
        (["objects.csv"], "dse: objects.csv: no reader recognises this trace. Name one with --reader NAME, of "),
    ],
)
def test_mistakes(arguments: list[str], message: str, dse: Dse, folder: Path) -> None:
    objects(folder)
    done = dse("trace", "describe", *arguments)
    assert done.status == 2 and done.out == "" and done.err.startswith(message) and done.err.count("\n") == 1
    told = dse("trace", "describe", *arguments, "--json")
    assert told.status == 2 and told.data["error"]["rule"]


def test_a_pipe_is_refused_at_once(dse: Dse, folder: Path) -> None:
    os.mkfifo(folder / "p.csv")
    for arguments in ([], ["--reader", "table", "--option", "key=a"]):
        assert dse("trace", "describe", "p.csv", *arguments).err == "dse: p.csv: must be a regular file\n"


def test_a_name_that_is_not_utf8(dse: Dse, folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.jsonl")
    os.rename(folder / chat(folder), folder / name)
    done = dse("trace", "describe", name)
    assert done.status == 0 and done.out.startswith("caf\\udce9.jsonl\n")
    assert dse("trace", "describe", name, "--json").data["trace"] == name


def test_a_mistake_in_a_line_has_its_number_in_json(dse: Dse, folder: Path) -> None:
    (folder / "t.csv").write_text("a,s\n1,5\n2,x\n")
    told = dse("trace", "describe", "t.csv", "--reader", "table", "--option", "key=a", "--option", "size=s", "--json").data[
        "error"
    ]
    assert (told["file"], told["line"], told["path"], told["value"]) == ("t.csv", 3, "s", "x")


def test_a_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    chat(folder)
    command = f"{sys.executable} -m dse.cli trace describe chat.jsonl | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ}, check=False)
    assert done.stdout == "chat.jsonl\n" and done.stderr == ""
