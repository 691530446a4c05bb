"""CPU seconds of getting ready for a space in a fresh process: `compiling.py SPACE`; the caller says where caches are.

Prints those of `dse`'s own preparation (numba's import included, as in a first evaluation) and those of the whole process.
"""

from __future__ import annotations

import sys
import time

from dse.objective import preparation
from dse.space import load_space


def main(space: str) -> None:
    prepare = preparation(load_space(space))
    start = time.process_time()
    prepare()
    print(time.process_time() - start, time.process_time())


if __name__ == "__main__":
    main(sys.argv[1])
