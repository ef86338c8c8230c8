"""What a driver is started with to serve Spark Connect, and when it is not."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.launch.connect_server import (
    TOKEN_KEY,
    Listening,
    serving_confs,
    start_serving,
)
from dbt.adapters.spark_mt.spark.launch.listeners import is_loopback
from dbt.adapters.spark_mt.spark.launch.session import is_running_here
from tests.support.errors import raises

PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"


def test_it_listens_on_a_free_port_of_loopback():
    confs = serving_confs({}, Listening())
    assert confs["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert confs["spark.connect.grpc.binding.port"] == "0"
    assert confs["spark.plugins"] == PLUGIN
    assert confs["spark.sql.artifact.isolation.enabled"] == "true"


def test_where_it_listens_is_no_conf_of_the_user():
    requested = {
        "spark.connect.grpc.binding.address": "10.9.9.9",
        "spark.connect.grpc.binding.port": "1",
    }
    confs = serving_confs(requested, Listening("10.0.0.1", 15002, "t"))
    assert confs["spark.connect.grpc.binding.address"] == "10.0.0.1"
    assert confs["spark.connect.grpc.binding.port"] == "15002"


def test_the_users_confs_win():
    confs = serving_confs({"spark.ui.enabled": "true", "mine": "1"}, Listening())
    assert (confs["spark.ui.enabled"], confs["mine"]) == ("true", "1")


@pytest.mark.parametrize(
    ("requested", "plugins"),
    [("", PLUGIN), ("a.B", f"a.B,{PLUGIN}"), (f"{PLUGIN},a.B", f"a.B,{PLUGIN}")],
)
def test_plugins_of_the_user_stay(requested, plugins):
    assert serving_confs({"spark.plugins": requested}, Listening())["spark.plugins"] == plugins


def test_no_token_is_in_the_confs():
    confs = serving_confs({TOKEN_KEY: "s3cret"}, Listening(token="s3cret"))  # noqa: S106 - made up
    assert "s3cret" not in "".join(f"{key}{value}" for key, value in confs.items())
    assert "s3cret" not in repr(Listening(token="s3cret"))  # noqa: S106 - made up


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5", "spark.example.org"])  # noqa: S104 - must be refused
def test_nothing_listens_beyond_this_machine_without_a_token(tmp_path, address):
    with raises(conditions.CONNECT_TOKEN_NEEDED) as refused:
        start_serving({}, tmp_path, tmp_path / "log", Listening(address))
    assert refused.value.parameters["address"] == address
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LOCALHOST"]
)
def test_loopback(address):
    assert is_loopback(address)


def test_a_running_workflow_is_left_unchanged(tmp_path, monkeypatch):
    running = SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=object()))
    monkeypatch.setitem(sys.modules, "pyspark", running)
    assert is_running_here()
    with raises(conditions.SPARK_RUNS_ALREADY):
        start_serving({}, tmp_path, tmp_path / "log")


@pytest.mark.parametrize(
    "pyspark", [None, SimpleNamespace(SparkContext=SimpleNamespace(_active_spark_context=None))]
)
def test_nothing_runs_here(monkeypatch, pyspark):
    if pyspark is None:
        monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    assert not is_running_here()
