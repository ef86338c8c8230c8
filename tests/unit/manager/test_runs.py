"""Which run begins next, and which one waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from threading import Event, Thread

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus, Owner
from dbt.adapters.spark_mt.execution.refresh import RequestedRefresh
from dbt.adapters.spark_mt.manager.runs import IDLE_MS, Dispatcher, Run

HOUR = datetime(2026, 3, 2, 11, tzinfo=timezone.utc)


def table(name: str) -> TableName:
    return TableName(name, "s", "c")


def scheduled(name, ready=0, patience=0):
    """A run of a table that is computed whole."""
    requested = RequestedRefresh(scheduled_at=HOUR)
    return Run(table(name), requested, ready, patience, replaces=True)


def partition(name, hour, ready=0):
    """A run that writes partitions of its own."""
    return Run(table(name), RequestedRefresh(scheduled_at=HOUR.replace(hour=hour)), ready)


def submitted(name, id_="id", ready=0):
    """A run that a user asked for."""
    job = Job(id_, table(name), JobKind.MANUAL, JobStatus.RUNNING, 0, 0, Owner("node", 1), "REST")
    return Run(table(name), RequestedRefresh(refresh_id=id_), ready, accepted=job)


class Life:
    """A dispatcher whose threads are the test's."""

    def __init__(self, most=4) -> None:
        self.now, self.begun, self.withdrawn = 0, [], []
        self.waiting: list = []
        self.again: dict = {}
        self.dispatcher = Dispatcher(
            self._perform, self.waiting.append, most, lambda: self.now, self.withdrawn.extend
        )

    def _perform(self, run):
        self.begun.append(run)
        return self.again.pop(run.table.name, None)

    def dispatch_all(self):
        """Begin what may begin."""
        self.dispatcher.dispatch()
        return len(self.waiting)

    def end(self):
        """The oldest run comes to its end, and others begin."""
        self.waiting.pop(0)()
        self.dispatcher.dispatch()

    def drain(self):
        """Let everything that may begin now come to its end; return the tables in order."""
        self.dispatcher.dispatch()
        while self.waiting:
            self.end()
        return [run.table.name for run in self.begun]


@pytest.fixture
def life():
    return Life()


def test_one_at_a_time_per_table_and_so_many_at_all(life):
    for name in "aabcde":
        life.dispatcher.submit(submitted(name))
    assert life.dispatch_all() == 4
    assert life.dispatcher.running == 4
    assert life.dispatcher.is_running(table("a"))
    assert not life.dispatcher.is_running(table("e"))
    assert life.drain() == ["a", "b", "c", "d", "a", "e"]
    assert life.dispatcher.running == 0


def test_runs_over_the_newest_state_are_coalesced(life):
    life.dispatcher.submit(scheduled("t"))
    life.dispatch_all()
    for ready in (1, 2, 3):
        life.dispatcher.submit(scheduled("t", ready))
    life.now = 10
    life.drain()
    assert [run.ready_at_ms for run in life.begun] == [0, 3]


def test_requests_of_users_and_partitions_are_never_coalesced(life):
    runs = [submitted("t", "1"), partition("t", 1), submitted("t", "2"), partition("t", 2)]
    for run in (*runs, scheduled("t")):
        life.dispatcher.submit(run)
    life.drain()
    assert life.begun == [*runs, scheduled("t")]


def test_upstream_first_also_through_others(life):
    names = {name: table(name) for name in "abcd"}
    life.dispatcher.order_by(
        {
            names["b"]: frozenset({names["a"]}),
            names["c"]: frozenset({names["a"], names["b"]}),
        }
    )
    for name in "cbda":
        life.dispatcher.submit(scheduled(name, patience=1_000))
    assert life.dispatch_all() == 2, "a, and d that reads none of them"
    life.end()
    assert [run.table.name for run in life.begun] == ["d"]
    assert life.drain() == ["d", "a", "b", "c"]


def test_patience_is_bounded(life):
    life.dispatcher.order_by({table("b"): frozenset({table("a")})})
    life.dispatcher.submit(scheduled("a"))
    life.dispatch_all()
    life.dispatcher.submit(scheduled("b", patience=1_000))
    assert life.dispatcher.dispatch() == 1_000, "until then it need not look again"
    life.now = 999
    assert life.dispatch_all() == 1
    life.now = 1_000
    assert life.dispatch_all() == 2


def test_tables_that_wait_for_each_other_wait_no_longer_than_that(life):
    """Rows of different times may say so."""
    a, b = table("a"), table("b")
    life.dispatcher.order_by({a: frozenset({b}), b: frozenset({a})})
    for name in "ab":
        life.dispatcher.submit(scheduled(name, patience=1_000))
    assert life.dispatch_all() == 0
    life.now = 1_000
    assert sorted(life.drain()) == ["a", "b"]


