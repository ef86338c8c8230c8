"""The ports in memory: tables as lists of commits, queries as functions; needs no SQL engine."""
