"""What happens to one session of a Spark Connect server is nothing to the others."""

from __future__ import annotations

import pyspark.errors.utils as pyspark_errors  # noqa: TID253 - these tests are about PySpark
import pytest

from dbt.adapters.spark_mt.api import MaterializedTables


def test_a_session_that_was_closed_harms_no_other(server, session, schema, monkeypatch):
    """PySpark takes the newest session of a thread for its active one, closed or not."""
    session.sql("CREATE TABLE orders USING delta AS SELECT 1 AS k")
    server.session().client.release_session()
    monkeypatch.setattr(pyspark_errors, "_enable_debugging_cache", None)  # as in a new process
    tables = MaterializedTables(session)
    tables.execute("CREATE MATERIALIZED TABLE t AS SELECT k FROM orders")
    session.sql("INSERT INTO orders VALUES (2)")
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH")
    assert sorted(row[0] for row in session.table("t").collect()) == [1, 2]
    assert tables.names(schema) == {"t"}


@pytest.mark.conformance
def test_columns_that_move_stay_in_their_columns(session, schema):
    """The columns of sources are read, and selected in the query, over Spark Connect as well."""
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE star USING delta AS SELECT 1 AS a, 2 AS b")
    session.sql("CREATE VIEW lens AS SELECT a, b FROM star")
    tables = MaterializedTables(session)
    live = "FRESHNESS = INTERVAL '1' MINUTE"
    tables.execute(f"CREATE MATERIALIZED TABLE t {live} AS SELECT * FROM star")
    tables.execute("CREATE MATERIALIZED TABLE w REFRESH_MODE = FULL AS SELECT * FROM lens")
    session.sql("ALTER TABLE star ALTER COLUMN b FIRST")
    session.sql("INSERT INTO star VALUES (4, 3)")
    session.sql("CREATE OR REPLACE VIEW lens AS SELECT b, 0 AS c, a FROM star")
    assert tables.refresh("t").strategy == "append"
    tables.refresh("w")
    for name in ("t", "w"):
        assert sorted(map(tuple, session.table(name).collect())) == [(1, 2), (3, 4)]
