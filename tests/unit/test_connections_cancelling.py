"""Connections of a run: no statement of one begins or continues once the run is cancelled."""

from __future__ import annotations

import multiprocessing
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt import connections, handle
from dbt.adapters.spark_mt.connections import SparkMTConnectionManager
from dbt.adapters.spark_mt.execution.leases import LeaseCache
from dbt.adapters.spark_mt.handle import SparkHandle

_WAIT_S = 30


class _Spark:
    """A session whose statement runs until it is interrupted."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, *, failing: Exception | None = None) -> None:
        self.interrupts = 0
        self.started, self.interrupted, self.stopped = Event(), Event(), Event()
        self._failing = failing

    def interruptAll(self) -> None:  # noqa: N802 - PySpark's name
        self.interrupts += 1
        if self._failing is not None:
            self._failing, failure = None, self._failing
            raise failure
        self.interrupted.set()

    def sql(self, _: str) -> None:
        self.started.set()
        assert self.interrupted.wait(_WAIT_S)


@pytest.fixture
def manager():
    return SparkMTConnectionManager(
        SimpleNamespace(credentials=SimpleNamespace()), multiprocessing.get_context("spawn")
    )


def test_connections_of_a_run_share_what_they_know_of_managers(manager, monkeypatch):
    seen = []

    def open_handle(_, lease_cache):
        seen.append(lease_cache)
        return SparkHandle(_Spark(), lease_cache=lease_cache)

    monkeypatch.setattr(connections, "_open_handle", open_handle)
    for name in ("first", "second"):
        manager.set_connection_name(name)
        assert manager.get_thread_connection().handle
        manager.close(manager.get_thread_connection())
    first, second = seen
    assert first is second
    assert isinstance(first, LeaseCache)


def _in_thread(manager, name):
    """Run a statement on a connection of a new thread; returns it and what was raised there."""
    raised = []

    def work():
        try:
            manager.set_connection_name(name)
            manager.get_thread_connection().handle.cursor().execute("select 1")
        except Exception as error:  # noqa: BLE001 - the test looks at it
            raised.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread, raised


def test_a_statement_that_runs_is_interrupted(manager, monkeypatch):
    spark = _Spark()
    monkeypatch.setattr(handle, "_INTERRUPT_EVERY_S", _WAIT_S)
    monkeypatch.setattr(connections, "_open_handle", lambda *_: SparkHandle(spark))
    thread, raised = _in_thread(manager, "model")
    assert spark.started.wait(_WAIT_S)
    assert manager.cancel_open() == ["model"]
    thread.join(_WAIT_S)
    assert not thread.is_alive()
    assert not raised
    assert spark.interrupts == 1


def test_a_connection_that_opens_at_this_moment_runs_nothing(manager, monkeypatch):
    """dbt's own `cancel_open` opened it once more and cancelled the second session."""
    opening, go_on = Event(), Event()
    spark = _Spark()

    def open_handle(*_):
        opening.set()
        assert go_on.wait(_WAIT_S)
        return SparkHandle(spark, on_close=spark.stopped.set)

    monkeypatch.setattr(connections, "_open_handle", open_handle)
    thread, raised = _in_thread(manager, "model")
    assert opening.wait(_WAIT_S)
    assert manager.cancel_open() == ["model"]
    go_on.set()
    thread.join(_WAIT_S)
    assert not thread.is_alive()
    assert "OPERATION_CANCELED" in str(raised[0])
    assert not spark.started.is_set()
    assert spark.stopped.is_set()


def test_a_thread_that_begins_later_gets_no_connection(manager, monkeypatch):
    monkeypatch.setattr(connections, "_open_handle", lambda *_: pytest.fail("it was opened"))
    assert manager.cancel_open() == []
    thread, raised = _in_thread(manager, "model")
    thread.join(_WAIT_S)
    assert "OPERATION_CANCELED" in str(raised[0])


def test_the_thread_that_cancels_is_not_interrupted(manager, monkeypatch):
    """dbt runs the hooks of `on-run-end` in it after `--fail-fast`."""
    spark = _Spark()
    spark.interrupted.set()
    monkeypatch.setattr(connections, "_open_handle", lambda *_: SparkHandle(spark))
    manager.set_connection_name("master")
    manager.cancel_open()
    manager.set_connection_name("hook")
    manager.get_thread_connection().handle.cursor().execute("select 1")
    assert spark.started.is_set()


def test_an_interrupt_that_fails_once_is_sent_again(manager, monkeypatch):
    """The error of a session that ended between the look and the interrupt."""
    from pyspark.errors import PySparkException

    spark = _Spark(failing=PySparkException("session is closed"))
    monkeypatch.setattr(handle, "_INTERRUPT_EVERY_S", 2)
    monkeypatch.setattr(connections, "_open_handle", lambda *_: SparkHandle(spark))
    thread, _ = _in_thread(manager, "model")
    assert spark.started.wait(_WAIT_S)
    manager.cancel_open()
    thread.join(_WAIT_S)
    assert not thread.is_alive()
    assert spark.interrupts == 2
