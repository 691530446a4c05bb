"""Traces of requests and of references to objects, and one reader module per public format.

A reader defines `suffixes` (file-name endings it claims), `sniff(path) -> bool` (does the content look like its format?), and

- for requests with prompts and answers: `read(path, *, options) -> Trace`;
- for references to objects: `chunks(path, *, options) -> Iterator[Columns]`, in constant memory.

The keyword-only parameters are the options of the format, each with a default; no other option is accepted. A reader is found
by its file name; to open a file use `simcore.traces.load`.
"""

NOT_MEMBERS = (
    "accesses",
    "assembly",
    "batches",
    "blocks",
    "columns",
    "densify",
    "describe",
    "files",
    "kernels",
    "load",
    "options",
    "reuse",
    "rows",
    "stamps",
    "trace",
    "turns",
    "zipf",
)
