"""Table formats that are installed.

This is the one place that names them. A module that reads or writes tables asks this value which
format a provider has. `environment` has the implementation of each.
"""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.table_format import TableFormats
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT as DELTA
from dbt.adapters.spark_mt.spark.formats.iceberg import FORMAT as ICEBERG

FORMATS = TableFormats((DELTA, ICEBERG))
"""Their names; the first one is that of tables in a catalog whose class is of no format."""