def test_nothing_begins_before_its_time(life):
    life.dispatcher.submit(scheduled("a", ready=500))
    assert (life.dispatcher.dispatch(), len(life.waiting)) == (500, 0)
    life.now = 500
    assert life.dispatch_all() == 1
    life.end()
    assert life.dispatcher.dispatch() == IDLE_MS


def test_a_failed_run_is_tried_again_unless_a_newer_one_does_the_same(life):
    life.again["t"] = scheduled("t", ready=100)
    life.dispatcher.submit(scheduled("t"))
    life.drain()
    assert len(life.begun) == 1
    life.now = 100
    life.drain()
    assert len(life.begun) == 2
    life.again["t"] = scheduled("t", ready=200)
    life.dispatcher.submit(scheduled("t"))
    life.dispatch_all()
    life.dispatcher.submit(scheduled("t", ready=150))
    life.now = 300
    life.drain()
    assert [run.ready_at_ms for run in life.begun[2:]] == [0, 150]


def test_a_partition_that_failed_comes_before_newer_ones(life):
    life.again["t"] = partition("t", 1, ready=100)
    for hour in (1, 2):
        life.dispatcher.submit(partition("t", hour))
    life.drain()
    life.now = 99
    life.drain()
    assert len(life.begun) == 1
    life.now = 100
    life.drain()
    assert [run.requested.scheduled_at.hour for run in life.begun] == [1, 1, 2]


def test_a_request_of_a_user_does_not_wait_for_a_failing_run(life):
    life.again["t"] = partition("t", 1, ready=10_000)
    for hour in (1, 2):
        life.dispatcher.submit(partition("t", hour))
    life.drain()
    life.dispatcher.submit(submitted("t"))
    life.drain()
    assert [run.is_submitted for run in life.begun] == [False, True]


def test_a_table_that_was_changed_is_tried_at_once(life):
    life.dispatcher.submit(partition("t", 1, ready=10_000))
    life.dispatcher.submit(partition("u", 1, ready=10_000))
    life.dispatcher.retry_now(table("t"))
    life.dispatcher.retry_now(table("unknown"))
    assert life.drain() == ["t"]


def test_a_withdrawn_run_does_not_begin_and_its_caller_gets_an_error(life):
    for run in (scheduled("t"), submitted("t", "1"), submitted("u", "2")):
        life.dispatcher.submit(run)
    life.dispatcher.withdraw(table("t"))
    assert [run.requested.refresh_id for run in life.withdrawn] == ["1"]
    assert life.drain() == ["u"]


def test_requests_of_users_stay_when_schedules_are_suspended(life):
    for run in (scheduled("t"), submitted("t"), partition("t", 1)):
        life.dispatcher.submit(run)
    life.dispatcher.withdraw_scheduled(table("t"))
    life.drain()
    assert (life.begun, life.withdrawn) == ([submitted("t")], [])


def test_closing_begins_nothing_more_and_leaves_the_rest_to_the_next_manager(life):
    life.dispatcher.submit(scheduled("a"))
    life.dispatch_all()
    life.dispatcher.submit(submitted("b", "1"))
    assert not life.dispatcher.close(0.01)
    life.dispatcher.submit(submitted("c", "2"))
    assert (life.withdrawn, life.dispatcher.waiting) == ([], 0)
    life.again["a"] = scheduled("a")
    assert life.drain() == ["a"]
    assert life.dispatcher.close(0.01)


def test_nothing_is_remembered_of_tables_without_runs(life):
    for number in range(100):
        life.dispatcher.submit(scheduled(f"t{number}"))
        life.dispatcher.submit(submitted(f"u{number}"))
        life.dispatcher.withdraw(table(f"u{number}"))
    life.drain()
    assert life.dispatcher._queues == {}


def test_its_thread_wakes_up_for_each_run():
    """However a submission falls between looking and sleeping."""
    performed = [Event() for _ in range(200)]

    def perform(run):
        performed[run.ready_at_ms].set()

    dispatcher = Dispatcher(perform, lambda action: action(), 4, lambda: 1_000_000)
    thread = Thread(target=dispatcher.work, daemon=True)
    thread.start()
    for number, event in enumerate(performed):
        dispatcher.submit(replace(submitted("t"), ready_at_ms=number))
        assert event.wait(20)
    assert dispatcher.close(20)
    thread.join(20)
    assert not thread.is_alive()
