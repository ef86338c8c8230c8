"""Queries on Spark: analysis, relations, rows and positions of sources."""
