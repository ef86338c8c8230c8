"""What an operation used in the driver is released when it has ended."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.session import private_session
from dbt.adapters.spark_mt.spark.session.private_session import context_of
from tests.functional.engine.live_objects import live

CATALOG = "spark_catalog"
_LISTED = "org.apache.hadoop.fs.LocatedFileStatus"
_FILES = 20


@contextmanager
def without_collections():
    """Release objects by their references alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def is_released(session, used):
    """Whether an object is gone; PySpark keeps the session that was made last (`RDD.toDF`)."""
    session.newSession()
    return used() is None


def test_a_private_session_needs_no_garbage_collector(session, schema):
    context = context_of(session)
    assert context.schema == schema
    sessions = private_session.PrivateSessions(session)
    with without_collections():
        with sessions.open(context) as opened:
            assert opened.spark.catalog.currentDatabase() == schema
            used = weakref.ref(opened.spark)
        del opened
        assert is_released(session, used)


def test_an_environment_needs_no_garbage_collector(session, schema):
    MaterializedTables(session).execute("CREATE MATERIALIZED TABLE t AS SELECT 1 AS id")
    with without_collections():
        own = session.newSession()
        used = weakref.ref(own)
        made = SparkEnvironment(own)
        assert ("t", schema) in {(name.name, name.schema) for name in made.log.known(CATALOG)}
        environment = made.value
        assert environment.settings() is not None
        own.conf.set("spark.sql.session.timeZone", "UTC")
        assert environment.confs() == {"spark.sql.session.timeZone": "UTC"}
        del own, environment, made
        assert is_released(session, used)


@pytest.mark.conformance
def test_a_refresh_keeps_no_listing_of_files(session, schema, tmp_path):
    assert session.catalog.currentDatabase() == schema
    for number in range(_FILES):
        (tmp_path / f"{number}.json").write_text(f'{{"id": {number}}}', encoding="utf-8")
    session.sql(f"CREATE TABLE files (id BIGINT) USING json LOCATION '{tmp_path.as_uri()}'")
    tables = MaterializedTables(session)
    tables.execute(
        "CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = FULL "
        "AS SELECT count(*) AS n FROM files"
    )
    before = live(session, _LISTED, 0)

    for _ in range(3):
        tables.refresh("t")

    assert live(session, _LISTED, before) <= before
    assert session.sql("SELECT n FROM t").collect()[0][0] == _FILES
