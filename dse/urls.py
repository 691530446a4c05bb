"""URLs that may carry a password: what of them may be shown and stored."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def without_password(url: str) -> str:
    """The URL without the password in it."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}@{parts.netloc.rpartition('@')[2]}"))
