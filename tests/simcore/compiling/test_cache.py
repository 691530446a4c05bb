"""Machine code on disk: whole or not at all, never stale, and never a reason to fail."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore.compiling import generated
from simcore.compiling.cache import cached_entry
from simcore.compiling.passes import run_pass
from simcore.plugins import from_file
from simcore.serving.engine import policy_module

ROOT = Path(__file__).parents[3]
SIGNATURE = numba.typeof(np.zeros(1))


def text(value: int) -> str:
    return f"def run(x):\n    x[0] += 1\n    return {value}\n"


class Doubled(NamedTuple):
    numbers: Any


def doubling(folder: Path) -> ModuleType:
    """A kernel module, in a folder of its own."""
    path = folder / "kernels" / "doubling.py"
    path.parent.mkdir()
    path.write_text(
        "from simcore.kernel import kernel\n\n\n@kernel\ndef loop(st):\n"
        "    for i in range(len(st.numbers)):\n        st.numbers[i] *= 2\n    return 42\n",
        encoding="utf-8",
    )
    module = from_file("passes", path)
    module.__name__ = "doubling"
    return module


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    yield tmp_path / "simcore"


def test_an_entry_is_written_once_and_read_again(cache: Path) -> None:
    first = cached_entry("simcore_test", text(3), SIGNATURE)
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    second = cached_entry("simcore_test", text(3), SIGNATURE)
    assert first is not None and second is not None
    assert first(np.zeros(1)) == second(np.zeros(1)) == 3
    assert second.stats.cache_hits  # type: ignore[attr-defined]
    assert files == {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    assert [path.name for path in cache.iterdir()] == ["simcore_test"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "remove"])
@pytest.mark.parametrize("suffix", [".py", ".nbi", ".nbc", ".json"])
def test_a_damaged_entry_is_replaced(cache: Path, suffix: str, damage: str) -> None:
    cached_entry("simcore_test", text(3), SIGNATURE)
    (path,) = (path for path in cache.rglob("*") if path.suffix == suffix)
    content = path.read_bytes()
    half = len(content) // 2
    spoilt = {
        "truncate": content[:half],
        "flip": content[:half] + bytes([content[half] ^ 255]) + content[half + 1 :],
        "empty": b"",
    }
    path.unlink() if damage == "remove" else path.write_bytes(spoilt[damage])
    entry = cached_entry("simcore_test", text(3), SIGNATURE)
    assert entry is not None and entry(np.zeros(1)) == 3
    assert not entry.stats.cache_hits  # type: ignore[attr-defined]
    healed = cached_entry("simcore_test", text(3), SIGNATURE)
    assert healed is not None and healed.stats.cache_hits  # type: ignore[attr-defined]


def test_another_text_is_another_entry(cache: Path) -> None:
    cached_entry("simcore_test", text(3), SIGNATURE)
    entry = cached_entry("simcore_test", text(4), SIGNATURE)
    assert entry is not None and entry(np.zeros(1)) == 4


def test_processes_may_start_cold_at_once(cache: Path) -> None:
    code = (
        "import numba, numpy as np; from simcore.compiling.cache import cached_entry;"
        f"print(cached_entry('simcore_test', {text(7)!r}, numba.typeof(np.zeros(1)))(np.zeros(1)))"
    )
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: _python(code), range(4)))
    assert [run.stdout.strip() for run in done] == ["7"] * 4, done[0].stderr
    assert [path.name for path in cache.iterdir()] == ["simcore_test"]


def test_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "a_file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(blocked))
    assert cached_entry("simcore_test", text(3), SIGNATURE) is None
    st = Doubled(np.ones(3))
    assert run_pass(doubling(tmp_path), st) == 42
    assert st.numbers.tolist() == [2.0, 2.0, 2.0]


def test_the_temporary_folder_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is everybody's: a folder there that others may write to is not used."""
    blocked = tmp_path / "a_file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for expected in (False, True):
        entry = cached_entry("simcore_test", text(3), SIGNATURE)
        assert entry is not None and bool(entry.stats.cache_hits) == expected  # type: ignore[attr-defined]
    (folder,) = tmp_path.glob("simcore-*")
    folder.chmod(0o777)
    assert cached_entry("simcore_test", text(3), SIGNATURE) is None


def test_numba_cache_dir_is_respected(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "given"))
    cached_entry("simcore_test", text(3), SIGNATURE)
    assert (tmp_path / "given" / "simcore_test" / "manifest.json").exists()
    assert not cache.exists()


def test_threads_compile_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling changes `sys.modules` and a setting of Numba's for a moment."""
    inside: list[int] = []
    most: list[int] = []

    def compiled(*arguments: Any) -> Any:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        return len

    monkeypatch.setattr(generated, "cached_entry", compiled)
    monkeypatch.setattr(generated, "uncached_entry", compiled)
    folder = Path(str(doubling(tmp_path).__file__)).parent
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(generated.generated_engine, "test", folder, Doubled(np.ones(n)), title="", module="doubling")
            for n in range(4)
        ]
    assert [one.result() for one in asked] == [len] * 4 and most == [1] * 4


def test_an_edited_policy_is_another_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = policy_module("fifo")
    source = Path(str(original.__file__)).read_text(encoding="utf-8")
    digests = []
    for extra in ("", "# edited\n"):
        path = tmp_path / "mine.py"
        path.write_text(source + extra, encoding="utf-8")
        module = ModuleType("mine")
        module.__file__ = str(path)
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), module.__dict__)
        digests.append(generated._digest(tmp_path, "loop", {}, [module], []))
    assert len(set(digests)) == 2


def test_the_hash_covers_functions_a_policy_imports() -> None:
    files = {path.name for path in generated.jitted_sources(policy_module("sieve"))}
    assert files == {"sieve.py", "kernel.py"}


def test_the_hash_covers_modules_and_numbers_a_policy_imports(tmp_path: Path) -> None:
    """A function called through its module, and a number that was imported and is frozen into the code."""
    assert {path.name for path in generated.jitted_sources(policy_module("gdsf"))} >= {"gdsf.py", "heap.py"}
    digests = []
    for limit in (3, 4):
        path = tmp_path / f"mine_{limit}.py"
        path.write_text("from simcore.policies.fifo import *\nfrom limits import LIMIT\n", encoding="utf-8")
        sys.modules["limits"] = ModuleType("limits")
        sys.modules["limits"].LIMIT = limit  # type: ignore[attr-defined]
        digests.append(next(iter(generated.jitted_sources(from_file("simcore.policies", path)).values())))
        del sys.modules["limits"]
    assert digests[0] != digests[1]


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
