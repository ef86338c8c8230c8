"""What must hold after every kill, and after whatever else went wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.definition import Missing, StoredTable
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.registry.system_table import SCHEMA
from tests.behaviour.spark import SparkTables
from tests.functional.engine.oracle import MARK, fenced_commits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.api import MaterializedTables

    class Named(Protocol):
        """An entry of a directory."""

        @property
        def name(self) -> str: ...

    class Directory(Protocol):
        """A directory, on whichever file system."""

        def iterdir(self) -> Iterable[Named]: ...


Rows = list[tuple[Any, ...]]
NOT_FOUND = "MATERIALIZED_TABLE_NOT_FOUND"
_FENCED = ("content", "partition", "definition")


@dataclass(frozen=True)
class Seen:
    """All that readers can see of a table.

    Args:
        created: What SHOW CREATE prints.
        positions: The version of each source, by its short name.
    """

    rows: Rows
    created: str
    positions: dict[str, str]
    metadata: object


def look(tables: MaterializedTables, schema: str) -> Seen | None:
    """Look at the table `t`, of which nothing may be left undone; None if there is none."""
    spark = SparkTables(tables._spark)
    found = spark.find("t")
    if isinstance(found, Missing):
        return None
    assert isinstance(found, StoredTable), found
    assert not found.unpublished, found
    (row,) = tables.sql("SHOW CREATE MATERIALIZED TABLE t").collect()
    positions = {
        name.rsplit(".", 1)[-1]: str(position).partition("@")[0]
        for name, position in (found.positions or {}).items()
    }
    return Seen(
        spark.rows("t"), str(row[0]).replace(schema, "schema"), positions, spark.metadata("t")
    )


def rows_now(session: SparkSession) -> Rows | None:
    """Read the table `t`; None where there is none."""
    if not session.catalog.tableExists("t"):
        return None
    return sorted(tuple(row) for row in session.table("t").collect())


def strategy_of(tables: MaterializedTables) -> str:
    """Return how the newest rows of the table `t` were computed, by their commit."""
    return str(fenced_commits(tables, "t")[0]["refresh"]["strategy"])


def sums_tables(session: SparkSession) -> list[str]:
    """Return the tables with partial sums, of all materialized tables."""
    if not session.catalog.databaseExists(SCHEMA):
        return []
    rows = session.sql(f"SHOW TABLES IN {SCHEMA} LIKE 'sums_*'").collect()
    return [row["tableName"] for row in rows]


def attempt(tables: MaterializedTables, statement: str) -> str:
    """Carry out a statement and return the condition of its error, empty if there was none."""
    try:
        result = tables.execute(statement)
    except MaterializedTableError as error:
        return error.condition
    assert result is not None
    assert result.outcome is None or not result.outcome.warnings, result.outcome
    return ""


def assert_nothing_is_left(tables: MaterializedTables, schema: str, directory: Directory) -> None:
    """Drop what there is and look for rows of the registry and files that stay."""
    assert attempt(tables, "DROP MATERIALIZED TABLE IF EXISTS t") == ""
    # A table of the same name that is not ours must not be taken for one of ours.
    tables.sql("CREATE TABLE t (id INT) USING delta")
    assert tables.names(schema) == frozenset()
    for name in tables.sql("SHOW TABLES").collect():
        tables.sql(f"DROP TABLE {name['tableName']}")
    assert [path.name for path in directory.iterdir()] == []


def assert_history(tables: MaterializedTables, name: str = "t") -> int:
    """Hold the rows of every version that we wrote against its query AS OF its positions.

    The definition of each version is that of its own commit, or of the newest one before it.

    Returns:
        How many versions were compared.
    """
    commits = [
        (row["version"], json.loads(row["userMetadata"]))
        for row in tables.sql(f"DESCRIBE HISTORY {name}").collect()
        if MARK in (row["userMetadata"] or "")
    ]
    ours = sorted((v, metadata) for v, metadata in commits if metadata["kind"] in _FENCED)
    seqs = [metadata["seq"] for _, metadata in ours]
    assert seqs == sorted(set(seqs)), seqs
    definition, compared = "", 0
    for version, metadata in ours:
        definition = metadata.get("definition") or definition
        if metadata["kind"] == "content":
            query = _query_of(definition, name, metadata["positions"])
            _assert_same(tables, f"SELECT * FROM {name} VERSION AS OF {version}", query)
            compared += 1
    return compared


def _query_of(definition: str, name: str, positions: dict[str, Any]) -> str:
    query = decode_definition(definition, name).resolved.declared.query
    for source, (version, _) in positions.items():
        short = source.rsplit(".", 1)[-1]
        query = re.sub(rf"\b{short}\b", f"{short} VERSION AS OF {version}", query)
    return query


def _assert_same(tables: MaterializedTables, actual: str, wanted: str) -> None:
    found = sorted(tuple(row) for row in tables.sql(actual).collect())
    expected = sorted(tuple(row) for row in tables.sql(wanted).collect())
    assert found == expected, (actual, wanted)
