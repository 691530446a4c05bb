"""Where MLflow records to: the store beside the study folders, or the one a user names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dse.tracking.mlflow_state import LOCAL
from dse.urls import without_password
from simcore.errors import InputError, nearest

DATABASE, ARTIFACTS = "mlflow.db", "mlflow-artifacts"
SERVERS = ("http", "https")
DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
VARIABLE = "MLFLOW_TRACKING_URI"


@dataclass(frozen=True)
class Store:
    """A place MLflow records to.

    Args:
        uri: tracking URI.
        identity: how a study remembers it: LOCAL, or the URI without its password.
        artifacts: folder for the files of new experiments; None when a server decides.
    """

    uri: str
    identity: str
    artifacts: Path | None

    @property
    def is_server(self) -> bool:
        return self.artifacts is None

    @property
    def label(self) -> str:
        """For messages: the URI without its password, or the file."""
        return str(self.database) if self.database is not None else without_password(self.uri)

    @property
    def database(self) -> Path | None:
        """The file of a SQLite store."""
        return Path(self.uri.removeprefix("sqlite:///")) if self.uri.startswith("sqlite:///") else None


def store_at(root: Path, uri: str | None = None) -> Store:
    """The store for the study folders under `root`.

    Args:
        root: folder of the study folders.
        uri: of a server or database; None takes $MLFLOW_TRACKING_URI, else the SQLite file in `root`.

    Raises:
        InputError: MLflow cannot record to `uri`.
    """
    where, uri = ("--tracking-uri", uri) if uri else (f"${VARIABLE}", os.environ.get(VARIABLE) or None)
    if uri is None:
        return _local(root.absolute())
    scheme = urlsplit(uri).scheme.lower().split("+")[0]
    rest = uri.partition("://")[2]
    if scheme in SERVERS and urlsplit(uri).hostname:
        return Store(uri, without_password(uri), None)
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        path = Path(rest[1:]).absolute()
        local = _local(root.absolute())
        own = Store(f"sqlite:///{path.as_posix()}", f"sqlite:///{path.as_posix()}", path.parent / ARTIFACTS)
        return local if own.uri == local.uri else own
    if scheme in DATABASES and rest and scheme != "sqlite":
        return Store(uri, without_password(uri), root.absolute() / ARTIFACTS)
    raise InputError(
        "must be the URL of an MLflow server or database", path=where, value=without_password(uri), hint=_remedy(uri, scheme)
    )


def _local(root: Path) -> Store:
    return Store(f"sqlite:///{(root / DATABASE).as_posix()}", LOCAL, root / ARTIFACTS)


def _remedy(uri: str, scheme: str) -> str:
    if scheme in ("", "file") and "/" in uri:
        path = Path(uri.removeprefix("file://").removeprefix("file:")).absolute()
        return f"MLflow no longer records to folders; in a file of that folder: sqlite:///{(path / DATABASE).as_posix()}"
    close = nearest(scheme, (*SERVERS, *DATABASES))
    if close is not None and close != scheme:
        return f"did you mean {close}://?"
    return "write http://HOST:PORT of an MLflow server, or sqlite:///PATH of a database file"
