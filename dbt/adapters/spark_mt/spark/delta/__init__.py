"""Delta Lake: the log, commits, changes between versions, merge and maintenance."""
