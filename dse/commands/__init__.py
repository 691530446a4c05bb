"""One module per command: does the work of its subcommand and hands its answer to an `Output`."""
