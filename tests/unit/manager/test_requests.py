"""Statements that a manager carries out for clients."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.manager import requests as manager_requests
from dbt.adapters.spark_mt.manager.requests import Requests

_PATIENCE_S = 20


class Statement:
    """A statement that ends when it may, or is interrupted."""

    def __init__(self, requests, request_id="a"):
        self.has_begun, self.may_end, self.is_interrupted = Event(), Event(), False
        self._thread = Thread(target=self._run, args=(requests, request_id))
        self._thread.start()
        assert self.has_begun.wait(_PATIENCE_S)

    def _run(self, requests, request_id):
        with requests.running(request_id, self._interrupt):
            self.has_begun.set()
            assert self.may_end.wait(_PATIENCE_S)

    def _interrupt(self):
        self.is_interrupted = True
        self.may_end.set()


def test_an_interrupt_is_of_one_request():
    """One that is over, or was never there, is none."""
    requests = Requests()
    first, second = Statement(requests, "a"), Statement(requests, "b")
    requests.interrupt("a")
    assert (first.is_interrupted, second.is_interrupted) == (True, False)
    second.may_end.set()
    assert requests.drain(_PATIENCE_S)
    requests.interrupt("b")
    assert not second.is_interrupted


def test_a_request_runs_once():
    """The one that runs continues."""
    requests = Requests()
    statement = Statement(requests)
    with pytest.raises(MaterializedTableError), requests.running("a", lambda: None):
        pass
    requests.interrupt("a")
    assert statement.is_interrupted


def test_a_stop_waits_for_statements():
    """One that ends in time is not interrupted."""
    requests = Requests()
    assert requests.drain(0)
    statement = Statement(requests)
    ended = []
    stop = Thread(target=lambda: ended.append(requests.drain(_PATIENCE_S)))
    stop.start()
    statement.may_end.set()
    stop.join(_PATIENCE_S)
    assert ended == [True]
    assert not statement.is_interrupted


def test_a_stop_interrupts_what_takes_longer():
    """It waits for the end of that, too."""
    requests = Requests()
    statement = Statement(requests)
    assert not requests.drain(0.4)
    assert statement.is_interrupted
    assert requests.drain(0)


def test_a_stop_interrupts_again_what_runs_on(monkeypatch):
    """The first interrupt may hit one job of several."""
    monkeypatch.setattr(manager_requests, "_INTERRUPT_EVERY_S", 0.01)
    requests, interrupts, may_end = Requests(), [], Event()

    def interrupt():
        interrupts.append(True)
        if len(interrupts) == 3:
            may_end.set()

    def run():
        with requests.running("a", interrupt):
            has_begun.set()
            may_end.wait(_PATIENCE_S)

    has_begun = Event()
    Thread(target=run).start()
    has_begun.wait(_PATIENCE_S)
    assert not requests.drain(_PATIENCE_S / 100)
    assert len(interrupts) >= 3
    assert requests.drain(0)
