"""Source files that changed after this process had loaded them.

What is kept on disk between processes is named by hashes of source files, and made by the modules in memory. The two are the
same unless a file is edited while the process runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

_CLOCK_NS = 10_000_000  # file systems stamp files with a clock that ticks no slower
STARTED_NS = time.time_ns() - _CLOCK_NS  # nothing of the package was loaded before


def edited(paths: Iterable[Path], modules: Iterable[ModuleType]) -> bool:
    """Whether a file may differ from what this process runs: it changed, or is gone, since the package was first imported.

    The time of change is the one that no program can set, so that a file moved into place with an old date counts too; on
    Windows there is only the date. A file that was written while the process ran and loaded afterwards counts as edited: that
    costs time and is never wrong. Where a user's module was imported and edited before the package was imported, it is missed.

    Of `modules`, one whose `__source__` is the bytes that it was loaded from is compared with these instead.
    """
    known = {Path(str(module.__file__)): source for module in modules if (source := vars(module).get("__source__")) is not None}
    try:
        if any(path.read_bytes() != source for path, source in known.items()):
            return True
        about = [path.stat() for path in paths if path not in known]
    except OSError:
        return True
    return any((file.st_ctime_ns if os.name == "posix" else file.st_mtime_ns) >= STARTED_NS for file in about)
