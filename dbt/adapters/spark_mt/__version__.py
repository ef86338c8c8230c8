"""The version of dbt-spark-mt."""

version = "0.1.0"
