"""Queries and options that cannot be: one clear error, nothing created."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from tests.functional.engine.oracle import history, outcome, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_C = "MATERIALIZED_TABLE_"


@pytest.fixture
def tables(session: SparkSession, schema: str) -> MaterializedTables:
    """Materialized tables in a schema with the source `src(id, ds)`."""
    session.sql(f"CREATE TABLE {schema}.src USING delta AS SELECT id, 'a' AS ds FROM range(3)")
    return MaterializedTables(session)


def refused(tables: MaterializedTables, statement: str) -> MaterializedTableError:
    """Return why a CREATE is refused; it leaves nothing."""
    with pytest.raises(MaterializedTableError) as caught:
        tables.execute(statement)
    assert not tables._spark.catalog.tableExists("t")
    return caught.value


NOT_ANALYSED = (
    ("SELECT id,\n  nope\nFROM src", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "2"),
    ("SELECT id\nFROM missing", "TABLE_OR_VIEW_NOT_FOUND", "2"),
    ("SELECT id\nFROM src\nWHERE id = = 1", "PARSE_SYNTAX_ERROR", "3"),
    ("SELECT nofunction(id) FROM src", "UNRESOLVED_ROUTINE", "1"),
)


@pytest.mark.conformance
def test_a_query_that_does_not_analyse(tables):
    for query, condition, line in NOT_ANALYSED:
        error = refused(tables, f"CREATE MATERIALIZED TABLE t\nCOMMENT 'c'\nAS {query}")
        assert error.condition == _C + "QUERY_ERROR"
        assert (error.parameters["engine_condition"], error.parameters["line"]) == (condition, line)


def test_a_query_over_temporary_objects(tables, session):
    session.sql("CREATE TEMPORARY VIEW temp AS SELECT 1 AS id")
    session.sql("DECLARE VARIABLE my_limit INT DEFAULT 1")
    session.sql("CREATE TEMPORARY FUNCTION plus_one(x INT) RETURNS INT RETURN x + 1")
    for query, name in (
        ("SELECT * FROM temp", "temp"),
        ("SELECT my_limit AS n FROM src", "my_limit"),
        ("SELECT plus_one(1) AS n FROM src", "plus_one"),
    ):
        error = refused(tables, f"CREATE MATERIALIZED TABLE t AS {query}")
        assert error.condition == _C + "TEMPORARY_OBJECT"
        assert name in error.parameters["objects"]


@pytest.mark.conformance
def test_a_query_that_reads_its_own_table(tables):
    for name, query in (("a", "SELECT id FROM src"), ("b", "SELECT id FROM a")):
        outcome(tables, f"CREATE MATERIALIZED TABLE {name} AS {query}")
    tables.sql("CREATE VIEW v AS SELECT id FROM b")
    before = history(tables, "a")
    for form in "CREATE OR ALTER", "CREATE OR REPLACE":
        for query in "SELECT id FROM a", "SELECT id FROM v", "SELECT id + 0 AS id FROM b":
            with pytest.raises(MaterializedTableError) as caught:
                tables.execute(f"{form} MATERIALIZED TABLE a AS {query}")
            assert caught.value.condition == _C + "READS_ITSELF"
    assert history(tables, "a") == before


def test_a_source_that_disappears_before_a_refresh(tables):
    outcome(tables, "CREATE MATERIALIZED TABLE t AS SELECT id FROM src")
    before = history(tables, "t")
    tables.sql("DROP TABLE src")
    with pytest.raises(MaterializedTableError) as caught:
        tables.refresh("t")
    assert caught.value.condition in {_C + "SOURCE_NOT_FOUND", _C + "QUERY_ERROR"}
    assert "src" in str(caught.value)
    assert (history(tables, "t"), len(rows(tables, "SELECT * FROM t"))) == (before, 3)
    outcome(tables, "DROP MATERIALIZED TABLE t")


def test_the_schema_of_a_query_disappears(tables, schema):
    """Where tables are of Iceberg, another process may never have had it in its own catalog."""
    create = f"CREATE OR {{}} MATERIALIZED TABLE {schema}.t AS SELECT id FROM {schema}.src"
    tables.sql(f"CREATE SCHEMA {schema}_2")
    tables.sql(f"USE {schema}_2")
    outcome(tables, create.format("ALTER"))
    tables.sql(f"USE {schema}")
    tables.sql(f"DROP SCHEMA {schema}_2")
    tables.sql("INSERT INTO src SELECT 3, ds FROM src LIMIT 1")
    before = history(tables, "t")
    with pytest.raises(MaterializedTableError) as caught:
        tables.refresh("t")
    assert caught.value.condition == _C + "QUERY_SCHEMA_NOT_FOUND"
    assert f"{schema}_2" in str(caught.value)
    assert history(tables, "t") == before
    tables.sql(f"CREATE SCHEMA {schema}_2")
    assert tables.refresh("t").rows == 1
    tables.sql(f"DROP SCHEMA {schema}_2")
    outcome(tables, create.format("REPLACE"))
    tables.sql("INSERT INTO src SELECT 4, ds FROM src LIMIT 1")
    assert tables.refresh("t").rows == 1
    assert rows(tables, "SELECT id FROM t") == [(each,) for each in range(5)]


@pytest.mark.conformance
def test_a_query_whose_result_differs_from_run_to_run(tables):
    query = "AS SELECT id, rand() AS r FROM src"
    error = refused(tables, f"CREATE MATERIALIZED TABLE t {query}")
    assert (error.condition, "rand()" in str(error)) == (_C + "NONDETERMINISTIC_QUERY", True)
    created = outcome(tables, f"CREATE MATERIALIZED TABLE t REFRESH_MODE = FULL {query}")
    assert any("rand()" in warning for warning in created.warnings)


UNFIT = (
    ("PARTITIONED BY (nope)", "PARTITION_COLUMN"),
    ("CLUSTER BY (nope)", "CLUSTER_COLUMN"),
    ("PARTITIONED BY (id, ds)", "ONLY_PARTITION_COLUMNS"),
    ("WITH ('partition.fields.ds.date-formatter' = 'yyyy')", "OPTION_NOT_A_PARTITION_COLUMN"),
    (
        "PARTITIONED BY (id) WITH ('partition.fields.id.date-formatter' = 'yyyy')",
        "OPTION_NOT_A_TEXT_COLUMN",
    ),
    (
        "PARTITIONED BY (ds) WITH ('partition.fields.ds.date-formatter' = 'yyyy-bb')",
        "INVALID_OPTION",
    ),
    ("WITH ('materialized-table.definition' = 'x')", "RESERVED_OPTION"),
    ("(id, ds, more)", "COLUMN_LIST_LENGTH"),
    ("(id INT, ds STRING)", "COLUMN_TYPE"),
)


@pytest.mark.conformance
def test_clauses_that_do_not_fit_the_query(tables):
    for clauses, condition in UNFIT:
        error = refused(tables, f"CREATE MATERIALIZED TABLE t {clauses} AS SELECT id, ds FROM src")
        assert error.condition == _C + condition


@pytest.mark.conformance
def test_a_column_without_a_type_is_stored(tables):
    statement = "CREATE OR ALTER MATERIALIZED TABLE t AS SELECT id, NULL AS n FROM src"
    outcome(tables, statement)
    assert outcome(tables, statement).action.value == "UNCHANGED"
    assert tables.refresh("t", force=True).rows == 3
    assert rows(tables, "SELECT * FROM t") == [(0, None), (1, None), (2, None)]
