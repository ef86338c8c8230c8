"""What a hosted stream used is released when it has ended."""

from __future__ import annotations

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.functional.engine.live_objects import SESSION, STREAM, live

_FEW = 2


def test_a_stream_that_ended_is_released(session, schema):
    assert session.catalog.currentDatabase() == schema
    session.sql("CREATE TABLE events (id BIGINT) USING delta")
    tables = MaterializedTables(session)
    tables.execute(
        "CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' SECOND AS SELECT id FROM events"
    )
    streams, sessions = live(session, STREAM, 0), live(session, SESSION, 0)

    for number in range(2):
        session.sql(f"INSERT INTO events VALUES ({number})")
        tables.start("t")
        tables.await_fresh("t", 60)
        tables.stop("t")

    assert live(session, STREAM, streams) <= streams
    assert live(session, SESSION, sessions + _FEW) <= sessions + _FEW
    assert session.sql("SELECT count(*) FROM t").collect()[0][0] == 2
