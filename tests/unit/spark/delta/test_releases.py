from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.releases import UNTESTED
from dbt.adapters.spark_mt.spark.delta import releases
from dbt.adapters.spark_mt.spark.delta.releases import PAIRS, check_named, delta_package
from dbt.adapters.spark_mt.spark.formats import delta as delta_format
from dbt.adapters.spark_mt.spark.launch.session import session_confs
from tests.support.errors import raises


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS", UNTESTED):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(releases, "pyspark_version", lambda: "4.2.0")


def test_each_spark_gets_a_delta_that_is_made_for_it():
    for pair in PAIRS:
        check_named(f"{pair.spark}.9", [delta_package(f"{pair.spark}.9")])


@pytest.mark.parametrize("spark", ["3.5.1", "4.0.1", "4.3.0", "5.0.0.dev0"])
def test_a_spark_without_a_delta_is_refused(spark):
    with raises(conditions.UNSUPPORTED_SPARK) as raised:
        delta_package(spark)
    assert raised.value.parameters["spark"] == spark
    assert raised.value.parameters["newest"] == PAIRS[-1].spark


@pytest.mark.parametrize(
    ("spark", "jars", "found"),
    [
        ("4.2.0", "io.delta:delta-spark_4.1_2.13:4.4.0", "Delta Lake 4.4.0 for Spark 4.1"),
        ("4.1.4", "org:x:1,io.delta:delta-spark_2.13:4.4.0", "Delta Lake 4.4.0 for Spark 4.2"),
        ("4.2.1", "io.delta:delta-spark_2.13:4.0.1,org:x:1", "Delta Lake 4.0.1"),
        ("4.2.1", "/jars/delta-spark_4.2_2.13-4.5.0-SNAPSHOT.jar", "Delta Lake 4.5.0-SNAPSHOT"),
        ("4.1.0", "file:///j/delta-spark_4.1_2.13-4.1.0.jar,/j/a.jar", "Delta Lake 4.1.0"),
    ],
)
def test_a_delta_that_is_not_tested_with_a_spark_is_refused(monkeypatch, spark, jars, found):
    with raises(delta_format.UNSUPPORTED_DELTA) as raised:
        check_named(spark, ["", jars])
    assert (raised.value.parameters["found"], raised.value.parameters["spark"]) == (found, spark)
    assert raised.value.parameters["package"] == delta_package(spark)
    monkeypatch.setenv(UNTESTED, "true")
    check_named(spark, ["", jars])


@pytest.mark.parametrize(
    ("spark", "jars"),
    [
        ("4.1.1-amzn-0", "/usr/share/aws/delta/lib/delta-spark_4.1_2.13-4.2.0-amzn-1.jar"),
        ("4.1.4", "io.delta:delta-spark_2.13:4.2.0"),
        ("4.2.1", "io.delta:delta-spark_4.2_2.13:4.4.1, org:other:1"),
        ("4.2.1", "/jars/delta-spark.jar"),
        ("4.2.1", "io.delta:delta-storage:4.0.0"),
    ],
)
def test_builds_of_tested_releases_are_not_refused(spark, jars):
    check_named(spark, [jars])


def test_a_session_is_refused_before_it_starts(tmp_path):
    with raises(delta_format.UNSUPPORTED_DELTA):
        session_confs({"spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0"}, tmp_path)


def test_everything_is_added_and_absolute(tmp_path):
    found = session_confs({}, tmp_path)
    assert found.confs["spark.jars.packages"] == delta_package("4.2.0")
    assert found.confs["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"
    assert found.confs["spark.sql.warehouse.dir"] == str(tmp_path / "spark-warehouse")
    assert found.derby == tmp_path / "metastore_db"
    assert str(found.derby) in found.confs["spark.hadoop.javax.jdo.option.ConnectionURL"]


def test_the_users_confs_win_and_are_completed(tmp_path):
    requested = {
        "spark.jars.packages": "org:other:1",
        "spark.sql.extensions": "org.Other",
        "spark.master": "spark://host:7077",
        "spark.sql.warehouse.dir": "/lake",
    }
    confs = session_confs(requested, tmp_path).confs
    assert confs["spark.jars.packages"] == f"org:other:1,{delta_package('4.2.0')}"
    assert confs["spark.sql.extensions"] == "org.Other,io.delta.sql.DeltaSparkSessionExtension"
    assert (confs["spark.master"], confs["spark.sql.warehouse.dir"]) == (
        "spark://host:7077",
        "/lake",
    )
    assert "spark.databricks.delta.snapshotPartitions" not in confs


@pytest.mark.parametrize("key", ["spark.jars", "spark.jars.packages"])
def test_a_delta_of_the_users_own_is_kept(tmp_path, monkeypatch, key):
    monkeypatch.setattr(releases, "pyspark_version", lambda: "9.9.0")
    monkeypatch.setenv(UNTESTED, "true")
    requested = {key: "io.delta:delta-spark_9.9_2.13:9.9.0"}
    assert session_confs(requested, tmp_path).confs[key] == requested[key]


@pytest.mark.parametrize(
    "requested",
    [
        {"spark.sql.catalogImplementation": "in-memory"},
        {"spark.hadoop.hive.metastore.uris": "thrift://host:9083"},
    ],
)
def test_no_derby_where_there_is_another_metastore(tmp_path, requested):
    assert session_confs(requested, tmp_path).derby is None


def test_confs_of_spark_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[3] --conf spark.a=b=c pyspark-shell")
    lines = "# comment\nspark.hive.metastore.uris   thrift://h:1\nspark.sql.extensions=org.Mine\n"
    (tmp_path / "spark-defaults.conf").write_text(lines, encoding="utf-8")
    found = session_confs({}, tmp_path)
    assert found.derby is None
    assert found.confs["spark.sql.extensions"].startswith("org.Mine,")
    assert "spark.master" not in found.confs


def test_hive_site_means_another_metastore(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "hive-site.xml").write_text("<configuration/>", encoding="utf-8")
    assert session_confs({}, tmp_path).derby is None
