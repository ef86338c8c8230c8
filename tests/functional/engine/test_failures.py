"""What Spark and Delta really raise, as values."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.spark.session.errors import SparkFailure, failure_of, is_spark_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def failure(session: SparkSession, statement: str) -> SparkFailure:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever PySpark raises
        session.sql(statement).collect()
    assert is_spark_error(caught.value)
    return failure_of(caught.value)


@pytest.mark.usefixtures("schema")
def test_conditions_of_single_statements(session: SparkSession) -> None:
    session.sql("CREATE TABLE t (a INT NOT NULL, b STRING) USING delta")
    nulls = failure(session, "INSERT INTO t VALUES (NULL, 'x')")
    assert nulls.main_condition in FORMAT.conditions.constraint
    session.sql("ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)")
    violated = failure(session, "INSERT INTO t VALUES (-1, 'x')")
    assert violated.main_condition in FORMAT.conditions.constraint
    assert violated.parameter("constraintName") == "positive"
    assert failure(session, "INSERT INTO t VALUES (1, 'x', 3)").is_schema_mismatch
    assert failure(session, "SELECT * FROM nowhere.t").is_missing_table
    assert failure(session, "SELECT 1,, 2").is_syntax_error
    assert failure(session, "SELECT CAST('x' AS INT)").condition == "CAST_INVALID_INPUT"
    assert (
        failure(session, "SELECT * FROM t VERSION AS OF 99").condition == "DELTA_VERSION_NOT_FOUND"
    )


@pytest.mark.usefixtures("schema")
def test_the_second_of_two_fenced_writers_conflicts(session: SparkSession) -> None:
    """The first commits while the second's query runs; the second has read the state before."""
    session.sql("CREATE TABLE t USING delta AS SELECT 1L AS id")
    caught: list[SparkFailure] = []
    slow = session.newSession()
    schema = session.catalog.currentDatabase()
    for writer, seq in ((slow, 1), (session, 2)):
        writer.conf.set("spark.databricks.delta.write.txnAppId", "fence")
        writer.conf.set("spark.databricks.delta.write.txnVersion", str(seq))
    statement = (
        f"INSERT OVERWRITE {schema}.t SELECT count(*) FROM range(20000000) WHERE hash(id) % 7 = 3"
    )

    def write_slowly() -> None:
        caught.append(failure(slow, statement))

    thread = threading.Thread(target=write_slowly)
    thread.start()
    session.sql("INSERT INTO t VALUES (2)")
    thread.join()
    assert caught[0].is_conflict


def test_an_interrupted_job_is_cancelled(spark: SparkSession) -> None:
    session = spark.newSession()
    caught: list[SparkFailure] = []
    query = "SELECT count(*) FROM range(1000000000000) WHERE hash(id) % 7 = 3"
    thread = threading.Thread(target=lambda: caught.append(failure(session, query)))
    thread.start()
    while thread.is_alive():
        session.interruptAll()
        thread.join(timeout=0.2)
    assert caught[0].is_cancelled
