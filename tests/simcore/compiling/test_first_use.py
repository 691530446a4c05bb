"""The first replay on a machine, and every later one, in processes of their own: right, never stale, whatever is on disk."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore import kernel, linking

ROOT = Path(__file__).parents[3]
REPLAY = """
import sys
from pathlib import Path
import numba  # first: it is not what is tested
from simcore.compiling import cache
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses

compiled = []
kept = cache._for_signature
cache._for_signature = lambda run, signature: compiled.append(kept(run, signature)) or compiled[-1]
policy = sys.argv[1] if "/" not in sys.argv[1] else Path(sys.argv[1])
hits = replay(Accesses.of([1, 2, 3, 1, 4, 2, 1, 5, 3, 1, 2, 4] * 9), [Tier(capacity=3, policy=policy)]).tiers[0].hits
print(hits, *(sum(run.stats.cache_hits.values()) for run in compiled))
"""
# Evicts the newest or the oldest: which, three modules further decide.
POLICY = """
import side
from simcore.policies.lru import *
from simcore.kernel import kernel, list_head


@kernel
def choose_victim(st, s):
    head = list_head(st, s, 0)
    return side.end(st, head)
"""
MODULES = {
    "mine.py": POLICY,
    "side.py": """
import limits
from simcore.kernel import kernel
from more_limits import Ends, NEWEST


@kernel
def end(st, head):
    if limits.NEWEST or NEWEST or Ends.NEWEST.value:
        return st.node[head].prev
    return st.node[head].next
""",
    "limits.py": "NEWEST = False\n",
    "more_limits.py": "from enum import Enum\nNEWEST = False\n\n\nclass Ends(Enum):\n    NEWEST = 0\n",
}
EDITS = {
    "the policy": ("mine.py", "side.end(st, head)", "st.node[head].prev"),
    "a helper": ("side.py", "return st.node[head].next", "return st.node[head].prev"),
    "a constant read through its module": ("limits.py", "False", "True"),
    "an imported constant": ("more_limits.py", "NEWEST = False", "NEWEST = True"),
    "a member of an enumeration": ("more_limits.py", "NEWEST = 0", "NEWEST = 1"),
}


def first_use(policy: str | Path, *, before: str = "", **environment: str) -> list[int]:
    """Hits, then for each engine whether its machine code came from disk; `before` is run once the package is loaded."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    variables.pop("NUMBA_CACHE_DIR", None)
    code = REPLAY.replace("policy =", f"{before}\npolicy =", 1)
    done = subprocess.run([sys.executable, "-c", code, str(policy)], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_eight_processes_start_cold_at_once(tmp_path: Path) -> None:
    """Then machine code is cut short, and written again; then all is read from disk."""
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: first_use("lru", XDG_CACHE_HOME=str(tmp_path)), range(8)))
    hits = runs[0][0]
    assert hits > 0 and {run[0] for run in runs} == {hits}
    folders = sorted(path.name for path in (tmp_path / "simcore").iterdir())
    assert folders and all((tmp_path / "simcore" / name / "manifest.json").exists() for name in folders)
    assert first_use("lru", XDG_CACHE_HOME=str(tmp_path)) == [hits, *[1] * len(folders)]
    for path in tmp_path.rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:-100])
    assert first_use("lru", XDG_CACHE_HOME=str(tmp_path)) == [hits, *[0] * len(folders)]
    assert first_use("lru", XDG_CACHE_HOME=str(tmp_path)) == [hits, *[1] * len(folders)]


def test_the_installation_is_read_only_and_there_is_no_home(tmp_path: Path) -> None:
    """Nothing is written beside the sources; the temporary folder serves as cache."""
    installed = tmp_path / "installed"
    shutil.copytree(ROOT / "simcore", installed / "simcore", ignore=shutil.ignore_patterns("__pycache__"))
    paths = [installed, *installed.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    home = tmp_path / "home"
    home.touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    where = {"PYTHONPATH": str(installed), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(temporary)}
    try:
        cold, warm = first_use("lru", **where), first_use("lru", **where)
        assert sorted([installed, *installed.rglob("*")]) == sorted(paths)  # root may write anywhere
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
    assert warm[0] == cold[0] > 0
    assert not any(cold[1:]) and all(warm[1:]) and len(warm) == len(cold) > 1


def test_an_edit_behind_a_policy_is_never_missed(tmp_path: Path) -> None:
    """Whatever of a user's file, or of what it imports, is edited between two runs; undone, the old machine code serves."""
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    where = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "XDG_CACHE_HOME": str(tmp_path)}
    oldest = first_use(tmp_path / "mine.py", **where)[0]
    seen = {}
    for what, (name, old, new) in EDITS.items():
        (tmp_path / name).write_text(MODULES[name].replace(old, new), encoding="utf-8")
        seen[what] = first_use(tmp_path / "mine.py", **where)[0]
        (tmp_path / name).write_text(MODULES[name], encoding="utf-8")
    newest = seen["the policy"]
    assert newest != oldest and seen == dict.fromkeys(EDITS, newest)
    assert first_use(tmp_path / "mine.py", **where)[:2] == [oldest, 1]


EDITED_MEANWHILE = """
import side  # what the process runs
from pathlib import Path
path = Path(side.__file__)
path.write_text(path.read_text().replace("return st.node[head].next", "return st.node[head].prev"))
"""


def test_an_edit_under_a_running_process_goes_into_no_cache(tmp_path: Path) -> None:
    """The process goes on with what it has loaded; the next one runs what is in the file, and keeps that."""
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    where = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "XDG_CACHE_HOME": str(tmp_path)}
    oldest = first_use(tmp_path / "mine.py", **where)[0]
    assert first_use(tmp_path / "mine.py", before=EDITED_MEANWHILE, **where)[:2] == [oldest, 0]
    newest, from_disk, *_ = first_use(tmp_path / "mine.py", **where)
    assert newest != oldest and not from_disk
    assert first_use(tmp_path / "mine.py", **where)[:2] == [newest, 1]


def library_of_a_kernel() -> object:
    """Of a kernel that an entry calls."""
    inner: Any = kernel.kernel(lambda x: x[0] + 1.0)
    run: Any = kernel.entry(lambda x: inner(x) * 2.0, cache=False)
    assert run(np.ones(1)) == 4.0
    (compiled,) = inner.overloads.values()
    return compiled.library


def test_kernels_are_linked_into_their_entry_once() -> None:
    """What this relies on in Numba is there; without it all works, but first use takes twice as long."""
    assert isinstance(library_of_a_kernel(), linking._Part)


def test_another_numba_compiles_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "_PRIVATE", ("gone",))
    assert not isinstance(library_of_a_kernel(), linking._Part)
