"""Hosts in threads. Nothing here waits for a clock: hosted tables get the length of a pause."""

from threading import Event

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import NotFreshError, NotHostedError
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.execution.results import Action, StatementOutcome
from dbt.adapters.spark_mt.hosting.host import Host, Wanted
from dbt.adapters.spark_mt.hosting.policy import HostPhase, HostProgress

T, U = TableName("t", "s", "c"), TableName("u", "s", "c")
NEVER_MS = 3_600_000
SOON_S = 30
OLD, NEW = {"src": VersionedPosition(1, "a")}, {"src": VersionedPosition(2, "b")}


class Scripted:
    """A hosted table that does at each tick what the test says.

    Args:
        pause: Milliseconds that every tick asks for.
        on_tick: Called with the number of each tick, from 1; may return another pause.
    """

    def __init__(self, name=T, pause=NEVER_MS, on_tick=lambda _: None) -> None:
        self.progress = HostProgress(str(name))
        self.ticked, self.ended = Event(), Event()
        self.ticks = self.noticed = self.left = 0
        self._pause, self._on_tick = pause, on_tick

    def tick(self):
        self.ticks += 1
        requested = self._on_tick(self.ticks)
        self.ticked.set()
        return self._pause if requested is None else requested

    def notice(self):
        self.noticed += 1

    def leave(self):
        self.left += 1

    def end(self):
        self.ended.set()


@pytest.fixture
def made():
    return []


@pytest.fixture
def host(made):
    host = Host(lambda name: next(table for table in made if table.progress.table == str(name)))
    yield host
    host.close()


def started(host, made, table, name=T):
    """Start a hosted table and wait for its first tick."""
    made.append(table)
    host.start(name)
    assert table.ticked.wait(SOON_S)
    return table


def test_starting_twice_is_starting_once(host, made):
    table = started(host, made, Scripted())
    made.insert(0, Scripted())
    host.start(T)
    assert host.progress(T) is table.progress
    assert made[0].ticks == 0


def test_a_start_while_a_tick_finds_the_table_gone_is_not_lost(host, made):
    """The table was dropped, and is there again before its host has ended."""
    looked, recreated, again = Event(), Event(), Event()

    def on_tick(number):
        if number > 1:
            again.set()
            return None
        looked.set()
        assert recreated.wait(SOON_S)
        return -1

    made.append(Scripted(on_tick=on_tick))
    host.start(T)
    assert looked.wait(SOON_S)
    host.start(T)
    recreated.set()
    assert again.wait(SOON_S)


def test_stopping_does_not_wait_for_the_pause(host, made):
    table = started(host, made, Scripted())
    host.stop(T)
    assert table.ended.is_set()
    assert table.ticks == 1
    host.stop(T)


def test_a_stopped_host_can_be_started_again_and_keeps_its_last_progress(host, made):
    first = started(host, made, Scripted())
    host.stop(T)
    assert host.progress(T) is first.progress
    made.clear()
    second = started(host, made, Scripted())
    assert host.progress(T) is second.progress


def test_a_host_that_ended_without_a_request_can_be_started_again(host, made):
    first = started(host, made, Scripted(pause=-1))
    host._hosting(T)._thread.join(SOON_S)
    made.clear()
    started(host, made, Scripted())
    assert first.ticks == 1


def test_a_tick_that_asks_for_none_is_followed_by_the_next(host, made):
    enough = Event()

    def on_tick(number):
        if number == 3:
            enough.set()
        return NEVER_MS if number == 3 else 0

    table = started(host, made, Scripted(on_tick=on_tick))
    assert enough.wait(SOON_S)
    host.stop(T)
    assert table.ticks == 3


def test_one_table_waits_for_no_other(host, made):
    released = Event()
    slow = Scripted(T, on_tick=lambda _: released.wait(SOON_S) and None)
    made.append(slow)
    host.start(T)
    quick = started(host, made, Scripted(U), U)
    assert quick.ticks == 1
    assert not slow.ticked.is_set()
    released.set()
    assert slow.ticked.wait(SOON_S)


def test_closing_ends_every_table(host, made):
    tables = [started(host, made, Scripted(name), name) for name in (T, U)]
    host.close()
    assert all(table.ended.is_set() for table in tables)
    host.close()


@pytest.mark.parametrize(
    "ask", [Host.stop, Host.progress, lambda host, name: host.await_fresh(name, Wanted(NEW), 0)]
)
def test_a_table_without_a_host(host, ask):
    with pytest.raises(NotHostedError) as error:
        ask(host, T)
    assert error.value.parameters["table"] == "c.s.t"


