"""Interactions of users with items, one a line: recommendation data sets (ReChorus, MovieLens, Amazon reviews, ...).

    user_id<tab>item_id<tab>time
    2177<tab>3<tab>965779200

Separated by tabs, commas, semicolons, bars or blanks. With a header, columns are found by name, in any order and among others
(user, user_id, userId, ...; item, item_id, movieId, ...; time, timestamp, ...). Without one, three columns are user, item and
time, four are user, item, rating and time. Time in seconds. An interaction is one access: to the item's row or to the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simcore.errors import InputError, did_you_mean
from simcore.traces._delimited import ID, SECONDS, TEXT, Layout, columns, head_rows, layout_of
from simcore.traces.columns import Columns

suffixes = (".csv", ".tsv", ".inter", ".data")
_WORDS = {
    "user": {"user", "userid", "uid", "reviewerid", "visitorid"},
    "item": {"item", "itemid", "iid", "movieid", "asin", "parentasin", "productid", "articleid"},
    "time": {"time", "timestamp", "ts", "unixreviewtime"},
}
_UNIX_TIME = 1e8  # a last column of at least this, seconds since 1970, tells such a file where there is no header


def sniff(path: str | Path) -> bool:
    """Whether the header names a user, an item and a time, or three or four columns of numbers end in a time since 1970."""
    rows = head_rows(path, 50)
    if not rows:
        return False
    if set(_WORDS) <= set(_meanings(rows[0])):
        return True
    numbers = all(len(row) == len(rows[0]) and all(x.strip().replace(".", "", 1).isdecimal() for x in row) for row in rows)
    return len(rows[0]) in (3, 4) and numbers and all(float(row[-1]) >= _UNIX_TIME for row in rows)


def chunks(path: str | Path, *, column: str = "item", text_ids: bool = False) -> Iterator[Columns]:
    """Read the interactions in order.

    Args:
        column: what is accessed, item or user.
        text_ids: take ids as texts even if they look like numbers.

    Raises:
        InputError: unreadable file, a missing column, or the first line that breaks a rule.
    """
    if column not in ("item", "user"):
        raise InputError("must be item or user", path="column", value=column, hint=did_you_mean(column, ("item", "user")))
    layout, place = _layout(path)
    key, time = place[column], place["time"]
    for piece in columns(path, layout, {key: TEXT if text_ids else ID, time: SECONDS}):
        yield Columns(piece[key], time_s=piece[time])


def _layout(path: str | Path) -> tuple[Layout, dict[str, str]]:
    layout = layout_of(path, header=None)
    if not layout.header:
        names = {3: ("user", "item", "time"), 4: ("user", "item", "rating", "time")}.get(len(layout.names))
        if names is None:
            rule = "without a header there must be three columns (user, item, time) or four (user, item, rating, time)"
            raise InputError(rule, file=str(path), line=1, value=f"{len(layout.names)} columns")
        return Layout(names, layout.delimiter, header=False), {name: name for name in names}
    meanings = _meanings(layout.names)
    for name in _WORDS:
        if meanings.count(name) != 1:
            hint = f"the columns are {', '.join(layout.names)}"
            raise InputError(f"exactly one column must be the {name}", file=str(path), line=1, hint=hint)
    return layout, {name: layout.names[meanings.index(name)] for name in _WORDS}


def _meanings(names: tuple[str, ...] | list[str]) -> list[str]:
    plain = [name.strip().lower().partition(":")[0].replace("_", "") for name in names]  # RecBole writes user_id:token
    return [next((meaning for meaning, words in _WORDS.items() if name in words), "") for name in plain]
