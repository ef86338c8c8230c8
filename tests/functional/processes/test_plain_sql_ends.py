"""Ends in the middle of plain SQL: killed clients, managers that stop, are killed, or wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from dbt.adapters.spark_mt.client import discovery
from tests.derby.metastore import shared_metastore
from tests.faults.server import CONFS, environment
from tests.functional.processes.serving import serving

pytestmark = pytest.mark.conformance

_PATIENCE_S = 90
_LOOKS = 10
"""In so many looks a job runs once the query is executed."""
_TRIPLES = "SELECT count(*) AS n FROM ids a, ids b, ids c WHERE hash(a.id, b.id, c.id) = 7"
"""Of one id it takes no time, of many hours; a task looks each second if it is to end."""
_CLIENT = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).create()
spark.sql("USE ends")
print("ready", flush=True)
spark.sql("ALTER MATERIALIZED TABLE triples REFRESH")
"""
_SHORT_STREAMS = {
    **CONFS,
    # The defaults of Spark and of a manager are two minutes and one.
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "4s",
    "spark.connect.execute.manager.detachedTimeout": "10s",
    "spark.connect.execute.manager.maintenanceInterval": "1s",
}


def url_of(manager):
    """Where clients connect."""
    return f"{manager.connect_url}/;token={discovery.read(manager.file).connect_token}"


@contextmanager
def client_of(url):
    """A client's session in the schema of the tests."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).create()
    try:
        spark.sql("CREATE SCHEMA IF NOT EXISTS ends")
        spark.sql("USE ends")
        yield spark
    finally:
        spark.client.close()


def make_triples(spark):
    """Make a table whose next refresh does not end."""
    spark.sql("CREATE TABLE ids (id BIGINT) USING delta")
    spark.sql("INSERT INTO ids VALUES (0)")
    spark.sql(f"CREATE MATERIALIZED TABLE triples REFRESH_MODE = FULL AS {_TRIPLES}")
    spark.sql("INSERT INTO ids SELECT id FROM range(1, 3000)")


def until(holds, what):
    """Wait for something that another process does."""
    end = monotonic() + _PATIENCE_S
    while not holds():
        assert monotonic() < end, what
        sleep(0.2)


def newest_status(spark):
    """How the newest refresh of the table ended."""
    jobs = spark.sql("SHOW JOBS").filter("table LIKE '%.triples'").orderBy("start_time")
    return jobs.collect()[-1].status


def check_table(spark):
    """The rows are those of before, and the next statement works."""
    assert spark.sql("SELECT n FROM triples").collect() == [(0,)]
    spark.sql("DELETE FROM ids WHERE id > 1")
    assert spark.sql("ALTER MATERIALIZED TABLE triples REFRESH").first().status == "REFRESHED"
    assert spark.sql("CHECK MATERIALIZED TABLE triples QUERY").collect() == []


@contextmanager
def refreshing(manager, url):
    """A client, a process of its own, in the middle of the refresh."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-c", _CLIENT, url],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seen = []

    def is_running():
        seen.append(manager.running_jobs() > 0)
        return len(seen) > _LOOKS and all(seen[-_LOOKS:])

    try:
        assert process.stdout.readline() == "ready\n", process.communicate()[0]
        until(is_running, "the refresh runs")
        assert process.poll() is None, process.communicate()[0]
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_client_frees_what_it_held(tmp_path):
    """Spark ends its statement when the client's time is over; the log shows it as CANCELED."""
    with serving(tmp_path, _SHORT_STREAMS) as manager, client_of(url_of(manager)) as spark:
        make_triples(spark)
        with refreshing(manager, url_of(manager)) as process:
            process.send_signal(signal.SIGKILL)
            process.wait()
            until(lambda: newest_status(spark) == "CANCELED", "the refresh ends")
        assert manager.running_jobs() == 0
        check_table(spark)


