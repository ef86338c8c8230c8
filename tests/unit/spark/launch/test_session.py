"""Starting Spark where it cannot start: no JVM of Spark runs here."""

import os
import shutil
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.launch import session
from dbt.adapters.spark_mt.spark.launch.session import (
    Patience,
    apply_confs,
    classic_spark,
    connect_spark,
    short_statements,
)
from tests.support.errors import raises


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start Spark with another JAVA_HOME, and only the shell's tools on the path."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "env", "ps", "sh"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))

    def classic(home):
        if home is None:
            monkeypatch.delenv("JAVA_HOME", raising=False)
        else:
            monkeypatch.setenv("JAVA_HOME", str(home))
        return classic_spark({}, tmp_path, tmp_path / "logs" / "spark.log")

    return classic


def test_without_java(start, tmp_path):
    with raises(conditions.JAVA_MISSING) as error:
        start(None)
    assert error.value.parameters["javaHome"] == "not set"
    with raises(conditions.JAVA_MISSING) as error:
        start(tmp_path / "nowhere")
    assert error.value.parameters["javaHome"] == str(tmp_path / "nowhere")


@pytest.mark.skipif(os.name != "posix", reason="the false Java is a shell script")
def test_a_java_that_ends_at_once_shows_its_last_output(start, tmp_path):
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'too little memory' >&2\nexit 1\n", encoding="utf-8")
    java.chmod(0o755)
    with raises(conditions.SPARK_DID_NOT_START) as error:
        start(tmp_path / "java")
    assert "too little memory" in error.value.violations
    assert "server_side_parameters" in str(error.value)


def test_patience_ends_for_all_calls_at_once():
    patience = Patience(10)
    assert [patience.is_left(now) for now in (100, 105, 109.9, 110, 111, 125)] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_patience_comes_back_after_a_while_without_failures():
    patience = Patience(10)
    assert [patience.is_left(now) for now in (0, 11, 32)] == [True, False, True]


@pytest.mark.parametrize("module", ["no_such_module", "no_such_package.module"])
def test_what_connect_needs_is_named(monkeypatch, module):
    monkeypatch.setattr(session, "_CONNECT_MODULES", {"json": "json", module: "nice-package"})
    with raises(conditions.CONNECT_MISSING) as missing:
        connect_spark("sc://localhost", {})
    assert missing.value.parameters["packages"] == "nice-package"


class FakeConf:
    """The confs of a session, of which some are fixed."""

    def __init__(self, **known):
        self.getAll = known
        self.requested = []

    def isModifiable(self, key):  # noqa: N802 - as PySpark calls it
        self.requested.append(key)
        return not key.startswith("fixed")

    def get(self, key, default):
        return self.getAll.get(key, default)

    def set(self, key, value):
        self.getAll[key] = value


def test_confs_that_are_right_cost_nothing():
    conf = FakeConf(a="1", b="2", fixed="3", fixed_list="x,y")
    requested = {"a": "1", "b": "3", "fixed": "4", "fixed_list": "y", "fixed_none": "z"}
    assert apply_confs(SimpleNamespace(conf=conf), requested) == ("fixed", "fixed_none")
    assert conf.getAll["b"] == "3"
    assert "a" not in conf.requested


class FakeClient:
    """A Connect client that knows whether it survives a broken connection."""

    def __init__(self, host):
        self.host = host
        self.survives = True

    def disable_reattachable_execute(self):
        self.survives = False

    def enable_reattachable_execute(self):
        self.survives = True


@pytest.mark.parametrize(("host", "survives"), [("localhost", False), ("spark.example.org", True)])
def test_only_statements_to_this_machine_are_short(monkeypatch, host, survives):
    monkeypatch.setattr(session, "is_connect", lambda _: True)
    spark = SimpleNamespace(client=FakeClient(host))
    with short_statements(spark):
        assert spark.client.survives is survives
    assert spark.client.survives


def test_a_classic_session_needs_no_client():
    ran = []
    with short_statements(SimpleNamespace(conf=FakeConf())):
        ran.append(1)
    assert ran == [1]
