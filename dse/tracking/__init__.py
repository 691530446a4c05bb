"""Where a search is recorded besides its own folder, one way per file: a class that is a `dse.seams.Tracker`."""
