"""The command line `spark-mt`."""
