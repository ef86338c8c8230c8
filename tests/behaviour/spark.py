"""The behaviour suite's tables on Spark and Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from tests.behaviour.harness import Metadata, Tables, sortable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkTables(Tables):
    """The current schema of a session."""

    provider = "delta"

    def __init__(self, session: SparkSession) -> None:
        self._spark = session
        self._engine = SparkEnvironment(session)
        self.environment = self._engine.value

    def forget(self) -> None:
        self._engine.details.forget()

    def learn(self, query, ddl, evaluate) -> None:
        pass

    def learn_star(self, query, made) -> None:
        pass

    def move_column(self, name, column, after) -> None:
        place = "FIRST" if after is None else f"AFTER {after}"
        self._spark.sql(f"ALTER TABLE {name} ALTER COLUMN {column} {place}")

    def add_column(self, name, column, after) -> None:
        place = "FIRST" if after is None else f"AFTER {after}"
        self._spark.sql(f"ALTER TABLE {name} ADD COLUMN {column} INT {place}")

    def rename_column(self, name, column, other) -> None:
        self._map_columns(name)
        self._spark.sql(f"ALTER TABLE {name} RENAME COLUMN {column} TO {other}")

    def columns(self, name) -> tuple[str, ...]:
        return tuple(self._spark.table(name).columns)

    def _map_columns(self, name) -> None:
        mapped = "'delta.columnMapping.mode' = 'name'"
        self._spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({mapped})")

    def learn_check(self, expression, holds) -> None:
        pass

    def source(self, name, ddl, rows) -> None:
        self.drop(name)
        values = self._spark.createDataFrame(rows, ddl.replace(";", ","))
        values.write.format(self.provider).saveAsTable(name)

    def view(self, name, query) -> None:
        self._spark.sql(f"CREATE OR REPLACE VIEW {name} AS {query}")

    def append(self, name, rows) -> None:
        schema = self._spark.table(name).schema
        values = self._spark.createDataFrame(rows, schema)
        values.write.format(self.provider).mode("append").saveAsTable(name)

    def delete(self, name, column, value) -> None:
        literal = quote_text(value) if isinstance(value, str) else str(value)
        self._spark.sql(f"DELETE FROM {name} WHERE {column} = {literal}")

    def drop(self, name) -> None:
        self._spark.sql(f"DROP TABLE IF EXISTS {name}")

    def drop_column(self, name, column) -> None:
        self._map_columns(name)
        self._spark.sql(f"ALTER TABLE {name} DROP COLUMN {column}")

    def set_property(self, name, key, value) -> None:
        self._spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{key}' = '{value}')")

    def drop_not_null(self, name, column) -> None:
        constraint = f"`materialized-table.not-null.{column}`"
        self._spark.sql(f"ALTER TABLE {name} DROP CONSTRAINT {constraint}")

    def versions(self, name) -> list[int]:
        history = self._spark.sql(f"DESCRIBE HISTORY {name}").collect()
        return sorted(commit["version"] for commit in history)

    def restore(self, name, version) -> None:
        self._spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF {version}")

    def clone(self, name, target) -> None:
        self._spark.sql(f"CREATE TABLE {target} SHALLOW CLONE {name}")

    def rows(self, name) -> list[tuple]:
        rows = (tuple(row) for row in self._spark.table(name).collect())
        return sorted(rows, key=sortable)

    def identity(self, name) -> str:
        return self._detail(name)["id"]

    def metadata(self, name) -> Metadata:
        detail = self._detail(name)
        fields = self._spark.table(name).schema.fields
        comments = {f.name: f.metadata.get("comment", "") for f in fields}
        return Metadata(
            comment=detail["description"] or "",
            column_comments={column: text for column, text in comments.items() if text},
            options=self.options(detail["properties"]),
            clustered_by=tuple(detail["clusteringColumns"]),
            not_null=self.not_null(detail["properties"]),
        )

    def _detail(self, name):
        return self._spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]
