"""The access readers: the published traces, and what each format's rules say."""

from __future__ import annotations

import gzip
import lzma
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from simcore.errors import InputError
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses, reader_of

ROW = [("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lru_hits(accesses: Accesses, capacity: int) -> int:
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for i in accesses.ids.tolist():
        if i in kept:
            hits += 1
            kept.move_to_end(i)
            continue
        if len(kept) == capacity:
            kept.popitem(last=False)
        kept[i] = None
    return hits


# file, reader, options, accesses, objects, bytes asked for, (capacity, LRU hits)
PUBLISHED = [
    ("embedding/dlrm_reuse_medium_500K.txt.zst", "id_lines", {}, 429_951, 102_524, None, (1025, 241_292)),
    ("embedding/rechorus_grocery_train.csv.zst", "user_item_time", {}, 121_892, 8_687, None, (86, 35_254)),
    ("embedding/rechorus_grocery_train.csv.zst", "user_item_time", {"column": "user"}, 121_892, 14_681, None, None),
    ("embedding/criteo_train_tiny.csv.zst", "criteo", {}, 51_974, 13_091, None, (1309, 32_626)),
    ("embedding/scarab-recs.trace.xz", "keys64", {}, 1_245_184, 258_368, None, (2583, 432_172)),
    ("classical/cloudPhysicsIO.csv.zst", "libcachesim_csv", {}, 113_872, 48_974, 4_205_978_112, (489, 18_452)),
    ("classical/cloudPhysicsIO.oracleGeneral.bin.zst", "oracle_general", {}, 113_872, 48_974, 4_368_040_448, (4897, 22_215)),
    ("classical/adaptsize_request.trace.xz", "adaptsize", {}, 66_987, 36_815, 485_457_552, (368, 16_268)),
    ("classical/cache2k_web12.trace.xz", "keys32", {}, 95_607, 13_756, None, (1375, 65_474)),
    ("classical/cache2k_orm-busy.trace.xz", "keys32", {}, 5_000_000, 76_349, None, None),
    ("classical/arc_OLTP.lis.zst", "arc_lis", {}, 914_145, 186_880, None, (1868, 380_585)),
    ("classical/cachelib_block_traces_1.csv", "cachelib_block", {}, 999, 625, 3_469_145_050, None),
    ("classical/cachelib_kv_traces_1.csv", "cachelib_kv", {}, 99, 52, 54_368, None),
]


@pytest.mark.parametrize(("name", "reader", "options", "n", "objects", "asked", "lru"), PUBLISHED)
def test_published_traces(
    shared: Path, name: str, reader: str, options: dict[str, Any], n: int, objects: int, asked: int | None, lru: Any
) -> None:
    path = shared / "traces" / name
    accesses = read_accesses(path, **options)
    assert reader_of(path).__name__ == f"simcore.traces.{reader}"
    assert reader in accesses.source and path.name in accesses.source
    assert (len(accesses), accesses.n_objects) == (n, objects)
    assert (None if accesses.sizes is None else int(accesses.sizes.sum())) == asked
    if lru is not None:
        assert lru_hits(accesses, lru[0]) == lru[1]


def test_first_million_of_a_long_trace(shared: Path) -> None:
    part = read_accesses(shared / "traces/classical/cache2k_orm-busy.trace.xz").first(1_000_000)
    assert (len(part), part.n_objects) == (1_000_000, 44_178)
    assert lru_hits(part, 441) == 638_767


def test_times_of_published_traces(shared: Path) -> None:
    spans = {"cloudPhysicsIO.csv.zst": 7200, "cloudPhysicsIO.oracleGeneral.bin.zst": 7200, "cachelib_block_traces_1.csv": 39}
    for name, span in spans.items():
        time_s = read_accesses(shared / "traces/classical" / name).time_s
        assert time_s is not None and time_s[-1] - time_s[0] == span


def test_criteo_tables_and_requests(shared: Path) -> None:
    path = shared / "traces/embedding/criteo_train_tiny.csv.zst"
    whole = read_accesses(path)
    assert whole.n_requests == 1999 and whole.category is not None
    sizes = [len(np.unique(whole.ids[whole.category == table])) for table in range(26)]
    assert (sizes[8], sizes[19], sizes[2]) == (2, 4, 1293)
    known = read_accesses(path, skip_missing=True)
    assert len(known) == 45_836 and known.n_requests == 1999
    two = read_accesses(path, tables="C9,C3")
    assert two.category is not None and two.category[:4].tolist() == [8, 2, 8, 2]
    assert read_accesses(path, tables=["C9", "C3"]).ids.tolist() == two.ids.tolist()


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress, zstandard.compress, lzma.compress])
def test_compression_is_seen_in_the_content(tmp_path: Path, pack: Any) -> None:
    path = written(tmp_path, "ids.txt", pack(b"5\n7\n5\n9\n"))
    assert read_accesses(path).ids.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("5\r\n7\r\n\r\n5\r\n", [0, 1, 0]),
        ("\ufeff5\n7\n5", [0, 1, 0]),
        ("\n\n5\n\n7\n5\n\n", [0, 1, 0]),
        ("-5\n5\n-5\n", [0, 1, 0]),
        ("18446744073709551615\n3\n18446744073709551615\n", [0, 1, 0]),
        ("a/b.jpg\nc\na/b.jpg\n", [0, 1, 0]),
        ("007\n7\n", [0, 0]),
        ("  5 \n5\n", [0, 0]),
    ],
)
def test_id_lines(tmp_path: Path, content: str, ids: list[int]) -> None:
    assert read_accesses(written(tmp_path, "ids.txt", content)).ids.tolist() == ids


