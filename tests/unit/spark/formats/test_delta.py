"""Where the commits of several drivers are serialized, by scheme and log store."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.spark.delta.tables import DeltaTables
from dbt.adapters.spark_mt.spark.formats.delta import (
    SINGLE_DRIVER_STORAGE,
    check_log_store,
    check_storage,
)
from dbt.adapters.spark_mt.spark.launch.session import session_confs
from tests.support.errors import raises

NAME = TableName("t", "s", "spark_catalog")
CONFIRMED = "spark.materialized-table.single-driver"
DYNAMO = "io.delta.storage.S3DynamoDBLogStore"
SINGLE = "io.delta.storage.S3SingleDriverLogStore"
ON_S3 = {"spark.sql.warehouse.dir": "s3a://lake/warehouse"}


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch):
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("location", "confs"),
    [
        ("/lake", {}),
        ("file:///lake", {}),
        ("hdfs://namenode/lake", {}),
        ("abfss://lake@account.dfs.core.windows.net/lake", {}),
        ("gs://lake/warehouse", {}),
        ("s3a://lake", {"spark.delta.logStore.s3a.impl": DYNAMO}),
        ("S3A://lake", {"spark.delta.logStore.s3a.impl": DYNAMO}),
        ("s3://lake", {"spark.delta.logStore.class": DYNAMO}),
        ("s3a://lake", {CONFIRMED: "true"}),
        ("s3a://lake", {CONFIRMED: " TRUE "}),
        ("/lake", {"spark.hadoop.fs.defaultFS": "hdfs://namenode"}),
        ("", {}),
    ],
)
def test_locations_that_are_safe(location, confs):
    check_log_store(location, confs.get)


@pytest.mark.parametrize(
    ("location", "confs", "scheme", "store"),
    [
        ("s3a://lake", {}, "s3a", "S3SingleDriverLogStore"),
        ("s3://lake", {}, "s3", "S3SingleDriverLogStore"),
        ("S3N://lake", {}, "s3n", "S3SingleDriverLogStore"),
        # the store of another scheme does not count
        ("s3a://lake", {"spark.delta.logStore.s3.impl": DYNAMO}, "s3a", "S3SingleDriverLogStore"),
        ("s3a://lake", {"spark.delta.logStore.s3a.impl": SINGLE}, "s3a", SINGLE),
        ("s3a://lake", {"spark.delta.logStore.class": SINGLE}, "s3a", SINGLE),
        ("oss://lake", {"spark.delta.logStore.oss.impl": SINGLE}, "oss", SINGLE),
        ("/lake", {"spark.hadoop.fs.defaultFS": "s3a://lake"}, "s3a", "S3SingleDriverLogStore"),
        ("s3a://lake", {CONFIRMED: "false"}, "s3a", "S3SingleDriverLogStore"),
    ],
)
def test_locations_for_one_driver(location, confs, scheme, store):
    with raises(SINGLE_DRIVER_STORAGE) as raised:
        check_log_store(location, confs.get)
    parameters = {"location": location, "scheme": scheme, "logStore": store}
    assert raised.value.parameters == parameters
    assert f"spark.delta.logStore.{scheme}.impl: {DYNAMO}" in str(raised.value)
    assert f"{CONFIRMED}: true" in str(raised.value)


def test_no_driver_is_started_on_storage_for_one_that_was_not_confirmed():
    with raises(SINGLE_DRIVER_STORAGE):
        session_confs(ON_S3, Path("/home"))
    confirmed = {**ON_S3, CONFIRMED: "true"}
    assert session_confs(confirmed, Path("/home")).confs[CONFIRMED] == "true"


def spark(confs):
    """A session of which only confs are there."""
    found = dict(confs)
    return SimpleNamespace(
        conf=SimpleNamespace(
            get=lambda key, default=None: found.get(key, default),
            set=found.__setitem__,
            unset=lambda key: found.pop(key, None),
        )
    )


def test_a_running_spark_is_checked_by_its_warehouse_or_a_location():
    check_storage(spark({}))
    check_storage(spark(ON_S3), "/elsewhere")
    with raises(SINGLE_DRIVER_STORAGE):
        check_storage(spark(ON_S3))
    with raises(SINGLE_DRIVER_STORAGE):
        check_storage(spark({}), "s3a://lake/table")


def test_a_write_is_refused_before_it_begins():
    written = []
    tables = DeltaTables(None)
    with pytest.raises(MaterializedTableError) as raised:
        tables.commit(spark(ON_S3), NAME, "{}", 1, lambda: written.append(1))
    assert (raised.value.condition, written) == (SINGLE_DRIVER_STORAGE.name, [])
    tables.commit(spark({**ON_S3, CONFIRMED: "true"}), NAME, "{}", 1, lambda: written.append(1))
    assert written == [1]


@pytest.mark.parametrize(("text", "value"), [("true", True), (" False ", False)])
def test_the_confirmation_is_a_setting(text, value):
    assert Settings.from_confs({CONFIRMED: text}).single_driver is value


def test_a_confirmation_is_true_or_false():
    with raises(conditions.INVALID_SETTINGS) as raised:
        Settings.from_confs({CONFIRMED: "yes"})
    assert "'yes' is neither true nor false" in str(raised.value)
