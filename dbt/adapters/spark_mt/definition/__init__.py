"""Frozen values that describe a materialized table. They know neither Spark nor dbt."""
