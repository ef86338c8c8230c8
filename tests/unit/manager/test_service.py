"""Draining: hosts that stop are waited for, and no longer than configured."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.execution.results import StatementOutcome, StatementResult
from dbt.adapters.spark_mt.hosting.host import Host
from dbt.adapters.spark_mt.hosting.policy import HostProgress
from dbt.adapters.spark_mt.manager import service

T, U = TableName("t", "s", "c"), TableName("u", "s", "c")


class Batch:
    """A hosted table whose one batch continues until the test ends it."""

    def __init__(self, name) -> None:
        self.progress = HostProgress(str(name))
        self.began, self.may_end, self.ended = Event(), Event(), Event()

    def tick(self) -> int:
        self.began.set()
        assert self.may_end.wait(20)
        return 60_000

    def leave(self) -> None:
        """It waits for no turn."""

    def end(self) -> None:
        self.ended.set()


@pytest.fixture
def batches():
    return {name: Batch(name) for name in (T, U)}


def test_a_running_batch_is_completed(batches):
    host = Host(batches.__getitem__)
    for name, batch in batches.items():
        host.start(name)
        assert batch.began.wait(20)
    for name in batches:
        host.forget(name)
    assert host.hosted() == frozenset()
    assert not host.drain(0.01), "they are still at it"
    batches[T].may_end.set()
    assert batches[T].ended.wait(20)
    assert not host.drain(0.01)
    batches[U].may_end.set()
    assert host.drain(20)
    assert batches[U].ended.is_set()


def test_without_any_there_is_nothing_to_wait_for(batches):
    assert Host(batches.__getitem__).drain(0)


@pytest.mark.parametrize("slow", ["loop", "requests", "dispatcher", "hosting", "all"])
def test_all_parts_of_a_manager_share_the_time_to_stop(slow, monkeypatch):
    """Whatever takes all of its time, --stop-within is the sum: the supervisor waits no longer."""
    clock = [100.0]
    monkeypatch.setattr(service, "monotonic", lambda: clock[0])

    def stopping(part):
        def stop(within_s):
            is_slow = slow in {part, "all"}
            clock[0] += within_s if is_slow else min(within_s, 1.0)
            return not is_slow

        return stop

    closed = []
    parts = SimpleNamespace(
        loop=SimpleNamespace(stop=stopping("loop")),
        reconciler=SimpleNamespace(close=lambda: closed.append("reconciler")),
        requests=SimpleNamespace(drain=stopping("requests")),
        dispatcher=SimpleNamespace(close=stopping("dispatcher")),
        hosting=SimpleNamespace(drain=stopping("hosting")),
        log=SimpleNamespace(close=lambda: closed.append("log")),
        leadership=SimpleNamespace(release=lambda: closed.append("lease")),
    )
    assert not service.Manager(parts, now_ms=lambda: 0).stop(60.0)
    assert 55.0 <= clock[0] - 100.0 <= 60.0
    assert closed == ["reconciler", "log", "lease"], "the lease is given up in any case"


def test_a_stop_ends_statements_before_it_waits_for_a_tick(monkeypatch):
    """A tick may wait for the cores that a statement of a client holds."""
    clock, runs = [100.0], [True]
    monkeypatch.setattr(service, "monotonic", lambda: clock[0])

    def tick_ends(within_s):
        clock[0] += within_s if runs else min(within_s, 1.0)
        return not runs

    def drain(within_s):
        assert within_s > 40.0
        clock[0] += within_s * 0.8
        runs.clear()
        return False

    parts = SimpleNamespace(
        loop=SimpleNamespace(stop=tick_ends),
        reconciler=SimpleNamespace(close=lambda: None),
        requests=SimpleNamespace(drain=drain),
        dispatcher=SimpleNamespace(close=lambda _: True),
        hosting=SimpleNamespace(drain=lambda _: True),
        log=SimpleNamespace(close=lambda: None),
        leadership=SimpleNamespace(release=lambda: None),
    )
    assert not service.Manager(parts, now_ms=lambda: 0).stop(60.0)
    assert runs == []


def plain_sql(result):
    """A manager whose statements have a result, with what was asked of its parts."""
    noted = []
    parts = SimpleNamespace(
        carry_out_in=lambda _, parsed, spark: noted.append((parsed.text, spark)) or result,
        loop=SimpleNamespace(await_first_tick=lambda: None, wake=lambda: noted.append("wake")),
    )
    return service.Manager(parts, lambda: 0), noted


@pytest.mark.parametrize("changes", [True, False])
def test_plain_sql_is_carried_out_in_the_session_of_its_client(changes):
    """The manager looks at its tables after a change, and not after SHOW."""
    outcome = StatementOutcome("t", None) if changes else None
    manager, noted = plain_sql(StatementResult((), (), outcome))
    manager.carry_out("session", "SHOW JOBS", "1", ())
    assert noted == [("SHOW JOBS", "session"), *(["wake"] if changes else [])]


def test_a_manager_that_stops_refuses_plain_sql():
    """Nothing is begun."""
    manager, noted = plain_sql(None)
    manager._is_stopping = True
    with pytest.raises(MaterializedTableError, match="about to stop"):
        manager.carry_out("session", "SHOW JOBS", "1", ())
    assert noted == []
