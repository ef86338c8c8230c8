"""Which Spark is used: one's own, a named server, or that of a manager."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dbt.adapters.spark_mt import __version__, connections
from dbt.adapters.spark_mt.client import discovery, target
from dbt.adapters.spark_mt.client.discovery import Discovered
from dbt.adapters.spark_mt.client.target import automatic_target, server_url
from dbt.adapters.spark_mt.connections import SparkMTCredentials, target_of
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MetastoreInUseError
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.execution.leases import LeaseCache
from dbt.adapters.spark_mt.spark.launch import session

US = LocalProcesses().owner()
TOKEN = "t+k/n=;"  # noqa: S105 - made up
QUOTED = "t%2Bk%2Fn%3D%3B"


@pytest.fixture(autouse=True)
def _no_spark_of_the_machine(monkeypatch):
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(target, "is_running_here", lambda: False)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of a project, in which dbt runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(home):
    """Where the manager's file is."""
    return discovery.place(home / "metastore_db")


@pytest.fixture
def manager(file, monkeypatch):
    """A manager that answers, with its file."""
    manager = Discovered(US, "sc://localhost:15002", TOKEN)
    discovery.write(file, manager)
    monkeypatch.setattr(discovery, "answers", lambda found, _: found == manager)
    return manager


def test_the_manager_of_the_same_warehouse_is_found(home, manager):
    target = automatic_target({}, home)
    assert (target.manager, target.is_connect) == (manager, True)
    assert target.url == f"{manager.connect_url}/;token={QUOTED}"
    assert TOKEN not in repr(target)
    assert QUOTED not in repr(target)
    assert str(US) in target.why


def test_without_a_manager_spark_is_our_own(home, file):
    target = automatic_target({}, home)
    assert (target.manager, target.is_connect) == (None, False)
    assert str(file) in target.why