def test_a_statement_of_the_same_process_is_noticed_at_once(host, made):
    tables = object.__new__(MaterializedTables)  # no Spark session
    tables._host = host
    seen = Event()
    table = started(host, made, Scripted(on_tick=lambda n: seen.set() if n > 1 else None))
    for outcome in (StatementOutcome("c.s.t", None), StatementOutcome("c.s.u", Action.ALTERED)):
        tables._done(outcome)
    assert table.noticed == 0
    tables._done(StatementOutcome("c.s.t", Action.ALTERED))
    assert seen.wait(SOON_S)
    assert table.noticed == 1


def test_waiting_wakes_the_table(host, made):
    table = Scripted()

    def on_tick(number):
        reached = OLD if number == 1 else NEW
        table.progress = HostProgress(str(T), HostPhase.STREAMING, reached)

    table._on_tick = on_tick
    started(host, made, table)
    assert host.await_fresh(T, Wanted(NEW), SOON_S).positions == NEW


def test_waiting_for_what_is_there_returns_at_once(host, made):
    table = Scripted()
    table.progress = HostProgress(str(T), HostPhase.STREAMING, NEW)
    started(host, made, table)
    assert host.await_fresh(T, Wanted(OLD), 0) is table.progress


def test_waiting_ends_in_time_and_says_how_the_table_does(host, made):
    table = Scripted()
    table.progress = HostProgress(str(T), HostPhase.FAILING, OLD, problem="no disk")
    started(host, made, table)
    with pytest.raises(NotFreshError) as error:
        host.await_fresh(T, Wanted(NEW), 0.01)
    facts = error.value.parameters
    assert (facts["phase"], facts["problem"]) == ("failing", ": no disk")


def test_a_table_whose_host_has_ended_is_not_waited_for(host, made):
    table = Scripted(pause=-1)
    table.progress = HostProgress(str(T), HostPhase.ENDED, OLD)
    started(host, made, table)
    with pytest.raises(NotFreshError) as error:
        host.await_fresh(T, Wanted(NEW), 10 * NEVER_MS)
    assert error.value.parameters["phase"] == "ended"


def test_a_suspended_table_is_not_waited_for(host, made):
    table = Scripted(pause=1)
    table.progress = HostProgress(str(T), HostPhase.SUSPENDED, OLD, problem="by the user")
    started(host, made, table)
    with pytest.raises(NotFreshError) as error:
        host.await_fresh(T, Wanted(NEW), 10 * NEVER_MS)
    assert error.value.parameters["phase"] == "suspended"


def test_a_table_that_was_resumed_is_waited_for(host, made):
    """The host may not have looked since."""
    table = Scripted()
    table.progress = HostProgress(str(T), HostPhase.SUSPENDED, OLD)

    def on_tick(number):
        if number == 2:
            table.progress = HostProgress(str(T), HostPhase.STREAMING, OLD)
        if number == 5:
            table.progress = HostProgress(str(T), HostPhase.STREAMING, NEW)
        return NEVER_MS if number in {1, 5} else 1

    table._on_tick = on_tick
    started(host, made, table)
    assert host.await_fresh(T, Wanted(NEW), SOON_S).positions == NEW


def test_a_number_of_another_table_is_no_version_of_this_one(host, made):
    table = Scripted(pause=1)
    table.progress = HostProgress(str(T), HostPhase.STREAMING, NEW)
    started(host, made, table)
    with pytest.raises(NotFreshError):
        host.await_fresh(T, Wanted(OLD, are_comparable=lambda positions: positions != NEW), 0.01)
    after = {"src": VersionedPosition(1, "c")}
    table.progress = HostProgress(str(T), HostPhase.STREAMING, after)
    wanted = {"src": VersionedPosition(1, "c")}
    wanted = Wanted(wanted, are_comparable=lambda positions: positions == after)
    found = host.await_fresh(T, wanted, SOON_S)
    assert found.positions == after


def test_a_position_that_the_source_has_left_reaches_nothing(host, made):
    table = Scripted(pause=1)
    table.progress = HostProgress(str(T), HostPhase.STREAMING, NEW)
    started(host, made, table)
    with pytest.raises(NotFreshError):
        host.await_fresh(T, Wanted(OLD, left=NEW), 0.01)
    table.progress = HostProgress(str(T), HostPhase.STREAMING, OLD)
    assert host.await_fresh(T, Wanted(OLD, left=NEW), SOON_S).positions == OLD


def test_a_source_without_positions_must_have_been_read_since(host, made):
    table = Scripted()

    def on_tick(number):
        table.progress = HostProgress(str(T), HostPhase.STREAMING, {}, checked_at_ms=10 * number)

    table._on_tick = on_tick
    started(host, made, table)
    assert host.await_fresh(T, Wanted({}, since_ms=20), SOON_S).checked_at_ms >= 20
    with pytest.raises(NotFreshError):
        host.await_fresh(T, Wanted({}, since_ms=10_000), 0.01)
