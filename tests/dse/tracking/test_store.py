"""Where MLflow records to: which URIs are accepted, what is said about the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.tracking.mlflow_state import LOCAL, new_state, read_state, write_state
from dse.tracking.store import VARIABLE, store_at
from simcore.errors import InputError


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_default_is_a_file_beside_the_studies_whatever_the_current_folder(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    assert store.database == tmp_path / "mlflow.db"
    assert store.identity == LOCAL and not store.is_server
    assert store.artifacts == tmp_path / "mlflow-artifacts"


def test_its_own_uri_is_the_default_store(tmp_path: Path) -> None:
    assert store_at(tmp_path, store_at(tmp_path).uri) == store_at(tmp_path)


def test_the_environment_names_a_store_and_an_argument_beats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "http://record:5000")
    assert store_at(tmp_path).uri == "http://record:5000" and store_at(tmp_path).is_server
    assert store_at(tmp_path, "https://other").uri == "https://other"
    monkeypatch.setenv(VARIABLE, "htp://record")
    with pytest.raises(InputError, match=r"\$MLFLOW_TRACKING_URI.*Did you mean http://\?"):
        store_at(tmp_path)


def test_passwords_reach_no_message_and_no_file(tmp_path: Path) -> None:
    store = store_at(tmp_path, "postgresql+psycopg://me:secret@db:5432/record")
    assert "secret" in store.uri and "secret" not in store.identity + store.label
    assert store_at(tmp_path, "http://h:1/x").label == "http://h:1/x"


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("./mlruns", "sqlite:///"),
        ("file:///tmp/mlruns", "sqlite:////tmp/mlruns/mlflow.db"),
        ("htpp://host", "did you mean http://?"),
        ("sqlite://", "sqlite:///PATH"),
        ("http://", "http://HOST:PORT"),
        ("ftp://host", "http"),
        ("nonsense", "http://HOST:PORT"),
    ],
)
def test_what_mlflow_cannot_record_to_is_refused_with_the_remedy(tmp_path: Path, uri: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        store_at(tmp_path, uri)
    assert hint.lower() in str(caught.value).lower()
    assert caught.value.path == "--tracking-uri"


def test_a_state_survives_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    state = new_state(LOCAL)
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    (tmp_path / "mlflow.json").write_text('{"store": "local"')
    assert read_state(tmp_path) is None
    (tmp_path / "mlflow.json").write_text('["local"]')
    assert read_state(tmp_path) is None
