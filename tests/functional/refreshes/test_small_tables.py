"""Small Delta tables read in the driver: the rows that Spark reads, without a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.table_format import DataFiles
from dbt.adapters.spark_mt.spark.catalog.table_details import NewestVersions, TableDetails
from dbt.adapters.spark_mt.spark.delta import small_tables
from dbt.adapters.spark_mt.spark.delta.small_tables import SmallDeltaTables
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment, installed_tables
from dbt.adapters.spark_mt.spark.registry.registry import SparkSystemLog
from dbt.adapters.spark_mt.spark.registry.system_table import REGISTRY_LAYOUT, SystemTable
from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSessions
from tests.behaviour.spark import SparkTables
from tests.support.refs import delta_at

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CATALOG = "spark_catalog"
COLUMNS = ("a", "b")
DELTA = "USING delta TBLPROPERTIES"


@pytest.fixture
def tables(session, schema):
    assert session.catalog.currentDatabase() == schema
    yield SparkTables(session)
    session.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def log_by_spark(spark: SparkSession) -> SparkSystemLog:
    """The registry as Spark alone reads it."""
    tables = installed_tables(spark)
    versions = NewestVersions(TableDetails(spark, tables), tables)
    table = SystemTable(spark, lambda _: tables.default, PrivateSessions(spark), REGISTRY_LAYOUT)
    return SparkSystemLog(spark, table, lambda: 0, versions)


def test_the_registry_is_read_without_a_job_as_spark_reads_it(tables, session, schema):
    tables.execute("CREATE MATERIALIZED TABLE t AS SELECT id FROM range(3)")
    tables.execute("CREATE MATERIALIZED TABLE u AS SELECT id FROM range(3)")
    tables.execute("CREATE MATERIALIZED TABLE gone AS SELECT id FROM range(3)")
    tables.execute("DROP MATERIALIZED TABLE gone")
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH")
    by_file, by_spark = SparkEnvironment(session).log, log_by_spark(session)
    by_file.record_handlers(CATALOG, {TableName("t", schema, CATALOG): b"state"})

    def everything(log):
        named = [TableName(name, schema, CATALOG) for name in ("t", "u", "gone", "o'{clock\\")]
        newest = sorted(log.newest(CATALOG, 1, 0), key=lambda job: job.job_id)
        return (
            log.tables(CATALOG),
            log.known(CATALOG),
            [log.knows(name) for name in named],
            [log.handler(name) for name in named],
            log.handlers(CATALOG),
            set(log.jobs(CATALOG, 0)),
            {job.table: job.started_at_ms for job in newest},
            [log.of_table(name, 1) for name in named],
            log.job(CATALOG, newest[0].job_id),
            log.running(CATALOG, schema, 0),
            log.last_scheduled(CATALOG),
        )

    session.sparkContext.setJobGroup("by file", "")
    found = everything(by_file)
    assert not session.sparkContext.statusTracker().getJobIdsForGroup("by file")
    session.sparkContext.setJobGroup("by Spark", "")
    assert found == everything(by_spark)
    assert session.sparkContext.statusTracker().getJobIdsForGroup("by Spark")
    assert found[2:4] == ([True, True, False, False], [b"state", b"", b"", b""])
    assert by_file.entries(CATALOG, schema) == by_spark.entries(CATALOG, schema)
    session.sql("OPTIMIZE materialized_table_system.registry")
    session.sparkContext.setJobGroup("by other files", "")
    assert everything(by_file) == found
    assert not session.sparkContext.statusTracker().getJobIdsForGroup("by other files")


def test_a_file_is_older_than_a_column(session, tmp_path):
    table = f"delta.`{tmp_path / 'a b%20c'}`"
    session.sql(f"CREATE TABLE {table} (a INT) USING delta")
    session.sql(f"INSERT INTO {table} VALUES (1)")
    session.sql(f"ALTER TABLE {table} ADD COLUMNS (b STRING)")
    session.sql(f"INSERT INTO {table} VALUES (2, 'x')")
    session.sql(f"INSERT INTO {table} VALUES (3, 'y'), (4, 'z')")
    session.sql(f"DELETE FROM {table} WHERE a = 3")
    reader = SmallDeltaTables(session, DriverFiles(session))
    found = reader.read(delta_at(str(tmp_path / "a b%20c")), COLUMNS, ())
    rows = sorted(row for rows in found.rows.values() for row in rows)
    assert rows == [(1, None), (2, "x"), (4, "z")]
    assert found.paths == set(found.rows)
    again = reader.read(delta_at(str(tmp_path / "a b%20c")), COLUMNS, found.paths)
    assert again == DataFiles(found.paths, {})


@pytest.mark.parametrize(
    "create",
    [
        f"(a INT, b INT) {DELTA} ('delta.enableDeletionVectors' = true)",
        f"(a INT, b INT) {DELTA} ('delta.columnMapping.mode' = 'name')",
        "(a INT, b INT) USING delta PARTITIONED BY (b)",
        "(a INT, c INT) USING delta",
    ],
)
def test_spark_reads_what_is_not_in_the_files_alone(session, tmp_path, create):
    table = f"delta.`{tmp_path / 't'}`"
    session.sql(f"CREATE TABLE {table} {create}")
    session.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, id FROM range(3)")
    session.sql(f"DELETE FROM {table} WHERE a = 1")
    reader = SmallDeltaTables(session, DriverFiles(session))
    assert reader.read(delta_at(str(tmp_path / "t")), COLUMNS, ()) is None


def test_spark_reads_what_is_large_gone_or_damaged(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, ref = f"delta.`{tmp_path / 't'}`", delta_at(str(tmp_path / "t"))
    reader = SmallDeltaTables(session, DriverFiles(session))
    assert reader.read(ref, COLUMNS, ()) is None
    session.sql(f"CREATE TABLE {table} (a INT, b INT) USING delta")
    assert reader.read(ref, COLUMNS, ()) == DataFiles(frozenset(), {})
    session.sql(f"INSERT INTO {table} VALUES (1, 1)")
    (path,) = reader.read(ref, COLUMNS, ()).paths
    monkeypatch.setattr(small_tables, "_MOST_BYTES", 100)
    assert reader.read(ref, COLUMNS, ()) is None
    assert reader.read(ref, COLUMNS, (path,)).rows == {}, "it need not be read again"
    monkeypatch.undo()
    file = tmp_path / "t" / path.rpartition("/")[2]
    file.with_name(f".{file.name}.crc").unlink()
    whole = file.read_bytes()
    for content in (b"no Parquet", whole[:-4] + b"PARE"):
        file.write_bytes(content)
        assert reader.read(ref, COLUMNS, ()) is None
    file.unlink()
    assert reader.read(ref, COLUMNS, ()) is None
