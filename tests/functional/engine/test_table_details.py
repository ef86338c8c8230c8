"""Details of tables read in the driver: those of Spark's statements, without a job."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.spark.catalog.table_details import NoTable, TableDetails
from dbt.adapters.spark_mt.spark.environment import installed_tables
from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles
from dbt.adapters.spark_mt.spark.session.errors import suppress_spark_errors

HIDDEN = "spark.sql.redaction.options.regex"
COMMENT = "Two lines,\n\\'quoted\\' \\\\ and ä."


@pytest.fixture
def by_files(session, schema):
    assert session.catalog.currentDatabase() == schema
    yield TableDetails(session, installed_tables(session, DriverFiles(session)))
    session.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@pytest.fixture
def by_spark(session):
    """The log that is read by jobs describes no table."""
    return TableDetails(session, installed_tables(session))


@pytest.fixture
def named(schema):
    return TableName("t", schema, "spark_catalog")


def jobs_of(session, group):
    return session.sparkContext.statusTracker().getJobIdsForGroup(group)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE t (a INT) USING delta"],
        [f"CREATE TABLE t (a INT) USING delta COMMENT '{COMMENT}'"],
        ["CREATE TABLE t (a INT) USING delta", "COMMENT ON TABLE t IS 'later'"],
        ["CREATE TABLE t (a INT) USING delta LOCATION '{place}/a b%20ä[1]'"],
        ["CREATE TABLE t (a INT, b INT) USING delta CLUSTER BY (b, a)"],
        ["CREATE TABLE t (a STRUCT<b: INT>) USING delta CLUSTER BY (a.b)"],
        [
            "CREATE TABLE t (a INT) USING delta CLUSTER BY (a)",
            "ALTER TABLE t CLUSTER BY NONE",
        ],
        [
            "CREATE TABLE t (a INT) USING delta CLUSTER BY (a)",
            "CREATE OR REPLACE TABLE t (a INT, b INT) USING delta CLUSTER BY (b)",
        ],
        [
            "CREATE TABLE t (a INT) USING delta CLUSTER BY (a)",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        ],
        [
            "CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('note' = 'x', 'a.b' = '')",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
            "INSERT INTO t VALUES (1), (2)",
            "DELETE FROM t WHERE a = 1",
            "ALTER TABLE t ADD CONSTRAINT small CHECK (a < 9)",
        ],
        [
            "CREATE TABLE t (a INT, b INT) USING delta PARTITIONED BY (a)",
            "ALTER TABLE t SET TBLPROPERTIES ('kept' = '1', 'gone' = '2')",
            "ALTER TABLE t UNSET TBLPROPERTIES ('gone')",
        ],
        ["CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('my.password' = 'x', 'b' = 'c')"],
        ["CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('b' = 'the secret')"],
        ["CREATE TABLE t (a INT) USING delta OPTIONS ('mine' = 'x')"],
        ["CREATE TABLE t (a INT) USING parquet"],
        ["CREATE TABLE o (a INT) USING delta", "CREATE VIEW t AS SELECT * FROM o"],
    ],
)
def test_the_driver_reads_what_spark_shows(
    by_files, by_spark, session, named, tmp_path, statements
):
    for statement in statements:
        session.sql(statement.replace("{place}", str(tmp_path)))
    found = by_files.of(named)
    assert found == by_spark.of(named)
    if isinstance(found, TableRef):
        assert by_files.properties(named) == by_spark.properties(named)
        assert by_files.description(named) == by_spark.description(named)


def test_a_table_with_clustering_columns_needs_no_job(by_files, by_spark, session, named):
    session.sql("CREATE TABLE t (a INT, b INT) USING delta COMMENT 'c' CLUSTER BY (b, a)")
    session.sql("INSERT INTO t VALUES (1, 2)")
    session.sparkContext.setJobGroup("by file", "")
    assert by_files.table(named) is not None
    assert by_files.description(named).comment == "c"
    assert by_files.properties(named)["clusteringColumns"] == '[["b"],["a"]]'
    assert by_files.identity(named)
    assert not jobs_of(session, "by file")
    session.sparkContext.setJobGroup("by Spark", "")
    assert by_spark.properties(named)["clusteringColumns"] == '[["b"],["a"]]'
    assert jobs_of(session, "by Spark")


def test_properties_are_those_of_the_newest_commit(by_files, session, named, tmp_path):
    session.sql(f"CREATE TABLE t (a INT) USING delta LOCATION '{tmp_path / 'one'}'")
    before = by_files.properties(named)
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('note' = 'x')")
    assert by_files.properties(named) == {**before, "note": "x"}
    session.sql("DROP TABLE t")
    session.sql(f"CREATE TABLE t (a INT) USING delta LOCATION '{tmp_path / 'two'}'")
    assert by_files.properties(named) == before


def test_spark_describes_a_table_without_a_checksum(by_files, by_spark, session, named):
    """Other writers may leave none."""
    session.sql("CREATE TABLE t (a INT) USING delta COMMENT 'c' CLUSTER BY (a)")
    log = Path(unquote(urlparse(by_files.of(named).handle).path)) / "_delta_log"
    (checksum,) = log.glob("0*.crc")
    text = checksum.read_text()
    for damaged in (text[:40], "{}", text.replace("domainMetadata", "other"), None):
        checksum.unlink()
        if damaged is not None:
            checksum.write_text(damaged)
        by_files.forget()
        assert by_files.of(named) == by_spark.of(named)
        assert by_files.properties(named) == by_spark.properties(named)
        assert by_files.description(named) == by_spark.description(named)
        assert by_files.identity(named) == by_spark.identity(named)


def test_a_session_may_hide_more(by_files, by_spark, session, named):
    session.sql("CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('a' = 'x', 'card' = 'y')")
    session.conf.set(HIDDEN, "card")
    hidden = by_files.properties(named)
    assert hidden == by_spark.properties(named)
    assert (hidden["a"], hidden["card"]) == ("x", "*********(redacted)")


def test_a_table_whose_files_are_gone_is_reported(by_files, session, named):
    """At the latest after a search for its newest version, which finds nothing."""
    session.sql("CREATE TABLE t (a INT) USING delta")
    location = by_files.of(named).handle
    shutil.rmtree(unquote(urlparse(location).path))
    with suppress_spark_errors():
        pytest.fail(str(by_files.properties(named)))
    by_files.forget()
    assert by_files.of(named).kind == "table whose files are gone"
    session.sql("DROP TABLE t")
    by_files.forget()
    assert by_files.of(named) == NoTable()