def test_a_manager_that_stops(tmp_path):
    """It refuses statements, interrupts what takes long, and the next one finds the table right."""
    from pyspark.errors import PySparkException

    with ExitStack() as running:
        manager = running.enter_context(serving(tmp_path))
        with client_of(url_of(manager)) as spark:
            make_triples(spark)
            with refreshing(manager, url_of(manager)) as process:
                stop = Thread(target=running.close)
                stop.start()
                refusals = []

                def is_refused():
                    try:
                        spark.sql("SHOW MATERIALIZED TABLES")
                    except PySparkException as error:
                        refusals.append(error)
                    return refusals

                until(is_refused, "statements are refused")
                assert refusals[0].getCondition() == "MATERIALIZED_TABLE_SQL_BEFORE_STOP"
                assert refusals[0].getSqlState() == "57P01"
                assert "Nothing was done" in str(refusals[0])
                shown = process.communicate()[0]
                assert "CANCELED" in shown or "cancel" in shown, shown
                stop.join(_PATIENCE_S)
                assert not stop.is_alive()
    with serving(tmp_path) as manager, client_of(url_of(manager)) as spark:
        assert newest_status(spark) == "CANCELED"
        check_table(spark)


def test_a_manager_that_is_killed(tmp_path):
    """Its JVM ends with its Python, and the next one finds the table right."""
    with ExitStack() as running:
        manager = running.enter_context(serving(tmp_path))
        with client_of(url_of(manager)) as spark:
            make_triples(spark)
        with refreshing(manager, url_of(manager)):  # PySpark tries again for ten minutes
            manager.process.kill()
            until(lambda: not Path(f"/proc/{manager.jvm}").exists(), "the JVM ends")
    with serving(tmp_path) as manager, client_of(url_of(manager)) as spark:
        # The row of a running refresh is written with the next tick, and here an hour passes first.
        assert newest_status(spark) in {"FAILED", "FINISHED"}
        check_table(spark)


def test_a_manager_on_standby_carries_statements_out(tmp_path, monkeypatch):
    """As it does for dbt: what a statement writes is fenced, whoever holds the lease."""
    monkeypatch.setenv("SPARK_MT_TOKEN", "token-of-this-test")
    for each in ("first", "second"):
        (tmp_path / each).mkdir()
    with shared_metastore(tmp_path) as shared, ExitStack() as running:
        confs = {**CONFS, **shared}
        first = running.enter_context(serving(tmp_path / "first", confs))
        second = running.enter_context(serving(tmp_path / "second", confs))
        clients = [
            running.enter_context(client_of(f"{each.connect_url}/;token=token-of-this-test"))
            for each in (first, second)
        ]
        clients[0].sql("CREATE TABLE ids (id BIGINT) USING delta")
        daily = "FRESHNESS = INTERVAL '1' DAY"  # no manager refreshes it meanwhile
        clients[0].sql(f"CREATE MATERIALIZED TABLE t {daily} AS SELECT id FROM ids")
        clients[1].sql("INSERT INTO ids VALUES (1)")
        assert clients[1].sql("ALTER MATERIALIZED TABLE t REFRESH").first().rows == 1
        made = clients[1].sql("CREATE MATERIALIZED TABLE u AS SELECT count(*) AS n FROM t")
        assert made.first().action == "CREATED"
        for client in clients:
            assert client.sql("SELECT n FROM u").collect() == [(1,)]
            shown = client.sql("SHOW MATERIALIZED TABLES").collect()
            assert [row.table_name for row in shown] == ["t", "u"]


@pytest.mark.skipif(os.name != "posix", reason="a folder is made unusable by its rights")
def test_no_right_to_write_the_warehouse(tmp_path):
    """The error is the client's, and nothing is made; a statement afterwards works."""
    from pyspark.errors import PySparkException

    with serving(tmp_path) as manager, client_of(url_of(manager)) as spark:
        spark.sql("CREATE TABLE ids (id BIGINT) USING delta")
        spark.sql("CREATE SCHEMA closed")
        folder = next(tmp_path.rglob("closed.db"))
        folder.rmdir()
        folder.write_text("")  # rights do not stop the superuser, a file does
        statement = "CREATE MATERIALIZED TABLE closed.t AS SELECT id FROM ends.ids"
        with pytest.raises(PySparkException) as raised:
            spark.sql(statement)
        assert raised.value.getCondition()
        assert "closed.db" in str(raised.value)
        assert "\tat " not in str(raised.value)
        assert spark.sql("SHOW TABLES IN closed").collect() == []
        assert spark.sql("SHOW MATERIALIZED TABLES FROM closed").collect() == []
        folder.unlink()
        folder.mkdir()
        assert spark.sql(statement).first().action == "CREATED"
