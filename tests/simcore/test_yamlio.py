"""The loader: YAML 1.2 scalars, nothing executed, one message for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.yamlio import dump_yaml, load_yaml, loads_yaml


def test_scalars_follow_yaml_1_2() -> None:
    text = "a: off\nb: 1e6\nc: 16:9\nd: 010\ne: yes\nf: true\ng: ~\nh: 2026-11-30\ni: 1e-3\nj: .5\nk: 1_000\n"
    assert loads_yaml(text).data == {
        "a": "off", "b": 1e6, "c": "16:9", "d": 10, "e": "yes", "f": True, "g": None, "h": "2026-11-30", "i": 1e-3, "j": 0.5,
        "k": "1_000",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: duplicate key 'a': lines 1 and 3"),
        ("a: {b: 1, b: 2}", "duplicate key 'b'"),
        ("a: &x 1\nb: *x", "not supported"),
        ("a: !!python/object/apply:os.system [ls]", "tags .* are not supported"),
        ("a: !include x", "tags .* are not supported"),
        ("a: [1, 2", "f.yaml:1: not valid YAML"),
        ("a: *.policy", "f.yaml:1"),
        ("a: @x", "Quote the value"),
        ("a:\n\t- 1", "f.yaml:2: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("? [a]\n: 1", "keys must be plain text"),
        ("a: " + "9" * 5000, "a number of more than 60 digits"),
        ("[" * 100_000, "nested more than 50 deep"),
    ],
)
def test_mistakes_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loads_yaml(text, "f.yaml")


def test_files_that_are_no_yaml(tmp_path: Path) -> None:
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"\x00\x01\x02")
    latin = tmp_path / "l.yaml"
    latin.write_bytes("a: caf\xe9".encode("latin-1"))
    for path, message in [
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path, "this is a folder"),
        (binary, "this is binary"),
        (latin, "must be UTF-8"),
        (Path("a\x00b"), "cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            load_yaml(path)


def test_lines_are_kept() -> None:
    document = loads_yaml("a:\n  b:\n    - 1\n    - c: 2\n")
    assert document.line("a.b[1].c") == 4
    assert document.line("a.b[1].other") == 4
    assert document.line("a.zzz") == 1


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"[a-z_.*]{1,8}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "on", "1", "x.y"]), plain, min_size=1, max_size=3))
def test_what_is_written_loads_back_equal_here_and_in_yaml_1_1(data: dict[str, object]) -> None:
    text = dump_yaml(data)
    assert loads_yaml(text).data == data
    assert yaml.safe_load(text) == data
