"""dbt's project of macros for `type: spark_mt`."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
