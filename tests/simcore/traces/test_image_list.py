"""Lists of images: the published question files and every form by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.traces import image_list
from simcore.traces.image_list import chunks
from simcore.traces.load import read_accesses


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "t.txt"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), newline="")
    return path


def read(path: Path, **options: Any) -> list[tuple[str, int]]:
    assert image_list.sniff(path) or options
    found = list(chunks(path, **options))
    return [pair for part in found for pair in zip(part.keys.tolist(), part.request.tolist(), strict=True)]


@pytest.mark.parametrize("name", ["random", "popular", "adversarial"])
def test_coco_pope(shared: Path, name: str) -> None:
    images = [image for image, _ in read(shared / f"traces/multimodal/coco_pope_{name}.jsonl.zst")]
    assert (len(images), len(set(images))) == (3_000, 500)
    assert all(len(set(images[i : i + 6])) == 1 for i in range(0, 3_000, 6))


def test_images_become_accesses(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    accesses = read_accesses(shared / "traces/multimodal/coco_pope_random.jsonl.zst")
    assert (len(accesses), accesses.n_requests, accesses.n_objects) == (3_000, 3_000, 500)
    assert accesses.ids.tolist() == np.repeat(np.arange(500), 6).tolist()


def test_every_form(tmp_path: Path) -> None:
    assert read(written(tmp_path, {"image": "a", "text": "?"}, "\r", {"image": "b"}, {"image": "a"})) == [
        ("a", 1),
        ("b", 2),
        ("a", 3),
    ]
    several = written(tmp_path, {"images": ["a", "b"]}, {"images": []}, {"images": ["b"]}, {"images": None})
    assert read(several) == [("a", 1), ("b", 1), ("b", 3)]
    assert read(written(tmp_path, {"image_id": 2**70, "caption": "x"})) == [(str(2**70), 1)]
    assert read(written(tmp_path, "\ufeffquestion,image_path\r", 'what,"a, b.png"\r', "\r", "when,\r", "who,c.png")) == [
        ("a, b.png", 1),
        ("c.png", 3),
    ]
    assert read(written(tmp_path, "x/a b.jpg", "", " c.PNG ", "x/a b.jpg")) == [
        ("x/a b.jpg", 1),
        ("c.PNG", 3),
        ("x/a b.jpg", 4),
    ]
    assert read(written(tmp_path, {"image": "a", "picture": "p"}), field="picture") == [("p", 1)]
    assert read(written(tmp_path, "picture,n", "p,1"), field="picture") == [("p", 1)]


def test_chunks_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_list, "_CHUNK", 4)
    path = written(tmp_path, *({"images": [f"i{i}", "shared"]} for i in range(11)))
    parts = list(chunks(path))
    assert [len(part.keys) for part in parts] == [4, 4, 4, 4, 4, 2]
    request = np.concatenate([part.request for part in parts])
    assert request.tolist() == np.repeat(np.arange(1, 12), 2).tolist()
    assert {part.keys.dtype.kind for part in parts} == {"O"}


BROKEN: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "missing": (({"image": "a"}, {"img": "b"}), {}, r"t.txt:2: image: is required. The line has img"),
    "number": (({"image": 1.5},), {}, r"t.txt:1: must be a name or a number; got 1.5"),
    "nested": (({"image": [["a"]]},), {}, r"t.txt:1: must be a name or a number"),
    "true": (({"image": True},), {}, r"t.txt:1: must be a name or a number; got true"),
    "cut": (('{"image": "a"}', '{"image": '), {}, r"t.txt:2: each line must be one JSON object"),
    "no column": (("a,b", "1,2"), {"field": "c"}, r"t.txt: c: is a required column. The header has a, b"),
    "no known column": (("a,b", "1,2"), {}, r"t.txt: image: is a required column"),
    "short row": (("image,b", "1"), {}, r"t.txt:2: must have 2 fields as the header has; got 1 fields"),
    "open quote": (("image,b", '"1,2'), {}, r"t.txt:2: is no valid CSV"),
    "blank": (("", " "), {}, r"t.txt: holds no request"),
    "header only": (("image,b",), {}, r"t.txt: holds no request"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_lists(tmp_path: Path, case: str) -> None:
    rows, options, message = BROKEN[case]
    with pytest.raises(InputError, match=message):
        list(chunks(written(tmp_path, *rows), **options))