def test_ids_taken_as_texts(tmp_path: Path) -> None:
    assert read_accesses(written(tmp_path, "ids.txt", "007\n7\n"), text_ids=True).ids.tolist() == [0, 1]


def test_arc_runs_are_expanded(tmp_path: Path) -> None:
    path = written(tmp_path, "P.lis", "10 3 0 0\n11  2\t9 1 \n20 1 0 2\n")
    accesses = read_accesses(path)
    assert accesses.ids.tolist() == [0, 1, 2, 1, 2, 3]
    assert accesses.request_start is not None and accesses.request_start.tolist() == [0, 3, 5, 6]


def test_long_arc_runs_come_in_parts(tmp_path: Path) -> None:
    accesses = read_accesses(written(tmp_path, "P.lis", "0 3000000 0 0\n0 3000000 0 1\n5 1 0 2\n"))
    assert (len(accesses), accesses.n_objects, accesses.n_requests) == (6_000_001, 3_000_000, 3)


def test_oracle_general_skips_empty_records_when_asked(tmp_path: Path) -> None:
    rows = np.array([(1, 2**64 - 1, 10, 2), (1, 5, 0, -1), (2, 2**64 - 1, 11, -1)], ROW)
    path = written(tmp_path, "t.oracleGeneral", rows.tobytes())
    accesses = read_accesses(path, skip_empty=True)
    assert accesses.sizes is not None and accesses.sizes.tolist() == [10, 11]
    assert accesses.ids.tolist() == [0, 0]
    with pytest.raises(InputError, match=r"t.oracleGeneral: record 1.size: must be at least 1; got 0. Skip_empty: true"):
        read_accesses(path)


@pytest.mark.parametrize("last", [1, 23])
def test_cut_off_binary_records(tmp_path: Path, last: int) -> None:
    rows = np.array([(1, 5, 10, -1), (1, 6, 10, -1)], ROW).tobytes()
    with pytest.raises(InputError, match=rf"record 1: must be whole records of 24 bytes, the last one is cut off after {last}"):
        read_accesses(written(tmp_path, "t.oracleGeneral", rows[: 24 + last]))
    with pytest.raises(InputError, match="record 1: must be whole records of 8 bytes, the last one is cut off after 3"):
        read_accesses(written(tmp_path, "t.bin", bytes(11)), reader="keys64")


def test_keys_of_8_and_4_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, "k.bin", np.array([-1, 1 << 62, -1], ">i8").tobytes())
    assert read_accesses(path, reader="keys64").ids.tolist() == [0, 1, 0]
    assert read_accesses(path, reader="keys32").ids.tolist() == [0, 0, 1, 2, 0, 0]


