"""The version of dbt-spark-mt."""

from __future__ import annotations

version = "0.1.0"
