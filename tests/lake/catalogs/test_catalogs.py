"""Tables and sources in different catalogs of one session."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import outcome, rows

QUERY = """SELECT o.k, sum(o.v) AS total, max(n.name) AS name
FROM shop.APP.orders o JOIN names n ON n.k = o.k GROUP BY o.k"""


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE shop.APP.orders (k INT, v INT)")
    session.sql("INSERT INTO shop.APP.orders VALUES (1, 10), (1, 20), (2, 30)")
    session.sql("CREATE TABLE names USING delta AS SELECT 1 AS k, 'one' AS name")
    yield MaterializedTables(session)
    session.sql("DROP TABLE shop.APP.orders")


def test_a_source_in_another_catalog(tables, session):
    outcome(tables, f"CREATE MATERIALIZED TABLE totals REFRESH_MODE = FULL AS {QUERY}")
    assert rows(tables, "SELECT * FROM totals") == rows(tables, QUERY) == [(1, 30, "one")]
    session.sql("INSERT INTO shop.APP.orders VALUES (2, 5), (1, 1)")
    session.sql("INSERT INTO names VALUES (2, 'two')")
    assert tables.refresh("totals").status is RefreshResult.REFRESHED
    assert rows(tables, "SELECT * FROM totals") == rows(tables, QUERY)
    assert len(rows(tables, "SELECT * FROM totals")) == 2


def test_a_table_in_a_catalog_without_versions_is_refused(tables):
    with pytest.raises(MaterializedTableError) as raised:
        outcome(tables, f"CREATE MATERIALIZED TABLE shop.APP.totals REFRESH_MODE = FULL AS {QUERY}")
    assert raised.value.condition == "MATERIALIZED_TABLE_REFRESH_FAILED"
    assert "NOT_SUPPORTED_IN_JDBC_CATALOG" in str(raised.value)
    assert [name for _, name, _ in rows(tables, "SHOW TABLES IN shop.APP")] == ["orders"]


def test_a_second_catalog_of_delta_is_one_that_delta_does_not_open(tables, schema):
    """Its catalog wraps Spark's own; under another name there is none to wrap."""
    with pytest.raises(Exception, match=r'"this\.delegate" is null'):
        tables.sql("CREATE TABLE second.other.t USING delta AS SELECT 1 AS k")
    with pytest.raises(MaterializedTableError) as raised:
        outcome(
            tables,
            f"CREATE MATERIALIZED TABLE totals REFRESH_MODE = FULL "
            f"AS SELECT k FROM second.{schema}.names",
        )
    assert raised.value.condition == "MATERIALIZED_TABLE_QUERY_ERROR"
    assert [name for _, name, _ in rows(tables, f"SHOW TABLES IN {schema}")] == ["names"]