def test_binary_keys_are_recognised_only_if_sure(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    popular = rng.zipf(1.3, 4000) % 500
    hashes = rng.integers(-(2**63), 2**63, 500)[popular]
    cases = {
        "keys64": [hashes.astype(">i8"), popular.astype(">i8")],
        "keys32": [popular.astype(">i4"), rng.integers(0, 2**31, 500)[popular].astype(">i4")],
        None: [
            np.zeros(1000, ">i8"),
            rng.integers(0, 2**62, 4000).astype(">i8"),  # no reuse
            np.tile(np.arange(1000), 4).astype(">i4"),  # a loop of 4-byte keys is also a loop of pairs
            (popular % 20 << 32 | rng.integers(1, 10**6, 4000)).astype(">i8"),
            rng.standard_normal(4000),
            hashes[:50].astype(">i8"),
        ],
    }
    for reader, arrays in cases.items():
        for i, array in enumerate(arrays):
            path = written(tmp_path, f"{reader}{i}.trace", array.tobytes())
            if reader is None:
                with pytest.raises(InputError, match="Name one with reader: NAME, of adaptsize, keys32, keys64"):
                    reader_of(path)
            else:
                assert reader_of(path).__name__ == f"simcore.traces.{reader}", i
    with pytest.raises(InputError, match="no reader recognises"):  # the name is part of the rule
        reader_of(written(tmp_path, "k.dat", hashes.astype(">i8").tobytes()))


def test_libcachesim_columns_by_number(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "1;x;3\n2;y;4\n3;x;3\n")
    accesses = read_accesses(path, reader="libcachesim_csv", time_col=1, obj_id_col=2, obj_size_col=3)
    assert (accesses.ids.tolist(), list(accesses.sizes), list(accesses.time_s)) == ([0, 1, 0], [3, 4, 3], [1, 2, 3])  # type: ignore[arg-type]
    headed = written(tmp_path, "u.csv", "a,b\n5,6\n5,7\n")
    only = read_accesses(headed, reader="libcachesim_csv", obj_id_col=1)
    assert only.ids.tolist() == [0, 0] and only.sizes is None and only.time_s is None
    assert read_accesses(path, reader="libcachesim_csv", obj_id_col=2, has_header=True).ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n2,31,3.0,1260759179\n", [0, 0]),
        ("user_id:token\titem_id:token\ttimestamp:float\nu1\ti1\t1\nu1\ti2\t2\n", [0, 1]),
        ("196\t242\t3\t881250949\n186\t302\t3\t891717742\n", [0, 1]),
        ("196 242 881250949\n186 242 891717742\n", [0, 0]),
        ("ts;item;user\n5;a;b\n6;c;b\n", [0, 1]),
    ],
)
def test_user_item_time_layouts(tmp_path: Path, content: str, ids: list[int]) -> None:
    path = written(tmp_path, "t.data", content)
    assert reader_of(path).__name__ == "simcore.traces.user_item_time"
    accesses = read_accesses(path)
    assert accesses.ids.tolist() == ids and accesses.time_s is not None


KV = "op_time,key,key_size,op,op_count,size\n1,a,2,GET,3,0\n1,b,2,SET,1,5\n2,a,2,GET_LEASE,2,7\n"


def test_cachelib_operations(tmp_path: Path) -> None:
    path = written(tmp_path, "kv.csv", KV)
    assert read_accesses(path).sizes.tolist() == [2, 7, 9]  # type: ignore[union-attr]
    assert read_accesses(path, repeats=True).ids.tolist() == [0, 0, 0, 1, 0, 0]
    assert read_accesses(path, ops="GET, SET", repeats=True).ids.tolist() == [0, 0, 0, 1]
    assert read_accesses(path, ops=["GET_LEASE"]).ids.tolist() == [0]
    with pytest.raises(InputError, match="kv.csv: ops: no such operation in the file; got GETT. Did you mean GET?"):
        read_accesses(path, ops="SET,GETT")
    untimed = written(tmp_path, "old.csv", "key,op,size,op_count,key_size\n12,GET,5,1,4\n")
    assert read_accesses(untimed).time_s is None


def test_cachelib_block_operations(shared: Path) -> None:
    path = shared / "traces/classical/cachelib_block_traces_1.csv"
    assert len(read_accesses(path, ops="getChunkData")) == 599
    assert len(read_accesses(path, ops="getChunkData.Permanent,putChunk.Permanent")) == 503 + 138
    assert len(read_accesses(path, repeats=True)) == 1023