def test_a_manager_of_another_warehouse_is_not_used(home, manager, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("other")
    requested = {"spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{elsewhere}/db"}
    assert not automatic_target(requested, home).is_connect
    discovery.write(discovery.place(elsewhere / "db"), manager)
    assert automatic_target(requested, home).is_connect


@pytest.mark.usefixtures("manager")
def test_a_metastore_that_is_not_embedded_has_no_file(home):
    target = automatic_target({"spark.hadoop.hive.metastore.uris": "thrift://metastore"}, home)
    assert (target.is_connect, "no embedded metastore" in target.why) == (False, True)


@pytest.mark.parametrize("version", ["", __version__.version, "0.0.9"])
def test_a_manager_of_another_release_is_used_with_a_warning(home, file, monkeypatch, version):
    manager = Discovered(US, "sc://localhost:15002", TOKEN, version=version)
    discovery.write(file, manager)
    monkeypatch.setattr(discovery, "answers", lambda found, _: found == manager)
    said = []
    assert automatic_target({}, home, said.append).manager == manager
    if version == "0.0.9":
        (sentence,) = said
        assert f"runs dbt-spark-mt 0.0.9, and this is {__version__.version}" in sentence
        assert str(US) in sentence
    else:
        assert said == []


def test_a_manager_that_does_not_answer_is_named(home, file, monkeypatch):
    url = "sc://localhost:1"
    discovery.write(file, Discovered(US, url))
    monkeypatch.setattr(discovery, "answers", lambda *_: False)
    monkeypatch.setattr(target, "_SILENCE_S", 0.0)
    said = []
    found = automatic_target({}, home, said.append)
    assert not found.is_connect
    assert str(US) in found.why
    assert url in found.why
    assert f"kill -KILL {US.pid}" in found.why


def test_a_manager_that_does_not_answer_for_a_while_is_waited_for(home, file, monkeypatch):
    manager = Discovered(US, "sc://localhost:15002", TOKEN, "http://127.0.0.1:1")
    discovery.write(file, manager)
    answers = iter([("http://127.0.0.1:1",), ("http://127.0.0.1:1",), ()])
    monkeypatch.setattr(target, "silent_servers", lambda _: next(answers))
    said = []
    assert automatic_target({}, home, said.append).manager == manager
    (sentence,) = said
    assert "http://127.0.0.1:1" in sentence
    assert str(US) in sentence


def test_a_manager_that_ends_without_an_answer(home, file, monkeypatch):
    discovery.write(file, Discovered(US, "sc://localhost:15002"))
    gone = Discovered(replace(US, pid=2**22 + 1))
    monkeypatch.setattr(target, "silent_servers", lambda _: ("sc://localhost:15002",))
    found = automatic_target({}, home, lambda _: discovery.write(file, gone))
    assert (found.is_connect, "is gone" in found.why) == (False, True)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
@pytest.mark.usefixtures("manager")
def test_an_untrusted_discovery_file_is_named(home, file):
    file.chmod(0o644)
    target = automatic_target({}, home)
    assert (target.is_connect, "0644" in target.why) == (False, True)


def test_a_starting_manager_is_waited_for(home, file, manager):
    discovery.write(file, Discovered(US))
    notified = []

    def say(sentence: str) -> None:
        notified.append(sentence)
        discovery.write(file, manager)

    assert automatic_target({}, home, say).manager == manager
    (sentence,) = notified
    assert str(US) in sentence


def test_waiting_for_a_manager_that_never_starts_times_out(home, file):
    discovery.write(file, Discovered(US))
    target = automatic_target({}, home, wait_s=0.0)
    assert (target.is_connect, "not begun" in target.why) == (False, True)


def test_a_manager_that_ends_during_its_start(home, file):
    discovery.write(file, Discovered(US))
    gone = Discovered(replace(US, pid=2**22 + 1))
    target = automatic_target({}, home, say=lambda _: discovery.write(file, gone))
    assert (target.is_connect, "is gone" in target.why) == (False, True)


@pytest.mark.usefixtures("manager")
def test_the_spark_of_this_process_comes_first(home, monkeypatch):
    monkeypatch.setattr(target, "is_running_here", lambda: True)
    assert not automatic_target({}, home).is_connect


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize(
    ("profile", "connects", "why"),
    [
        ({}, True, "serves Spark Connect"),
        ({"method": "session"}, False, "`method: session`"),
        ({"method": "connect", "host": "far"}, True, "`method: connect`"),
    ],
)
def test_the_profile_decides(profile, connects, why):
    target = target_of(SparkMTCredentials.from_dict({"schema": "dev", **profile}))
    assert (target.is_connect, why in target.why) == (connects, True)
    assert target.is_fixed == bool(profile)


@pytest.mark.parametrize("profile", [{}, {"method": "session"}])
def test_the_holder_of_the_metastore_is_named_with_the_reason(file, monkeypatch, profile):
    discovery.write(file, Discovered(US, "sc://localhost:1"))

    def locked(*_):
        metastore = file.with_name("metastore_db")
        raise conditions.METASTORE_IN_USE(metastore=metastore, holder="process 7 (java)")

    monkeypatch.setattr(session, "classic_spark", locked)
    monkeypatch.setattr(discovery, "answers", lambda *_: False)
    monkeypatch.setattr(target, "_SILENCE_S", 0.0)
    credentials = SparkMTCredentials.from_dict({"schema": "dev", **profile})
    with pytest.raises(MetastoreInUseError) as raised:
        connections._open_handle(credentials, LeaseCache())
    assert raised.value.parameters["holder"] == "process 7 (java)"
    notified = " ".join(raised.value.violations)
    assert str(US) in notified
    assert ("has not answered" in notified) == (not profile)
    assert ("with `method: auto` instead" in notified) == bool(profile)


@pytest.mark.parametrize(
    ("server", "url"),
    [
        (("spark", None, False), "sc://spark:15002/;use_ssl=false"),
        (("sc://spark/", None, True), "sc://spark:15002/;use_ssl=true"),
        (("127.0.0.1", None, False), "sc://127.0.0.1:15002/;use_ssl=false"),
        (("127.0.0.1", "t", False), "sc://localhost:15002/;use_ssl=false;token=t"),
        (("127.0.0.1", "t", True), "sc://127.0.0.1:15002/;use_ssl=true;token=t"),
        (("spark", TOKEN, True), f"sc://spark:15002/;use_ssl=true;token={QUOTED}"),
    ],
)
def test_the_url_of_a_server(server, url):
    host, token, use_ssl = server
    assert server_url(host, 15002, token, use_ssl=use_ssl) == url


def test_home_is_where_dbt_runs(home, manager):
    assert Path.cwd() == home
    assert target_of(SparkMTCredentials.from_dict({"schema": "dev"})).manager == manager
