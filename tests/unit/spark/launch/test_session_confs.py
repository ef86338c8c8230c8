"""Where the metastore is that a new Spark would open."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.spark_mt.spark.launch.session import (
    embedded_metastore,
    separate_confs,
    session_confs,
)

HOME = Path("/home/project")
URL = "spark.hadoop.javax.jdo.option.ConnectionURL"


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch):
    names = ("SPARK_CONF_DIR", "SPARK_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
    for name in (*names, "PYSPARK_SUBMIT_ARGS", "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"):
        monkeypatch.delenv(name, raising=False)


def test_it_is_at_home():
    assert embedded_metastore({}, HOME) == HOME / "metastore_db"
    assert session_confs({}, HOME).derby == HOME / "metastore_db"


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("jdbc:derby:;databaseName=/lake/metastore;create=true", Path("/lake/metastore")),
        ("jdbc:derby:;create=true;databaseName=/lake/my db", Path("/lake/my db")),
        ("jdbc:derby:/lake/metastore;create=true", Path("/lake/metastore")),
        ("jdbc:derby:metastore_db", HOME / "metastore_db"),
        ("jdbc:derby:memory:test;create=true", None),
        ("jdbc:derby://server:1527/metastore", None),
        ("jdbc:derby://server/metastore", None),
        ("jdbc:postgresql://server/metastore", None),
    ],
)
def test_it_is_where_the_user_says(url, directory):
    assert embedded_metastore({URL: url}, HOME) == directory
    assert session_confs({URL: url}, HOME).confs[URL] == url


@pytest.mark.parametrize(
    "confs",
    [
        {"spark.sql.catalogImplementation": "in-memory"},
        {"spark.hadoop.hive.metastore.uris": "thrift://metastore"},
        {"spark.sql.catalogImplementation": "in-memory", URL: "jdbc:derby:/x"},
    ],
)
def test_there_is_none(confs):
    assert embedded_metastore(confs, HOME) is None


def test_settings_of_the_environment_count(monkeypatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {URL}=jdbc:derby:/lake/db pyspark-shell")
    assert embedded_metastore({}, HOME) == Path("/lake/db")


def test_a_separate_spark_reaches_no_tables_of_the_user():
    requested = {
        "spark.driver.memory": "2g",
        "spark.jars": "a.jar",
        "spark.master": "yarn",
        "spark.hadoop.fs.defaultFS": "hdfs://lake",
        "spark.sql.defaultCatalog": "lake",
        "spark.extraListeners": "a.Listener",
        URL: "jdbc:postgresql://server/metastore",
    }
    confs = separate_confs(requested, HOME)
    kept = {key for key, value in requested.items() if confs.get(key) == value}
    assert kept == {"spark.driver.memory", "spark.jars"}
    assert confs["spark.master"].startswith("local")
    assert confs[URL].startswith(f"jdbc:derby:;databaseName={HOME / 'metastore_db'};")
    assert confs["spark.hadoop.hive.metastore.uris"] == ""
    assert confs["spark.sql.warehouse.dir"] == f"file://{HOME}/spark-warehouse"
    assert "spark.extraListeners" not in confs


@pytest.mark.parametrize(
    "place", ["confs", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "spark-defaults.conf"]
)
def test_a_separate_spark_asks_no_metastore_service(place, tmp_path, monkeypatch):
    key, uri = "spark.hadoop.hive.metastore.uris", "thrift://metastore:9083"
    variable = place if place.isupper() else "SPARK_CONF_DIR"
    monkeypatch.setenv(variable, str(tmp_path))
    file = "hive-site.xml" if place.isupper() else place
    (tmp_path / file).write_text(f"{key} {uri}\n", encoding="utf-8")
    confs = separate_confs({key: uri} if place == "confs" else {}, HOME)
    assert confs["spark.sql.catalogImplementation"] == "in-memory"
    assert key not in confs
    assert (embedded_metastore({}, HOME) is None) == (place != "confs")


@pytest.mark.parametrize("place", ["confs", "PYSPARK_SUBMIT_ARGS", "spark-defaults.conf"])
def test_only_a_driver_with_local_executors_listens_on_loopback(place, tmp_path, monkeypatch):
    near = session_confs({}, HOME)
    assert near.confs["spark.driver.bindAddress"] == near.confs["spark.driver.host"] == "127.0.0.1"
    assert near.variables == {"SPARK_LOCAL_IP": "127.0.0.1"}
    if place == "PYSPARK_SUBMIT_ARGS":
        monkeypatch.setenv(place, "--master yarn pyspark-shell")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    if place == "spark-defaults.conf":
        (tmp_path / place).write_text("spark.master yarn\n", encoding="utf-8")
    far = session_confs({"spark.master": "yarn"} if place == "confs" else {}, HOME)
    assert "spark.driver.host" not in far.confs
    assert far.confs["spark.authenticate"] == "true"
    assert far.variables == {}


@pytest.mark.parametrize(
    ("requested", "size"),
    [
        ({}, "4m"),
        ({"spark.master": "local[2]"}, "4m"),
        ({"spark.master": "yarn"}, None),
        ({"spark.buffer.pageSize": "32m"}, "32m"),
    ],
)
def test_only_a_driver_with_local_executors_has_small_pages(requested, size):
    assert session_confs(requested, HOME).confs.get("spark.buffer.pageSize") == size


def test_a_file_of_properties_replaces_the_defaults_of_spark(tmp_path, monkeypatch):
    (tmp_path / "spark-defaults.conf").write_text(f"{URL} jdbc:derby:/a\n", encoding="utf-8")
    (tmp_path / "mine.conf").write_text(f"{URL} jdbc:derby:/b\n", encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert embedded_metastore({}, HOME) == Path("/a")
    option = f"--properties-file {tmp_path / 'mine.conf'}"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{option} pyspark-shell")
    assert embedded_metastore({}, HOME) == Path("/b")
    (tmp_path / "mine.conf").write_text("", encoding="utf-8")
    assert embedded_metastore({}, HOME) == HOME / "metastore_db"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{option} --load-spark-defaults pyspark-shell")
    assert embedded_metastore({}, HOME) == Path("/a")
