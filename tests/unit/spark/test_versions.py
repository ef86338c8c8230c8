from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.spark.delta import format as delta_format
from dbt.adapters.spark_mt.spark.delta.format import UnsupportedSparkError, delta_package
from dbt.adapters.spark_mt.spark.session import session_confs


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(delta_format, "pyspark_version", lambda: "4.2.0")


def test_pairs():
    assert delta_package("4.2.0") == "io.delta:delta-spark_4.2_2.13:4.4.0"
    with pytest.raises(UnsupportedSparkError) as raised:
        delta_package("3.5.1")
    assert raised.value.parameters["pyspark"] == "3.5.1"


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
    monkeypatch.setattr(delta_format, "pyspark_version", lambda: "9.9.0")
    assert session_confs({key: "io.delta:delta-spark_9.9"}, tmp_path).confs[key].count(",") == 0


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
