"""Views of tables at versions, which the queries of one session share.

Of all versions that the texts of a change may read, a query reads some, and one of them in several
places. A view is made when a query is about to read it, and its files are listed once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.table_format import TableRef
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables
    from dbt.adapters.spark_mt.spark.session.kept_rows import KeptRows


class VersionViews:
    """Views of tables at versions.

    Args:
        spark: A private session.
        tables: Opens the versions.
        kept: Gives and defines views of the session.
    """

    def __init__(self, spark: SparkSession, tables: SparkTables, kept: KeptRows) -> None:
        self._spark = spark
        self._tables = tables
        self._kept = kept
        self._names: dict[tuple[TableRef, int], str] = {}
        self._missing: dict[str, tuple[TableRef, int]] = {}

    def of(self, table: TableRef, version: int) -> str:
        """Return the name of the view of a version, which `make` makes."""
        found = self._names.get((table, version))
        if found is None:
            found = self._names[table, version] = self._kept.new_view()
            self._missing[found] = table, version
        return found

    def make(self, *texts: str) -> None:
        """Make the views that texts are about to read.

        Raises:
            MaterializedTableError: A table no longer has a version.
        """
        words = {word for text in texts for word in re.findall(r"\w+", text)}
        for name in [name for name in self._missing if name in words]:
            table, version = self._missing.pop(name)
            relation = self._tables.of(table).opened(self._spark, table, version)
            self._kept.define(f"SELECT * FROM {relation}", name)
