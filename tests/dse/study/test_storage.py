"""A study folder that is foreign, damaged, locked or full: one message, and nothing stored is harmed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dse.storage.evaluations import Evaluations
from dse.storage.folder import StorageError, find_study, study_folder, write_text
from dse.storage.lock import DriverLock
from dse.study import load_study, run_search
from dse.urls import without_password
from dse.versions import own_version
from simcore.errors import InputError
from tests.dse.fake_space import FakeSpace, dimensions, evaluate

ROOT = Path(__file__).resolve().parents[3]


def search(folder: Path, space: FakeSpace | None = None, **options: object) -> None:
    run_search(space or FakeSpace(trials=20), folder=folder, evaluate=evaluate, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "s"
    search(folder)
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    """A study of 20 trials that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "s"))


def test_an_existing_study_is_refused_with_both_ways_out(study: Path) -> None:
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file() and path.name != ".driver.lock"}
    with pytest.raises(InputError, match=r"exists with 20 trials.*--resume.*--study NAME"):
        search(study)
    assert before == {path: path.read_bytes() for path in before}


def test_another_space_is_refused_with_what_differs(study: Path) -> None:
    other = FakeSpace(trials=20, dimensions=dimensions(hbm_high=9), base={**FakeSpace().base, "family": "other"})
    with pytest.raises(InputError) as caught:
        search(study, other, resume=True)
    message = str(caught.value)
    assert "another space: scenario.family: fake -> other" in message
    assert "search.tiers.hbm.capacity: [4, 12] -> [4, 9]" in message
    assert "--study NAME" in message


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"sampler": "tpe"}, "started with sampler nsga2; got tpe"),
        ({"batch_size": 5}, "started with batch size 10; got 5"),
        ({"seed": 1}, "budget.seed: 0 -> 1"),
        ({"storage": "sqlite:///other.db"}, "stored in study.journal"),
    ],
)
def test_other_settings_are_refused(
    study: Path, options: dict[str, object], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.parent)
    with pytest.raises(InputError) as caught:
        search(study, resume=True, **options)
    assert named in str(caught.value)


def respelled(study: Path, **versions: str) -> None:
    """Pretends that the study was made by other versions."""
    path = study / "study.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "versions": {**data["versions"], **versions}}))


def test_another_version_of_this_program_is_refused_with_both_ways_out(study: Path) -> None:
    respelled(study, **{"cache-dse": "0.0.1"})
    with pytest.raises(InputError) as caught:
        search(study, FakeSpace(trials=30), resume=True)
    message = str(caught.value)
    assert f"made by cache-dse 0.0.1, this is {own_version()}" in message
    assert "--study NAME" in message and f"remove {study}" in message


def test_another_version_of_a_library_is_a_warning(study: Path, caplog: pytest.LogCaptureFixture) -> None:
    respelled(study, numba="0.1", numpy="1.0")
    search(study, FakeSpace(trials=30), resume=True)
    (record,) = caplog.records
    assert "numba 0.1 -> " in record.getMessage() and "numpy 1.0 -> " in record.getMessage()


def test_other_numbers_of_a_preset_are_refused(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeSpace, "sha256", "other")
    with pytest.raises(InputError, match=r"a preset that the space names has other numbers.*--study NAME.*remove"):
        search(study, FakeSpace(trials=20), resume=True)


def test_a_renamed_space_or_more_trials_is_the_same_study(study: Path) -> None:
    search(study, FakeSpace(name="renamed", trials=30), resume=True)
    assert json.loads((study / "study.json").read_text())["trials"] == 30


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", "/tmp/x", "a\\b", "a\0b", ".hidden", "a\nb", "x" * 200])
def test_a_study_name_cannot_leave_its_folder(name: str) -> None:
    with pytest.raises(InputError, match="--study"):
        study_folder(name)


def test_a_missing_study_names_the_nearest(study: Path) -> None:
    with pytest.raises(InputError, match="no such study"):
        find_study("zzz", study.parent / "none")
    with pytest.raises(InputError, match="not a study folder"):
        find_study(study / "designs")
    shutil.copytree(study, study.parent / "kv_cxl")
    with pytest.raises(InputError, match="Did you mean kv_cxl"):
        find_study("kv_cx", study.parent)
    assert find_study("kv_cxl", study.parent) == find_study(study.parent / "kv_cxl")


def test_a_torn_last_line_is_dropped_and_made_again(study: Path) -> None:
    whole = (study / "study.journal").read_bytes()
    front = (study / "front.csv").read_bytes()
    for cut in (7, 400):
        (study / "study.journal").write_bytes(whole[:-cut])
        search(study, resume=True)
        assert (study / "front.csv").read_bytes() == front
        assert len((study / "study.journal").read_bytes().splitlines()) == len(whole.splitlines())


