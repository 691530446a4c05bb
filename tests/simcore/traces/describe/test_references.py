"""References in numbers, against counting one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.traces.accesses import Accesses
from simcore.traces.describe import references
from simcore.traces.describe.references import access_counts, describe_categories, describe_reuse, describe_sizes

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 50), st.integers(0, 2)), min_size=1, max_size=60)


@given(ROWS, st.integers(1, 70))
def test_as_counted_one_by_one(rows: list[tuple[int, int, int]], at_once: int) -> None:
    keys, sizes, category = (np.array(column) for column in zip(*rows, strict=True))
    accesses = Accesses.of(keys, sizes=sizes, category=category)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(references, "_AT_ONCE", at_once)
        counts = access_counts(accesses)
        tables = describe_categories(accesses)
    asked = Counter(k for k, _, _ in rows)
    assert sorted(counts.tolist()) == sorted(asked.values())
    reuse = describe_reuse(accesses, counts)
    seen: set[int] = set()
    repeated = sum(size for key, size, _ in rows if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    if len(asked) == len(rows):
        assert isinstance(reuse, str)
    else:
        assert isinstance(reuse, dict)
        assert reuse["ceiling"] == pytest.approx(1 - len(asked) / len(rows))
        assert reuse["ceiling_bytes"] == pytest.approx(repeated / sizes.sum())
        assert reuse["seen_once"] == sum(n == 1 for n in asked.values()) / len(asked)
    found = describe_sizes(accesses)
    assert isinstance(found, dict)
    last = {key: size for key, size, _ in rows}
    assert found["asked_bytes"] == sizes.sum() and found["distinct_bytes"] == sum(last.values())
    assert found["changing_objects"] == sum(len({s for k, s, _ in rows if k == key}) > 1 for key in asked)
    used = sorted({c for _, _, c in rows}, key=lambda c: (-sum(r[2] == c for r in rows), c))
    if len(used) == 1:
        assert isinstance(tables, str)
    else:
        assert isinstance(tables, dict) and tables["count"] == len(used)
        assert [row["category"] for row in tables["largest"]] == used
        for row in tables["largest"]:
            keys_of = [k for k, _, c in rows if c == row["category"]]
            assert (row["accesses"], row["distinct"]) == (len(keys_of), len(set(keys_of)))
            assert row["ceiling"] == pytest.approx(1 - len(set(keys_of)) / len(keys_of))


def test_only_the_largest_categories_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "LISTED", 3)
    found = describe_categories(Accesses.of(np.arange(10) % 2, category=np.arange(10)))
    assert isinstance(found, dict) and found["count"] == 10 and len(found["largest"]) == 3


def test_columns_that_are_not_there() -> None:
    accesses = Accesses.of([1, 2, 1])
    assert describe_sizes(accesses) == "the trace has no sizes"
    assert describe_categories(accesses) == "all is of one table, kind or tenant"
