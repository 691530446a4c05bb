"""Images that requests name: an access for each image, in the order of the file.

    {"question_id": 1, "image": "COCO_val2014_000000310196.jpg", "text": "Is there a snowboard in the image?", "label": "yes"}

JSON lines with a field, or CSV with a column, of one of the names `image`, `images`, `image_path`, `image_file`, `image_name`,
`image_id`, `image_url`, `img`, `img_path`, `file_name` (or the one that `field` gives): a name, a number or, in JSON, a list of
them, the images of one request. An image that is null, an empty list or an empty field is none. Or plain text, one file name
a line. An image is known by the name as written; sizes are not recorded.
Source: AoiDragon/POPE, output/coco (MIT); the question files of visual question answering are alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import InputError
from simcore.traces import id_lines
from simcore.traces.columns import Columns
from simcore.traces.files import head_text, lines
from simcore.traces.rows import csv_rows, first_object, head_names, parse_object, required

suffixes: tuple[str, ...] = ()  # .jsonl or .csv alone says nothing: the content tells
_FIELDS = (
    "image", "images", "image_path", "image_file", "image_name", "image_id", "image_url", "img", "img_path", "file_name"
)  # fmt: skip
_NOT_MINE = {"conversations", "messages", "hash_ids", "requests", "body"}
_FILE_NAME = re.compile(r"[^,\t{}\[\]]+\.(jpe?g|png|webp|gif|bmp|tiff?)", re.IGNORECASE)
_CHUNK = 1 << 16


def image_field(names: Iterable[str]) -> str | None:
    """Of the names of an object or a header, the one that holds the image."""
    given = set(names)
    return next((name for name in _FIELDS if name in given), None)


def sniff(path: str | Path) -> bool:
    """Whether the first object or the header has a field for the image, or the first lines are names of image files
    (unless the file's name says that it is a list of ids of any kind)."""
    text = head_text(path)
    if text.lstrip().startswith("{"):
        row = first_object(text)
        return image_field(row) is not None and not _NOT_MINE & set(row)
    if image_field(head_names(path)) is not None:
        return True
    return _is_names(text) and not id_lines.sniff(path)


def chunks(path: str | Path, *, field: str | None = None) -> Iterator[Columns]:
    """The images in order; several of one request share its number.

    Args:
        field: the JSON field or the CSV column of the image; None: found by name.

    Raises:
        InputError: unreadable file, no such field, or the first line that breaks a rule, with file, line, field and value.
    """
    file, head = str(path), head_text(path)
    if head.lstrip().startswith("{"):
        rows = _of_objects(path, field or image_field(first_object(head)) or _FIELDS[0])
    elif field is not None or not _is_names(head):
        rows = _of_table(path, field)
    else:
        rows = ((number, [line.strip()]) for number, line in enumerate(lines(path), start=1))
    names: list[str] = []
    request: list[int] = []
    n = 0
    for n, (number, images) in enumerate(rows, start=1):
        for image in images:
            if image is None or image == "":
                continue
            if type(image) not in (str, int):
                raise InputError("must be a name or a number", file=file, line=number, value=json.dumps(image))
            names.append(str(image))
            request.append(n)
        if len(names) >= _CHUNK:
            yield _columns(names, request)
            names, request = [], []
    if names:
        yield _columns(names, request)
    elif not n:
        raise InputError("holds no request", file=file)


def _is_names(text: str) -> bool:
    first = [line.strip() for line in text.splitlines() if line.strip()][:5]
    return bool(first) and all(_FILE_NAME.fullmatch(line) for line in first)


def _columns(names: list[str], request: list[int]) -> Columns:
    keys = np.empty(len(names), object)
    keys[:] = names
    return Columns(keys, request=np.array(request, np.int64))


def _of_objects(path: str | Path, field: str) -> Iterator[tuple[int, list[Any]]]:
    for number, line in enumerate(lines(path), start=1):
        if line.strip():
            try:
                value = required(parse_object(line), field)
            except InputError as error:
                raise error.within(file=str(path), line=number) from None
            yield number, value if isinstance(value, list) else [value]


def _of_table(path: str | Path, field: str | None) -> Iterator[tuple[int, list[Any]]]:
    for number, row in csv_rows(path):
        column = field or image_field(row) or _FIELDS[0]
        if column not in row:
            rule, hint = "is a required column", f"the header has {', '.join(row)}"
            raise InputError(rule, file=str(path), path=column, hint=hint)
        yield number, [row[column].strip()]
