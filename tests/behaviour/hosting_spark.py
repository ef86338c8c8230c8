"""Hosts on Spark: streams work in threads of Spark's own."""

from __future__ import annotations

import time

from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from tests.behaviour.hosting_world import World

_POLL_S = 0.05
"""How often a test looks at a stream."""


class SparkWorld(World):
    """A classic session."""

    patience = int(40 / _POLL_S)

    def __init__(self, tables, session) -> None:
        super().__init__(tables)
        self._spark = session

    def ports(self):
        return SparkEnvironment(self._spark).value

    def wait(self) -> None:
        time.sleep(_POLL_S)

    def update(self, name, id_, v) -> None:
        self._spark.sql(f"UPDATE {name} SET v = {v} WHERE id = {id_}")

    def overwrite(self, name, rows) -> None:
        self._values(name, rows).write.insertInto(name, overwrite=True)

    def replace(self, name, ddl, rows) -> None:
        frame = self._spark.createDataFrame(rows, ddl.replace(";", ","))
        frame.createOrReplaceTempView("new_rows")
        self._spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta AS SELECT * FROM new_rows")

    def rewrite(self, name) -> None:
        self._spark.sql(f"OPTIMIZE {name}")

    def add_column(self, name, column, type_) -> None:
        self._spark.sql(f"ALTER TABLE {name} ADD COLUMN {column} {type_}")

    def rename(self, name, to) -> None:
        self._spark.sql(f"ALTER TABLE {name} RENAME TO {to}")

    def _values(self, name, rows):
        return self._spark.createDataFrame(rows, self._spark.table(name).schema)
