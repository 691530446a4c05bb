"""Published and measured quantities against ours: what `dse validate` prints.

A source (a paper, a table of measurements, an engine's log lines) is one module here, found by its name. It says in its
docstring what is published where, and defines

    SYSTEM    what was measured or modelled: the rows are grouped by it ("vLLM", "Mooncake")
    SOURCE    where the numbers are published: an arXiv id with table or figure, a repository with file or issue
    cases()   the `Case`s (`simcore.validation.case`)

Published numbers are typed into that module, with nothing else that is known beforehand: our side is computed, when the row is
asked for, by the code that answers users. A row needs a tolerance before it is run; one that misses it is a failure, or a known
gap with its reason, never a wider tolerance. Rows that the constants were fitted to say so (`fitted_on`).
A module of another distribution joins by an entry point in the group "simcore.validation".
"""

NOT_MEMBERS = ("case", "compare")
