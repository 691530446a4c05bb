"""What a broken or unusual trace file of each access format says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcore.errors import InputError
from simcore.traces import _delimited
from simcore.traces.load import read_accesses, read_trace

CLOUD = "version,time,op,size,lbn\n1,10,2a,512,7\n"
CRITEO = "Id,Label," + ",".join([*(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27))]) + "\n"
CRITEO_ROW = "1,0," + "," * 13 + ",".join(["68fd1e64"] * 26) + "\n"
KV = "op_time,key,key_size,op,op_count,size\n1,a,2,GET,1,0\n"
BLOCK = "op_time,block_id,io_size,io_offset,op_name,op_count\n1,a,100,0,getChunkData.Permanent,1\n"
GOOD = {
    "libcachesim_csv": CLOUD,
    "criteo": CRITEO + CRITEO_ROW,
    "cachelib_kv": KV,
    "cachelib_block": BLOCK,
    "user_item_time": "user_id\titem_id\ttime\n1\t2\t3\n",
    "arc_lis": "1 1 0 0\n",
    "adaptsize": "1 0 68\n2 1 10\n3 0 68\n",
    "id_lines": "5\n7\n5\n",
}
HEADED = ("libcachesim_csv", "criteo", "cachelib_kv", "cachelib_block", "user_item_time")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def message(folder: Path, content: str | bytes, name: str = "t.txt", **options: Any) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_accesses(path, **options)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize("reader", GOOD)
def test_unusual_but_right_files_read_alike(tmp_path: Path, reader: str) -> None:
    plain = GOOD[reader].encode()
    usual = tmp_path / "usual"
    usual.write_bytes(plain)
    expected = read_accesses(usual, reader=reader)
    lines = plain.split(b"\n")
    for i, content in enumerate(
        (
            plain.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + plain,
            plain.rstrip(b"\n"),
            b"\n" + lines[0] + b"\n\n" + b"\n".join(lines[1:]) + b"\n\r\n",
        )
    ):
        path = tmp_path / f"unusual{i}"
        path.write_bytes(content)
        found = read_accesses(path, reader=reader)
        assert found.ids.tolist() == expected.ids.tolist()
        for name in ("sizes", "time_s", "category", "request_start"):
            column = getattr(expected, name)
            assert column is None or getattr(found, name).tolist() == column.tolist()


@pytest.mark.parametrize("reader", [*GOOD, "oracle_general", "keys32", "keys64", "table"])
def test_files_with_nothing_in_them(tmp_path: Path, reader: str) -> None:
    options = {"key": "a"} if reader == "table" else {}
    assert message(tmp_path, b"", reader=reader, **options) == "t.txt: the trace file is empty"
    assert message(tmp_path, b"") == "t.txt: the trace file is empty"
    if reader in GOOD:
        assert message(tmp_path, b"\n\n \r\n", reader=reader) == "t.txt: holds no access"


def test_a_file_of_blanks_without_a_reader(tmp_path: Path) -> None:
    assert message(tmp_path, b"\n \n") == "t.txt: holds nothing but blanks"


@pytest.mark.parametrize("reader", HEADED)
def test_a_header_only(tmp_path: Path, reader: str) -> None:
    header = GOOD[reader].partition("\n")[0]
    assert message(tmp_path, header, reader=reader) == "t.txt: holds no access"
    assert message(tmp_path, header + "\n\n", reader=reader) == "t.txt: holds no access"


@pytest.mark.parametrize("reader", HEADED)
def test_a_missing_column_is_named(tmp_path: Path, reader: str) -> None:
    needed = {
        "libcachesim_csv": "lbn",
        "criteo": "C7",
        "cachelib_kv": "key_size",
        "cachelib_block": "io_size",
        "user_item_time": "item_id",
    }
    content = GOOD[reader].replace(needed[reader], "other", 1)
    text = message(tmp_path, content, reader=reader)
    assert text.startswith("t.txt:1: ")
    assert "the columns are" in text.lower()


@pytest.mark.parametrize("reader", GOOD)
def test_binary_content_and_other_encodings(tmp_path: Path, reader: str) -> None:
    assert message(tmp_path, b"\x00\x01" * 50, reader=reader) == "t.txt: must be a text file, this is binary"
    body = GOOD[reader].encode()
    bad = body + body.rstrip(b"\n").rpartition(b"\n")[2] + b"\xe9\n"
    line = bad.count(b"\n")
    text = message(tmp_path, bad, reader=reader)
    assert text.startswith(f"t.txt:{line}: ")


MISTAKES = [
    (
        "arc_lis",
        "1 1 0 0\n1 1 0\n",
        "t.txt:2: each line must have 4 fields (first_page, page_count, ignored, request_number); got 1 1 0",
    ),
    ("arc_lis", "1 0 0 0\n", "t.txt:1: page_count: must be at least 1; got 0"),
    ("arc_lis", "-1 1 0 0\n", "t.txt:1: first_page: must not be negative; got -1"),
    ("arc_lis", "x 1 0 0\n", "t.txt:1: first_page: must be a whole number; got x"),
    ("arc_lis", "1 3000000000 0 0\n", "t.txt:1: page_count: must be at most 2147483648; got 3000000000"),
    ("arc_lis", "99999999999999999999 1 0 0\n", "t.txt:1: first_page: must fit in 64 bits; got 99999999999999999999"),
    ("adaptsize", "1 0 68\n2 1 0\n", "t.txt:2: size: must be at least 1; got 0"),
    ("adaptsize", "1 0 68\n\n2 1 6.5\n", "t.txt:3: size: must be a whole number; got 6.5"),
    ("id_lines", "1\n2 3\n", "t.txt:2: each line must have 1 field (id); got 2 3"),
    ("libcachesim_csv", CLOUD + "1,10,2a,0,8\n", "t.txt:3: size: must be at least 1; got 0"),
    ("libcachesim_csv", CLOUD + "1,soon,2a,1,8\n", "t.txt:3: time: must be a finite number; got soon"),
    ("libcachesim_csv", CLOUD + "1,inf,2a,1,8\n", "t.txt:3: time: must be a finite number; got inf"),
    ("libcachesim_csv", CLOUD + "1,10,2a,1,\n", 't.txt:3: lbn: must not be empty; got ""'),
    (
        "libcachesim_csv",
        CLOUD + "1,10,2a,1\n",
        "t.txt:3: each line must have 5 fields (version, time, op, size, lbn); got 1,10,2a,1",
    ),
    ("cachelib_kv", KV + "1,a,2,GET,1,-1\n", "t.txt:3: size: must not be negative; got -1"),
    ("libcachesim_csv", CLOUD + "1,10,2a,0,abc\n", "t.txt:3: size: must be at least 1; got 0"),
    ("libcachesim_csv", CLOUD + "1,10,2a,5,abc\n1,10,2a,5 k,abc\n", "t.txt:4: size: must be a whole number; got 5 k"),
    ("cachelib_kv", KV + "1,,2,GET,1,1\n", 't.txt:3: key: must not be empty; got ""'),
    ("cachelib_block", BLOCK + "1,a,0,0,get,1\n", "t.txt:3: io_size: must be at least 1; got 0"),
    (
        "criteo",
        CRITEO + CRITEO_ROW + CRITEO_ROW.replace("68fd1e64\n", "68fd1e6g\n"),
        "t.txt:3: C26: must be 8 hexadecimal digits (0-9, a-f) or empty; got 68fd1e6g",
    ),
    (
        "criteo",
        CRITEO + CRITEO_ROW + CRITEO_ROW.replace("68fd1e64\n", "68fd1e641\n"),
        "t.txt:3: C26: must be 8 hexadecimal digits (0-9, a-f) or empty; got 68fd1e641",
    ),
    ("user_item_time", "user,item,time\n1,2,3\n1,2,x\n", "t.txt:3: time: must be a finite number; got x"),
    (
        "user_item_time",
        "1,2\n",
        "t.txt:1: without a header there must be three columns (user, item, time) or four (user, item, rating, time); "
        "got 2 columns",
    ),
]


@pytest.mark.parametrize(("reader", "content", "text"), MISTAKES)
def test_the_first_mistake_is_told(tmp_path: Path, reader: str, content: str, text: str) -> None:
    assert message(tmp_path, content, reader=reader) == text


def test_mistakes_far_into_a_file_have_the_right_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "".join(f"{i} 1 0 {i}\n" for i in range(50_000))
    monkeypatch.setattr(_delimited, "pieces", lambda path, size=4096: original(path, 4096))
    for at in (0, 1, 17_000, 49_999):
        lines = many.splitlines(keepends=True)
        lines[at] = "1 1 0 x\n"
        lines.insert(min(at + 10, 49_999), "worse\n")
        if at + 10 > 49_999:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
        assert message(tmp_path, "".join(lines), reader="arc_lis").startswith(
            f"t.txt:{at + 1}: request_number: must be a whole"
        )


original = _delimited.pieces


@pytest.mark.parametrize(
    ("last", "rule"),
    [
        ("abc", "must be a whole number, as the ids before it are; got abc"),
        (str(2**64), f"must fit in 64 bits; got {2**64}"),
    ],
)
def test_the_beginning_decides_what_ids_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, rule: str) -> None:
    monkeypatch.setattr(_delimited, "pieces", lambda path, size=8: original(path, 8))
    assert message(tmp_path, f"-1\n5\n-1\n6\n-1\n7\n-1\n{last}\n-1\n", reader="id_lines") == f"t.txt:8: id: {rule}"


def test_ids_of_both_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_delimited, "pieces", lambda path, size=30: original(path, 30))
    text = message(tmp_path, "1\n" * 15 + f"-1\n{2**64 - 1}\n", reader="id_lines")
    assert text == f"t.txt:17: id: ids below 0 and ids of 2^63 or more cannot be mixed; got {2**64 - 1}"
    monkeypatch.setattr(_delimited, "pieces", lambda path, size=4: original(path, 4))
    text = message(tmp_path, f"-1\n1\n1\n1\n1\n{2**64 - 1}\n", reader="id_lines")
    assert text == "t.txt: keys: a trace cannot hold both keys of kind 'below 0' and '2^63 or more'"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"reader": "arc_lis", "block_size": 16}, "block_size: the format arc_lis has no prompts to cut into blocks; got 16"),
        ({"reader": "arc_lis", "size": "x"}, "size: is not an option of the arc_lis format. The format has no options"),
        ({"reader": "id_lines", "textids": True}, "textids: is not an option of the id_lines format. Did you mean text_ids?"),
        ({"reader": "arclis"}, "unknown name in traces; got arclis. Did you mean arc_lis?"),
        ({"reader": "criteo", "tables": "C27"}, "tables: no such table; got C27. Did you mean C7?"),
        ({"reader": "criteo", "tables": "C1,C1"}, "tables: must name tables, each once; got C1,C1"),
        ({"reader": "user_item_time", "column": "usr"}, "column: must be item or user; got usr. Did you mean user?"),
        ({"reader": "libcachesim_csv", "obj_id_col": 9}, "obj_id_col: must be between 1 and the 4 columns of the file; got 9"),
        ({"reader": "libcachesim_csv", "time_col": 1}, "obj_id_col: is required if columns are given by number"),
        (
            {"reader": "libcachesim_csv", "delimiter": "#"},
            "delimiter: is not a known delimiter; got '#'. One of: , ; | a tab, a blank",
        ),
        ({"reader": "table"}, "key: is required: the column of the object. The columns are 1, 1, 0, 0"),
        ({"reader": "table", "key": "a", "time_unit": "h"}, "time_unit: must be s, ms, us or ns; got h. One of: ms, ns, s, us"),
        ({"reader": "table", "key": "0"}, "t.txt: 0: two columns have the same name"),
        ({"reader": "table", "key": "x"}, "t.txt: key: no such column in the file; got x. The columns are 1, 1, 0, 0"),
        (
            {"reader": "table", "header": False, "key": "1", "time": "2", "size": "2"},
            "time: the column is already in use as size; got 2",
        ),
        ({"reader": "table", "header": False, "key": "1,1"}, "key: must name columns, each once; got 1, 1"),
        (
            {"reader": "table", "header": False, "key": "1", "category": "3"},
            "t.txt: category: numbers must be from 0 to below 2^31; got -7",
        ),
    ],
)
def test_options(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    content = "1 1 -7 0\n" if options.get("category") else "1 1 0 0\n"
    assert message(tmp_path, content, **options) == text


def test_an_access_format_is_no_request_trace(tmp_path: Path) -> None:
    path = tmp_path / "P.lis"
    path.write_text("1 1 0 0\n")
    with pytest.raises(
        InputError, match="P.lis: the format arc_lis holds references to objects, not requests with prompts"
    ) as caught:
        read_trace(path)
    assert "mooncake" in str(caught.value) and "id_lines" not in str(caught.value)


def test_a_format_without_ticks_refuses_to_leave_them_unspread(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n")
    assert read_trace(path, reader="azure_llm").n == 1
    for option in ({"spread_ticks": False}, {"nonsense": 1}):
        with pytest.raises(InputError, match=f"{next(iter(option))}: is not an option of the azure_llm format"):
            read_trace(path, reader="azure_llm", **option)  # type: ignore[arg-type]
