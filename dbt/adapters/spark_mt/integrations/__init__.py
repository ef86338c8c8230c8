"""Modules that run in the processes of other systems, without Spark and dbt."""
