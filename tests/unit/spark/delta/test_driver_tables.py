"""Which rows a scan finds, and where that may be tried."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.table_format import TableColumns
from dbt.adapters.spark_mt.spark.delta import driver_tables, row_changes
from dbt.adapters.spark_mt.spark.delta.changes import marks_rows
from dbt.adapters.spark_mt.spark.delta.driver_tables import Removal, can_replace
from dbt.adapters.spark_mt.spark.formats import delta as delta_format

TABLE = TableColumns(TableName("t", "s", "c"), ("k", "v"), types=("INT", "STRING"))
MARKED = {delta_format.DELETION_VECTORS: "true"}
REMOVAL = Removal("SELECT * FROM gone", 3, ("k", "a b"), "k", " AND `k` >= 1 AND `k` <= 9")


def session(number="7", heap=2**32):
    runtime = SimpleNamespace(maxMemory=lambda: heap)
    jvm = {"java.lang.Runtime": SimpleNamespace(getRuntime=lambda: runtime)}
    return SimpleNamespace(
        conf=SimpleNamespace(
            get=lambda key, _=None: number if key == delta_format.FENCE_NUMBER else None
        ),
        sparkContext=SimpleNamespace(_jvm=type("Jvm", (), jvm)()),
    )


def test_rows_have_the_hashes_of_the_condition():
    for columns, listed in ((REMOVAL.columns, "`k`, `a b`"), ((REMOVAL.one,), "`k`")):
        hashes = f"xxhash64({listed})", f"xxhash64(1, {listed})"
        condition = REMOVAL.condition(columns)
        first, *others = condition.split(" AND ", 2)
        assert (first, others[0]) == tuple(f"{hashed} = 0L" for hashed in hashes)
        assert condition.endswith(" = 0L AND `k` >= 1 AND `k` <= 9")
        assert REMOVAL.hashes(columns).startswith(f"SELECT {', '.join(hashes)} FROM (")


def test_the_commit_says_how_many_rows_were_found_by_what():
    assert REMOVAL.predicate == "(`k`, `a b`) of 3 rows"


@pytest.mark.parametrize(
    ("table", "count", "properties", "number"),
    [
        (TABLE, 0, MARKED, "7"),
        (TABLE, driver_tables.MOST_ROWS + 1, MARKED, "7"),
        (TABLE, 1, {}, "7"),
        (TABLE, 1, {delta_format.DELETION_VECTORS: "false"}, "7"),
        (TABLE, 1, MARKED, None),
        (TableColumns(TABLE.name, ("k", "v")), 1, MARKED, "7"),
        (TableColumns(TABLE.name, ("k", "v"), types=("INT", "VARCHAR(9)")), 1, MARKED, "7"),
        (TableColumns(TABLE.name, ("m",), comparable=False, types=("MAP<INT, INT>",)), 1, {}, "7"),
    ],
)
def test_rows_are_not_found_by_filters(table, count, properties, number):
    assert not (can_replace(session(number), table, count) and marks_rows(properties))
    assert can_replace(session(), TABLE, 1)
    assert marks_rows(MARKED)


def test_many_rows_are_not_found_by_filters_where_the_heap_is_small():
    most = 2**30 // 3_000
    assert can_replace(session(heap=2**30), TABLE, most)
    assert not can_replace(session(heap=2**30), TABLE, most + 1)
    assert can_replace(session(), TABLE, driver_tables.MOST_ROWS)


def test_classes_that_do_not_fit_leave_it_to_a_merge(monkeypatch, caplog):
    kind = type("CompileException", (Exception,), {"__module__": "py4j.protocol"})
    error = kind("no such class: DeleteCommand")

    def compile_(*_):
        raise error

    monkeypatch.setattr(driver_tables.driver_java, "_compile", compile_)
    same = session()
    for _ in range(2):
        assert not row_changes.replace_rows(same, TABLE, REMOVAL, "SELECT 1")
    assert driver_tables.listed_files(same, object()) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "no such class: DeleteCommand" in caplog.text
