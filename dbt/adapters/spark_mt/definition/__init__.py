"""Frozen values that describe a materialized table; they know neither Spark nor dbt."""