@pytest.mark.parametrize("spoil", ["garbage", "missing", "foreign", "empty line", "other trial"])
def test_a_damaged_journal_is_one_message(study: Path, spoil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = study / "study.journal"
    lines = path.read_bytes().splitlines(keepends=True)
    middle = len(lines) // 2
    if spoil == "garbage":
        lines[middle] = b"\x00\xff{" + lines[middle][3:]
    elif spoil == "foreign":
        lines[middle] = b'{"op_code": 77, "worker_id": "x"}\n'
    elif spoil == "empty line":
        lines[middle] = b"\n"
    elif spoil == "other trial":
        data = json.loads(lines[middle])
        data["user_attrs"] = {}
        lines[middle] = json.dumps(data).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    if spoil == "missing":
        path.unlink()
    monkeypatch.setattr("dse.study.load_space", lambda path, check: FakeSpace(trials=20))
    with pytest.raises(InputError) as caught:
        load_study(study)
    assert "study.journal" in str(caught.value) or "trial" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        search(study, resume=True)
    assert (study / "front.csv").stat().st_size > 200


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": "s"}'])
def test_a_damaged_settings_file_is_one_message(study: Path, content: str) -> None:
    (study / "study.json").write_text(content)
    with pytest.raises(InputError, match=r"study\.json: is damaged"):
        search(study, resume=True)


def test_a_lost_settings_file_does_not_lose_the_trials(study: Path) -> None:
    (study / "study.json").unlink()
    before = (study / "study.journal").read_bytes()
    with pytest.raises(InputError, match="does not belong to the 20 trials"):
        search(study, resume=True)
    assert (study / "study.journal").read_bytes() == before


def test_a_damaged_log_of_evaluations_names_its_line(study: Path) -> None:
    (study / "evaluations.jsonl").write_text('{"number": 1}\n{"number": 2}\n')
    with pytest.raises(InputError, match=r"evaluations\.jsonl:1: is damaged.*Delete the file"):
        search(study, resume=True)


def test_a_torn_line_of_the_log_is_dropped(tmp_path: Path) -> None:
    from dse.objective import Result

    log = Evaluations(tmp_path)
    for number in range(3):
        log.add(Result(number, f"key {number}", "failed", error="no"))
    os.truncate(tmp_path / "evaluations.jsonl", (tmp_path / "evaluations.jsonl").stat().st_size - 5)
    assert list(Evaluations(tmp_path).found) == ["key 0", "key 1"]


def test_a_lock_left_by_a_killed_process_does_not_block(study: Path) -> None:
    os.symlink(study / "study.journal", study / "study.journal.lock")
    begun = time.monotonic()
    search(study, FakeSpace(trials=30), resume=True)
    assert time.monotonic() - begun < 8
    assert not os.path.lexists(study / "study.journal.lock")


def test_a_second_search_is_refused_while_one_runs(study: Path) -> None:
    with (
        DriverLock(study),
        pytest.raises(InputError, match=rf"another search is running in this study \(process {os.getpid()} on"),
    ):
        search(study, resume=True)
    search(study, resume=True)


def test_two_studies_of_one_name_in_a_database_are_kept_apart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studies.db"
    search(tmp_path / "a/s", storage=url)
    for resume in (False, True):
        with pytest.raises(InputError, match="already has a study s, which is not the one of"):
            search(tmp_path / "b/s", storage=url, resume=resume)


@pytest.mark.parametrize("url", ["nonsense", "postgresql://user:secret@127.0.0.1:1/none", "sqlite:////no/such/folder/x.db"])
def test_a_storage_that_cannot_be_opened_is_one_message_without_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="--storage") as caught:
        search(tmp_path / "s", storage=url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_passwords_are_not_kept() -> None:
    assert without_password("postgresql://me:secret@host:5/db") == "postgresql://me@host:5/db"
    assert without_password("sqlite:///x.db") == "sqlite:///x.db"


FULL = """
import resource, sys
from pathlib import Path
from dse.storage.folder import StorageError
from dse.study import run_search
from tests.dse.fake_space import FakeSpace, evaluate
if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        run_search(FakeSpace(trials=20), folder=Path(sys.argv[1]), resume=True, evaluate=evaluate)
    except StorageError as error:
        print(error)
        sys.exit(1)
"""


@pytest.mark.parametrize("limit", [100, 900, 3_000, 12_345, 20_000])
def test_a_full_disk_is_one_message_and_the_rest_is_intact(made: Path, tmp_path: Path, limit: int) -> None:
    """The kernel refuses to let any file grow beyond the limit, in the middle of a line."""
    (tmp_path / "full.py").write_text(FULL)
    command = [sys.executable, str(tmp_path / "full.py"), str(tmp_path / "s"), str(limit)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("\n") == 1
    assert "cannot" in done.stdout
    search(tmp_path / "s", resume=True)
    assert (tmp_path / "s/front.csv").read_bytes() == (made / "front.csv").read_bytes()


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StorageError, match="No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        search(tmp_path / "file" / "s")
