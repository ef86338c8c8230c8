"""Refreshes by changes while other programs write the table, or do something to its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.delta import row_conditions
from dbt.adapters.spark_mt.spark.delta.row_changes import Replacing
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.tables.result_changes import ResultChanges
from dbt.adapters.spark_mt.spark.tables.stored_sums import SumsTables
from dbt.adapters.spark_mt.spark.tables.writer import ContentWriter
from tests.functional.engine.oracle import assert_equals_query
from tests.functional.refreshes.test_incremental import (
    NAME,
    create,
    reasons,
    refreshed,
    sums,
    tables,
    without_others,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["tables", "without_others"]

ROWS = "SELECT id, v FROM f"
GROUPS = "SELECT k, count(*) AS n, sum(v) AS s FROM f GROUP BY k"


def once(
    patch: pytest.MonkeyPatch, cls: type, name: str, other: Callable[[], object], *, after: bool
) -> None:
    """Let another program do something right before, or right after, the first call of a method."""
    method, calls = getattr(cls, name), []

    def called(*args: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) == 1 and not after:
            other()
        result = method(*args, **named)
        if len(calls) == 1 and after:
            other()
        return result

    patch.setattr(cls, name, called)


@pytest.mark.conformance
@pytest.mark.parametrize(
    ("query", "row", "merges"),
    [
        (ROWS, "(5000, 1)", False),
        (ROWS, "(5000, 1)", True),
        (GROUPS, "(5000, 1, 1)", False),
        (GROUPS, "(5000, 1, 1)", True),
    ],
)
def test_rows_that_others_write_right_before_the_commit_do_not_stay(
    tables, monkeypatch, query, row, merges
):
    create(tables, query)
    if merges:
        monkeypatch.setattr(row_conditions, "MOST_VALUES", 0)
    tables.sql("UPDATE f SET v = v + 1 WHERE id < 5")
    with monkeypatch.context() as patch:
        foreign = f"INSERT INTO t VALUES {row}"
        once(patch, ContentWriter, "_check", lambda: tables.sql(foreign), after=True)
        assert tables.refresh("t").strategy == NAME
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id < 5", by="recompute")
    assert "FOREIGN_ROWS" in reasons(tables)
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id < 5")


@pytest.mark.conformance
def test_copies_that_others_write_between_the_scan_and_the_write(tables, monkeypatch):
    """Those of rows that are replaced go with them, and the next refresh knows of their writer."""
    create(tables, ROWS)
    tables.sql("UPDATE f SET v = v + 1 WHERE id < 5")
    with monkeypatch.context() as patch:
        copies = "INSERT INTO t SELECT * FROM t WHERE id BETWEEN 3 AND 8"
        once(patch, Replacing, "run", lambda: tables.sql(copies), after=False)
        assert tables.refresh("t").strategy == NAME
    refreshed(tables, "UPDATE f SET v = v + 1 WHERE id < 5", by="recompute")
    assert "FOREIGN_ROWS" in reasons(tables)


@pytest.mark.conformance
@pytest.mark.usefixtures("without_others")
@pytest.mark.parametrize(
    "end",
    ["DROP MATERIALIZED TABLE t", pytest.param("release", marks=pytest.mark.conformance)],
)
def test_a_table_that_ends_while_its_partial_sums_are_stored(tables, monkeypatch, end):
    def ended() -> None:
        other = MaterializedTables(tables._spark)
        if end == "release":
            other.release("t")
        else:
            other.execute(end)

    create(tables, "SELECT k, sum(v) AS s FROM f WHERE id < 990 GROUP BY k")
    tables.sql("UPDATE f SET v = v + 1 WHERE id = 3")
    with monkeypatch.context() as patch:
        once(patch, SumsTables, "_commit", ended, after=False)
        with pytest.raises(MaterializedTableError):
            tables.refresh("t")
    assert sums(tables) == []


def has_current_sources(tables: MaterializedTables) -> bool:
    """Whether the positions of the table are those of the sources that are there now."""
    engine = SparkEnvironment(tables._spark).value
    found = engine.store.find(engine.store.full_name(TableName("t")))
    assert isinstance(found, StoredTable)
    return all(
        engine.sources.is_readable(TableName.of(*name.split(".")), position)
        for name, position in (found.positions or {}).items()
    )


OTHERS = {
    "compacted": ("OPTIMIZE f",),
    "restored": ("RESTORE TABLE f TO VERSION AS OF 0",),
    "replaced": ("CREATE OR REPLACE TABLE f USING delta AS SELECT * FROM f WHERE id < 100",),
    "vacuumed": (
        "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
        "VACUUM f RETAIN 0 HOURS",
        "SET spark.databricks.delta.retentionDurationCheck.enabled = true",
    ),
    "made again": (
        "CREATE TABLE other USING delta AS SELECT * FROM f WHERE id > 100",
        "DROP TABLE f",
        "CREATE TABLE f USING delta AS SELECT * FROM other",
        "UPDATE f SET v = v + 7 WHERE id % 9 = 0",
    ),
}


@pytest.mark.conformance
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("query", [ROWS, GROUPS], ids=["rows", "groups"])
def test_a_source_that_others_change_after_its_version_was_read(tables, monkeypatch, query, name):
    create(tables, query)
    tables.sql("UPDATE f SET v = v + 1 WHERE id < 5")

    def change() -> None:
        for statement in OTHERS[name]:
            tables.sql(statement)

    with monkeypatch.context() as patch:
        once(patch, ResultChanges, "of", change, after=False)
        tables.refresh("t")
    assert_equals_query(tables, "t")
    assert has_current_sources(tables)
    tables.sql("INSERT INTO f VALUES (901, 3, 4, 1.5)")
    tables.refresh("t")
    assert_equals_query(tables, "t")
