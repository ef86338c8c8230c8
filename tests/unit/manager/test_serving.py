"""Start and end of a manager, as others see them."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from threading import Event, Timer

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered, NotFound
from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.manager import serve as serving
from dbt.adapters.spark_mt.manager.serve import ServeOptions

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

    monkeypatch.setattr(serving, "start_serving", fails)
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


def test_nobody_waits_for_a_spark_that_will_not_be_served(start):
    assert isinstance(start(connect=False), NotFound)


def test_the_file_of_a_living_manager_stays(start, file, monkeypatch):
    other = Discovered(Owner(OURS.host, OURS.pid + 1, "other"), "sc://localhost:1", "t")
    discovery.write(file, other)
    monkeypatch.setattr(LocalProcesses, "is_gone", lambda *_: False)
    assert start() == other
    assert file.exists()


def test_what_a_killed_manager_left_is_replaced(start, file, monkeypatch):
    gone = replace(OURS, pid=2**22 - 1)
    discovery.write(file, Discovered(gone, "sc://localhost:1", "t"))
    monkeypatch.setattr(serving, "lock_holder", lambda _: None)
    assert start() == Discovered(OURS)


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
