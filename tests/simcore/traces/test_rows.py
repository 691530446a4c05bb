"""Rows of text formats: the look at the first object, places in messages, CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcore.errors import InputError
from simcore.traces.rows import CUT, csv_rows, first_object, head_names, json_rows, whole


def written(folder: Path, content: str) -> Path:
    path = folder / "t.txt"
    path.write_text(content, newline="")
    return path


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ('{"a": 1, "b": [2, 3]}\n{"c": 4}', {"a": 1, "b": [2, 3]}),
        ('\n  [ {"a": 1}, {"b": 2}]', {"a": 1}),
        ('{"a": 1, "b": [2, {"c"', {"a": 1, "b": CUT}),
        ('{"a": "long te', {"a": CUT}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b"', {"a": 1}),
        ('{"a" 1}', {}),
        ("{}", {}),
        ("", {}),
        ("[]", {}),
        ("[1, 2]", {}),
        ('[[{"a": 1}]]', {}),
        ("a,b\n1,2", {}),
        ("[" * 100_000, {}),
        ('{"a": ' + "[" * 100_000, {"a": CUT}),
    ],
)
def test_first_object(text: str, members: dict[str, object]) -> None:
    assert first_object(text) == members


def test_objects_by_line_or_in_an_array(tmp_path: Path) -> None:
    lines = list(json_rows(written(tmp_path, '\ufeff{"a": 1}\r\n\r\n{"a": 2}')))
    assert [(row.line, row.data["a"]) for row in lines] == [(1, 1), (3, 2)]
    elements = list(json_rows(written(tmp_path, '[{"a": 1},\n {"a": 2}]')))
    assert [(row.line, row.element, row.data["a"]) for row in elements] == [(0, 0, 1), (0, 1, 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n \n", "t.txt: holds no request"),
        ("[]", "t.txt: holds no request"),
        ('{"a": 1}\n{"a": ', r"t.txt:2: each line must be one JSON object"),
        ('{"a": 1}\n7', r"t.txt:2: each line must be one JSON object; got 7"),
        ('[{"a": 1}, 7]', r"t.txt: \[1\]: must be a JSON object; got 7"),
        ('[{"a": 1},\n 7', r"t.txt:2: must be one JSON array, or one object a line"),
        ("[" * 100_000, "t.txt: must be one JSON array, or one object a line"),
        ('{"a": ' + "9" * 5000 + "}", r"t.txt:1: each line must be one JSON object"),
    ],
)
def test_what_holds_no_objects(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(json_rows(written(tmp_path, content)))


def test_csv(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffa;b c\r\n\r\n1;"x;\ny"\r\n;\r\n2;z\r\n')
    assert head_names(path) == ["a", "b c"]
    assert list(csv_rows(path)) == [(4, {"a": "1", "b c": "x;\ny"}), (6, {"a": "2", "b c": "z"})]
    assert head_names(written(tmp_path, '{"a": 1, "b": 2}')) == []
    assert head_names(written(tmp_path, "a\tb,c\td\n")) == ["a", "b,c", "d"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "t.txt: holds no request. A header alone is no trace"),
        ("\n\n", "t.txt: holds no request$"),
        ("a,b\n1,2\n3", "t.txt:3: must have 2 fields as the header has; got 1 fields"),
        ('a,b\n1,"2', "t.txt:2: is no valid CSV"),
    ],
)
def test_broken_csv(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(csv_rows(written(tmp_path, content)))


def test_whole_numbers_in_text() -> None:
    assert [whole(text, "n", 0) for text in ("0", " 12 ", "12.0", "1e3")] == [0, 12, 12, 1000]
    for text in ("", "x", "1.5", "nan", "inf", "1e400", "1_0", "١٢", "9" * 5000):
        with pytest.raises(InputError, match="n: must be a whole number"):
            whole(text, "n", 0)
    with pytest.raises(InputError, match="n: must not be negative"):
        whole("-1", "n", 0)
    with pytest.raises(InputError, match="n: must fit in 31 bits"):
        whole(str(2**31), "n", 0)
