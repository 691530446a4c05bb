"""Where a space file is: the path that was given, else the packaged space of that name."""

from __future__ import annotations

from pathlib import Path

from simcore.errors import InputError, did_you_mean

_ENDINGS = ("", ".yaml", ".yml")


def packaged_folder() -> Path:
    """The folder of packaged spaces: inside the installed package, or `search_spaces/` of a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "_spaces"
    return inside if inside.is_dir() else package.parent / "search_spaces"


def packaged_spaces() -> dict[str, Path]:
    """Name -> file of every packaged space."""
    folder = packaged_folder()
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))} if folder.is_dir() else {}


def find_space(name_or_path: str | Path) -> Path:
    """The file of a space.

    Raises:
        InputError: neither a path that exists nor the name of a packaged space.
    """
    given = Path(name_or_path)
    try:
        exists = given.exists()
    except (OSError, ValueError):
        exists = False
    if exists:
        return given
    spaces = packaged_spaces()
    if given.suffix in _ENDINGS and given.stem in spaces:
        return spaces[given.stem]
    hint = f"{did_you_mean(given.stem, spaces)} Packaged spaces: {', '.join(spaces)}"
    raise InputError("no such file, and no packaged space of that name", file=str(name_or_path), hint=hint)
