"""Tables, views and functions of Spark's catalog, and commits to tables."""
