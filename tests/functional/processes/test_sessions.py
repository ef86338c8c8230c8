"""What happens to one session of a Spark Connect server is nothing to the others."""

from __future__ import annotations

import pyspark.errors.utils as pyspark_errors  # noqa: TID253 - these tests are about PySpark

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