TABLE = "t,row,emb,size,req\n1000,5,0,8,a\n2000,5,1,8,a\n3000,6,1,4,b\n4000,5,0,8,a\n"
ROLES = {"key": "emb,row", "size": "size", "time": "t", "time_unit": "ms", "category": "emb", "request": "req"}


def check_table(accesses: Accesses) -> None:
    assert accesses.ids.tolist() == [0, 1, 2, 0]
    assert list(accesses.sizes) == [8, 8, 4, 8]  # type: ignore[arg-type]
    assert list(accesses.time_s) == [1, 2, 3, 4]  # type: ignore[arg-type]
    assert list(accesses.category) == [0, 1, 1, 0]  # type: ignore[arg-type]
    assert list(accesses.request_start) == [0, 2, 3, 4]  # type: ignore[arg-type]


def test_any_csv_table(tmp_path: Path) -> None:
    check_table(read_accesses(written(tmp_path, "t.csv", TABLE), reader="table", **ROLES))
    bare = written(tmp_path, "u.csv", TABLE.partition("\n")[2].replace(",", "\t"))
    numbered = {
        "key": ["3", "2"],
        "size": "4",
        "time": "1",
        "time_unit": "ms",
        "category": "3",
        "request": "5",
        "header": False,
    }
    check_table(read_accesses(bare, reader="table", **numbered))
    assert read_accesses(bare, reader="table", key="5", header=False, delimiter="\t").ids.tolist() == [0, 0, 1, 0]


def test_texts_in_one_column_leave_numbers_in_another(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "name,kind\nx,7\ny,3\nx,7\n")
    accesses = read_accesses(path, reader="table", key="name", category="kind")
    assert (accesses.ids.tolist(), list(accesses.category)) == ([0, 1, 0], [7, 3, 7])  # type: ignore[arg-type]
    swapped = read_accesses(path, reader="table", key="kind", category="name")
    assert (swapped.ids.tolist(), list(swapped.category)) == ([0, 1, 0], [0, 1, 0])  # type: ignore[arg-type]


def test_any_parquet_table(tmp_path: Path) -> None:
    columns = {
        "t": pa.array([1000, 2000, 3000, 4000], pa.int32()),
        "row": pa.array(["5", "5", "6", "5"]).dictionary_encode(),
        "emb": pa.array([0, 1, 1, 0], pa.uint8()),
        "size": pa.array([8, 8, 4, 8]),
        "req": pa.array(["a", "a", "b", "a"]),
        "when": pa.array([0, 1_500_000, 2_000_000, 3_000_000], pa.timestamp("us")),
        "weight": pa.array([0.5, 1.5, 2.5, 3.5]),
        "gap": pa.array([1, None, 3, 4]),
        "big": pa.array([2**64 - 1, 1, 2**64 - 1, 1], pa.uint64()),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    path = tmp_path / "t.parquet"
    check_table(read_accesses(path, **ROLES))
    assert read_accesses(path, key="row", time="when").time_s.tolist() == [0, 1.5, 2, 3]  # type: ignore[union-attr]
    assert read_accesses(path, key="big").ids.tolist() == [0, 1, 0, 1]
    for options, message in (
        ({}, "key: is required: the column of the object. The columns are t, row, emb"),
        ({"key": "nope"}, "t.parquet: key: no such column in the file; got nope"),
        ({"key": "weight"}, "weight: must be a column of whole numbers or texts; got double"),
        ({"key": "gap"}, r"gap\[1\]: must not be missing"),
        ({"key": "row", "size": "emb"}, r"emb\[0\]: must be at least 1; got 0"),
        ({"key": "row", "time": "req"}, "req: must be a column of numbers or dates; got string"),
        ({"key": "row", "time": "when", "time_unit": "ms"}, "time_unit: does not apply to a column of dates"),
        ({"key": "row", "delimiter": ","}, "delimiter: does not apply to a Parquet file"),
        ({"key": "row", "text_ids": True}, "text_ids: does not apply to a Parquet file"),
    ):
        with pytest.raises(InputError, match=message):
            read_accesses(path, **options)  # type: ignore[arg-type]
    cut = written(tmp_path, "cut.parquet", path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cut.parquet: the Parquet file is damaged"):
        read_accesses(cut, key="row")
