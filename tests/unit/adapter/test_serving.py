"""What a manager tells others while it starts, and how it leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt import discovery, serving
from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.discovery import Discovered, NotFound
from dbt.adapters.spark_mt.execution.processes import LocalProcesses
from dbt.adapters.spark_mt.service.options import ServeOptions

OURS = LocalProcesses().owner()


class StartFailedError(RuntimeError):
    """Spark does not start in these tests."""


@pytest.fixture
def file(tmp_path):
    return tmp_path / discovery.FILE


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Serve with a Spark that fails to start; returns what the file told at that moment."""
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
    told = start()
    assert told == Discovered(OURS)
    assert told.is_starting
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
