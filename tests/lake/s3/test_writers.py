"""Two drivers that write one Delta table on S3 at the same time, without this project."""

from __future__ import annotations

import time

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.functional.engine.oracle import history, rows
from tests.lake.object_store import BUCKET
from tests.lake.second_driver import second_driver

HELD_S = 30.0


def test_two_drivers_overwrite_each_others_commits(session, store):
    """Why such a warehouse is refused: when this fails, Delta has a safe log store for S3."""
    table = f"delta.`s3a://{BUCKET}/plain`"
    session.sql(f"CREATE TABLE {table} (v INT) USING delta")
    confs = store.confs("second")
    with second_driver(confs, table) as other:
        store.hold_commits(HELD_S)
        try:
            other.begins()
            time.sleep(1)
            session.sql(f"INSERT INTO {table} VALUES (1)")
            other.expect("done")
        finally:
            store.hold_commits(0)
    tables = MaterializedTables(session)
    assert len(rows(tables, f"SELECT v FROM {table}")) == 1
    assert [commit["version"] for commit in history(tables, table)] == [1, 0]
