"""`spark-mt serve` on S3, a cluster and a Hive Metastore, while workers are lost.

`LAKE_SOAK_SECONDS` (180) says for how long the sources change, `LAKE_SOAK_SEED` repeats what
happened.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from random import Random

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.definition.job import Owner
from tests.faults.checks import assert_history
from tests.faults.server import CONFS
from tests.lake.together.conftest import driverless
from tests.soak.managed import Managed, until
from tests.soak.usage import usage
from tests.support.free_ports import free_port

_SCHEMA = "lake_soak"
_TOKEN = "of-the-soak-of-a-lake"  # noqa: S105 - of a server on the loopback address
_CHANGE_EVERY_S = 4.0
_LOSE_A_WORKER_EVERY_S = 150.0
_SOURCES = (
    "CREATE TABLE orders (id BIGINT, k INT, v INT) USING delta",
    "CREATE TABLE clicks (id BIGINT, k INT) USING delta",
    "CREATE TABLE products USING delta AS SELECT CAST(id AS INT) AS k, 1 AS price FROM range(10)",
)
_TABLES = {
    "appended": "FRESHNESS = INTERVAL '30' SECOND AS SELECT id, k * 2 AS k FROM clicks",
    "sums": "WITH ('incremental' = 'auto') FRESHNESS = INTERVAL '30' SECOND "
    "AS SELECT k, count(*) AS n, sum(v) AS v FROM orders GROUP BY k",
    "revenue": "FRESHNESS = INTERVAL '1' MINUTE AS SELECT o.k, sum(o.v * p.price) AS total "
    "FROM orders o JOIN products p ON o.k = p.k GROUP BY o.k",
    "best": "FRESHNESS = INTERVAL '1' MINUTE "
    "AS SELECT * FROM revenue ORDER BY total DESC, k LIMIT 3",
    "computed": "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = FULL "
    "AS SELECT k, max(v) AS highest FROM orders GROUP BY k",
}
_MERGE = (
    "MERGE INTO orders USING (SELECT id FROM range({first} - 5, {last})) AS s ON orders.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (id, k, v) VALUES (s.id, 3, 1)"
)
_CHANGES = (
    "INSERT INTO orders SELECT id, id % 10, id % 7 FROM range({first}, {last})",
    "INSERT INTO clicks SELECT id, id % 10 FROM range({first}, {last})",
    "UPDATE orders SET v = v + 1 WHERE id % 13 = {number} % 13",
    "DELETE FROM orders WHERE id % 29 = {number} % 29",
    "UPDATE products SET price = price + 1 WHERE k = {number} % 10",
    _MERGE,
)


@pytest.fixture
def managed(tmp_path):
    """The cluster, and a manager that is its driver."""

    def folder(name):
        made = tmp_path / name
        made.mkdir()
        return made

    place = Discovered(
        Owner("localhost", os.getpid()),
        f"sc://localhost:{free_port()}",
        _TOKEN,
        f"http://127.0.0.1:{free_port()}",
        _TOKEN,
    )
    with driverless(folder) as (_, cluster, confs):
        pairs = [f"{key}={value}" for key, value in {**CONFS, **confs}.items()]
        running = Managed.start(folder("manager"), pairs, place)
        try:
            yield cluster, running
        finally:
            running.stop()


def test_tables_stay_equal_to_their_queries(managed):
    cluster, running = managed
    seconds = float(os.environ.get("LAKE_SOAK_SECONDS", "180"))
    seed = os.environ.get("LAKE_SOAK_SEED", str(secrets.randbelow(10**6)))
    with running.connected() as spark:
        for statement in (f"CREATE SCHEMA {_SCHEMA}", f"USE {_SCHEMA}", *_SOURCES):
            spark.sql(statement)
        for name, rest in _TABLES.items():
            statement = f"CREATE MATERIALIZED TABLE {name} {rest}"
            running.client.execute(statement, "spark_catalog", _SCHEMA, {})
        first = usage(running, 0)
        done = _changed(spark, cluster, seconds, Random(seed))  # noqa: S311 - no secrets
        last = usage(running, seconds / 60)
        done |= _compared(running, spark)
    print(f"LAKE_SOAK_SECONDS={seconds:.0f} LAKE_SOAK_SEED={seed}")  # noqa: T201 - how to repeat it
    print(done, first, last, sep="\n")  # noqa: T201 - the result


def _changed(spark, cluster, seconds, chance) -> Counter[str]:
    """Change a source every few seconds, and lose a worker now and then."""
    done, began, lost_at = Counter[str](), time.monotonic(), 0.0
    while (at := time.monotonic() - began) < seconds:
        number = done.total()
        change = chance.choice(_CHANGES)
        spark.sql(change.format(number=number, first=number * 20, last=number * 20 + 20))
        done[change.split()[0]] += 1
        if at - lost_at > _LOSE_A_WORKER_EVERY_S:
            lost_at = at
            worker = done["workers lost"] % 2
            cluster.lose_a_worker(worker)
            cluster.replace(worker)
            done["workers lost"] += 1
        time.sleep(max(0.0, began + at + _CHANGE_EVERY_S - time.monotonic()))
    return done


def _compared(running, spark) -> Counter[str]:
    """Compare every version of every table with its query, and the last one with the sources now.

    The manager brings the tables up to date; a table over another one comes after it.
    """
    tables = MaterializedTables(spark)
    versions = Counter[str]()
    for name, rest in _TABLES.items():
        query = rest.partition(" AS ")[2]

        def is_fresh(name=name, query=query) -> bool:
            return _rows(spark, f"SELECT * FROM {name}") == _rows(spark, query)

        until(is_fresh, f"{name} is as its query; see {running.folder / 'manager.log'}")
        versions[f"versions of {name}"] = assert_history(tables, name)
    assert all(versions.values()), versions
    return versions


def _rows(spark, query):
    return sorted(tuple(row) for row in spark.sql(query).collect())
