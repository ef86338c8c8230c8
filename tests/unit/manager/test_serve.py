"""Start and end of a manager, as others see them."""

from __future__ import annotations

import gc
import logging
import socket
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered, NotFound
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.manager import serve as serving
from dbt.adapters.spark_mt.manager.serve import ServeOptions
from dbt.adapters.spark_mt.spark.launch import connect_server
from tests.support.errors import raises

OURS = LocalProcesses().owner()


class StartFailedError(RuntimeError):
    """Spark does not start in these tests."""


@pytest.fixture
def file(tmp_path):
    return tmp_path / discovery.FILE


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Serve with a Spark that fails to start; returns what the file had at that moment."""
    seen = []

    def fails(*_):
        seen.append(discovery.read(tmp_path / discovery.FILE))
        raise StartFailedError

    monkeypatch.setattr(connect_server, "start_serving", fails)
    monkeypatch.setattr(serving, "classic_spark", fails)
    monkeypatch.setattr(serving.logs, "configure", lambda *_, **__: None)

    def serve(**options):
        with pytest.raises(StartFailedError):
            serving.serve(ServeOptions(tmp_path, tmp_path, port=0, **options), lambda: None)
        return seen[-1]

    return serve


def test_a_run_that_begins_meanwhile_sees_that_a_manager_starts(start, file):
    found = start()
    assert found == Discovered(OURS)
    assert found.is_starting
    assert not file.exists(), "what did not start is not found"


def test_runs_do_not_wait_for_a_spark_that_is_not_served(start):
    assert isinstance(start(connect=False), NotFound)


def test_the_file_of_a_running_manager_stays(start, file, monkeypatch):
    other = Discovered(Owner(OURS.host, OURS.pid + 1, "other"), "sc://localhost:1", "t")
    discovery.write(file, other)
    monkeypatch.setattr(LocalProcesses, "is_gone", lambda *_: False)
    assert start() == other
    assert file.exists()


def test_the_file_of_a_killed_manager_is_replaced(start, file, monkeypatch):
    gone = replace(OURS, pid=2**22 - 1)
    discovery.write(file, Discovered(gone, "sc://localhost:1", "t"))
    monkeypatch.setattr(serving, "lock_holder", lambda _: None)
    assert start() == Discovered(OURS)


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Serve with options that are refused before Spark is started; returns the error."""

    def started(*_):
        pytest.fail("Spark was started")

    monkeypatch.setattr(connect_server, "start_serving", started)
    monkeypatch.setattr(serving, "classic_spark", started)
    monkeypatch.setattr(serving.logs, "configure", lambda *_, **__: None)

    def serve(error, home=tmp_path, **options):
        found = ServeOptions(home, **{"port": 0, "log_folder": tmp_path, **options})
        with raises(error) as raised:
            serving.serve(found, lambda: None)
        return raised.value.parameters

    return serve


@pytest.mark.parametrize("which", ["port", "connect_port"])
def test_a_port_in_use_is_found_before_spark_starts(refused, file, which):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert refused(conditions.ADDRESS_TAKEN, **{which: port})["port"] == str(port)
    assert not file.exists()


@pytest.mark.parametrize("which", ["home", "log_folder"])
def test_a_folder_that_cannot_be_used_is_found_before_spark_starts(refused, tmp_path, which):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing")):
        assert refused(conditions.UNUSABLE_FOLDER, **{which: folder})["folder"] == str(folder)


def test_a_discovery_file_that_cannot_be_written_is_found_before_spark_starts(refused, file):
    file.mkdir()
    (file / "something").write_text("")
    assert refused(conditions.UNUSABLE_FOLDER)["folder"] == str(file.parent)


class Wrapper:
    """Something of the JVM that refers to itself by way of others."""

    def __init__(self):
        self.itself = self


class Waited(Event):
    """Leaves garbage when it is waited for, and is set as soon as that is collected."""

    def __init__(self):
        super().__init__()
        self.left = None

    def wait(self, timeout=None):
        if self.left is None:
            self.left = weakref.ref(Wrapper(), lambda _: self.set())
        return super().wait(timeout)


def test_garbage_is_collected_while_a_manager_waits():
    stopped = Waited()
    late = Timer(30, stopped.set)
    late.start()
    gc.disable()
    try:
        serving.wait_collecting(stopped, every_s=0.05)
        assert stopped.left() is None
    finally:
        late.cancel()
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize("options", [{}, {"plain_sql": False}, {"connect": False}])
def test_a_spark_that_does_not_take_the_hook_gets_one_warning(
    tmp_path, monkeypatch, caplog, options
):
    """Everything else of the manager works; without plain SQL the hook is not compiled."""
    unusable = conditions.SQL_HOOK_UNUSABLE(version="9.9", problem="no such class")

    def fails(_):
        raise unusable

    monkeypatch.setattr(serving.hook, "compiled", fails)
    server = serving._Server(ServeOptions(tmp_path, tmp_path, port=0, **options), "")
    server._running = SimpleNamespace(manager=None)
    with ThreadPoolExecutor(1) as compiler, caplog.at_level(logging.WARNING):
        server._install(None, compiler.submit(server._compiled, None))
    expected = [str(unusable)] if not options else []
    assert [record.getMessage() for record in caplog.records] == expected
    assert server._hook is None
