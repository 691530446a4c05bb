"""`dse ui`: the record of the searches in MLflow, opened on pages worth seeing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

from dse.commands.output import Output
from dse.storage.folder import STUDIES
from dse.tracking.links import study_links
from dse.tracking.mlflow_state import read_state
from dse.tracking.store import Store, store_at
from simcore import find_metric
from simcore.errors import InputError, SimcoreError
from simcore.yamlio import load_yaml

DEFAULT_PORT = 5000
START_TIMEOUT_S = 90.0
SHOWN = 3
PAGES = {
    "front": "its front as a list",
    "scatter": "its front as a scatter plot",
    "compare": "its front side by side",
    "hypervolume": "how the front grew",
    "report": "report.html",
    "searches": "every search of this space",
}


def run(uri: str | None, port: int | None, output: Output) -> int:
    """Start MLflow's server on the store (unless the store is a server already) and print links until Ctrl-C."""
    root = STUDIES
    store = store_at(root, uri)
    if store.is_server:
        _answer(store.uri.rstrip("/"), root, store, output)
        return 0
    if store.database is not None and not store.database.exists():
        raise InputError("nothing is recorded there yet", file=store.label, hint="record a search: dse search kv_quickstart")
    process, url = _start(store, _free_port(port), output)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        _wait_until_up(url, process)
        _answer(url, root, store, output)
        output.note("Serving. Ctrl-C stops it.")
        process.wait()
    except KeyboardInterrupt:
        output.note("Stopped.")
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)
        _stop(process)
    raise _ended(process)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _ended(process: subprocess.Popen[bytes]) -> SimcoreError:
    return SimcoreError(f"MLflow's server ended with status {process.returncode}; dse ui -v shows its messages")


def _answer(url: str, root: Path, store: Store, output: Output) -> None:
    studies = links(url, root, store)
    lines = [f"MLflow on {store.label}: {url}"]
    shown = studies if output.verbose else dict(list(studies.items())[:SHOWN])
    for name, pages in shown.items():
        lines += ["", name]
        lines += [line for page in PAGES if page in pages for line in (f"  {PAGES[page]}", f"    {pages[page]}")]
    if len(studies) > len(shown):
        lines += ["", f"{len(studies) - len(shown)} older: dse ui -v"]
    if not studies:
        lines.append("No study under studies/ is recorded there.")
    data = {"url": url, "studies": [{"study": name, "links": pages} for name, pages in studies.items()]}
    output.answer("\n".join(lines), data)


def links(url: str, root: Path, store: Store) -> dict[str, dict[str, str]]:
    """The pages of every study under `root` that is recorded in `store`, the latest search first."""
    folders = [f for f in root.iterdir() if (f / "space.yaml").is_file()] if root.is_dir() else []
    result = {}
    for folder in sorted(folders, key=lambda f: -(f / "space.yaml").stat().st_mtime):
        state = read_state(folder)
        if state is not None and state.store == store.identity and state.run_id:
            result[folder.name] = study_links(url, state, _sort_key(folder))
    return result


def _sort_key(folder: Path) -> str:
    try:
        objectives = load_yaml(folder / "space.yaml").data["objectives"]
        return find_metric(objectives[min(1, len(objectives) - 1)]).key
    except (InputError, KeyError, TypeError, IndexError):
        return ""


def _free_port(port: int | None) -> int:
    """`port`; None: the usual one, or any free one while that is taken."""
    for candidate in (DEFAULT_PORT, 0) if port is None else (port,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", candidate))
                return int(probe.getsockname()[1])
            except OSError:
                continue
    raise InputError("is taken by another program", path="--port", value=port, hint="choose another; 0 takes a free one")


def _start(store: Store, port: int, output: Output) -> tuple[subprocess.Popen[bytes], str]:
    """MLflow's server as a child process in a group of its own, and its address."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", store.uri, "--default-artifact-root", str(store.artifacts)]
    environment = {
        **os.environ,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "GIT_PYTHON_REFRESH": "quiet",
    }
    output.note("Starting MLflow ...")
    sink = 2 if output.verbose else subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdout=sink, stderr=sink, start_new_session=True)
    return process, f"http://127.0.0.1:{port}"


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise _ended(process)
        try:
            with opener.open(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SimcoreError(f"MLflow's server did not answer within {START_TIMEOUT_S:.0f} s; dse ui -v shows its messages")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
