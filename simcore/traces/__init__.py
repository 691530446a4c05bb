"""Request traces: the `Trace` type, and one reader module per public format.

A reader defines `suffixes` (file-name endings it claims), `sniff(path) -> bool` (does the content look like its format?) and
`read(path, *, granule_tokens, spread_ticks) -> Trace`.
"""

NOT_MEMBERS = ("files", "load", "reuse", "trace")
