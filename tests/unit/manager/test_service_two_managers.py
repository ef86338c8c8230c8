"""Of several managers one keeps the tables fresh; whichever dies, nothing is lost or doubled."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.manager.views import Role
from tests.behaviour.hosting import assert_each_row_once
from tests.support.memory.leases import MemoryLeases
from tests.unit.manager.world import HOURLY, world


@pytest.fixture
def life():
    with world() as found:
        found.create("t")
        found.create("f", HOURLY)
        yield found


def roles(*managers):
    return [each.manager.about().role for each in managers]


def test_a_second_manager_is_on_standby(life):
    first, second = life.manager(1), life.manager(2)
    life.live(3 * 3600, every=30)
    assert roles(first, second) == [Role.ACTIVE, Role.STANDBY]
    assert (second.hosted(), second.hosting.started, second.took_over) == (set(), [], 0)
    assert second.scheduler.calls["create_refresh_workflow"] == 0
    assert life.scheduled("f") == ["03-02 11:00", "03-02 12:00", "03-02 13:00"]
    about = second.manager.about()
    assert (about.leader, about.term, about.pid) == ("process 1 on node", 1, 2)


def test_a_manager_on_standby_shows_the_registry(life):
    life.manager(1)
    second = life.manager(2)
    life.append((4, 4, 4))
    life.live(3600, every=30)
    live, full = second.view_of("t"), second.view_of("f")
    assert (live.freshness_status.value, live.activity) == ("MET", "waiting")
    assert (full.freshness_status.value, full.next_run_at_ms, full.rows) == ("MET", None, 4)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_manager_takes_over_from_a_dead_one(life, is_gone):
    """At once where the process is known to be gone, else when it was silent for a minute."""
    first, second = life.manager(1), life.manager(2)
    life.live(60)
    life.kill(first)
    if not is_gone:
        life.tables.memory.processes.gone.clear()
    life.live(5 if is_gone else 95)
    assert roles(second) == [Role.ACTIVE]
    assert (second.took_over, second.manager.about().term) == (1, 2)
    life.append((4, 4, 4))
    life.live(3600, every=30)
    assert_each_row_once(life.tables)
    assert (life.rows("f"), life.scheduled("f")) == (4, ["03-02 11:00"])


def test_a_released_lease_is_taken_at_once(life):
    first, second = life.manager(1), life.manager(2)
    life.live(10)
    assert first.manager.stop(1.0)
    life.processes.remove(first)
    life.live(5)
    assert roles(second) == [Role.ACTIVE]


def test_a_paused_manager_goes_to_standby(life):
    first = life.manager(1)
    life.live(60)
    life.processes.remove(first)
    second = life.manager(2)
    life.live(120)
    assert roles(first, second) == [Role.ACTIVE, Role.ACTIVE], "the first does not know yet"
    life.append((4, 4, 4))
    first.work()
    life.tables.memory.streams.run_batches()
    life.processes.append(first)
    life.live(60)
    assert roles(first, second) == [Role.STANDBY, Role.ACTIVE]
    assert (first.hosted(), first.view_of("f").next_run_at_ms) == (set(), None)
    life.append((5, 5, 5))
    life.live(3600, every=30)
    assert_each_row_once(life.tables)
    assert life.scheduled("f") == ["03-02 11:00"]


def test_two_leaders_at_once_cause_no_wrong_change(life):
    """Neither sees the other: every row is there once all the same."""
    first, second = life.manager(1), life.manager(2)
    second.leadership._log = MemoryLeases()
    life.live(5)
    assert roles(first, second) == [Role.ACTIVE, Role.ACTIVE]
    for number in range(4, 30):
        life.append((number, 1, 1))
        life.live(40, every=10)
    life.live(3600, every=30)
    assert_each_row_once(life.tables)
    assert (life.rows("t"), life.rows("f")) == (29, 29)


def test_a_manager_that_cannot_renew_its_lease_is_on_standby_until_it_can(life):
    manager = life.manager(1)
    life.live(30)
    for method in "newest", "write":
        manager.leases.broken[method] = "no route"
    life.live(40)
    assert manager.hosted() == {"t"}, "others believe it for a minute"
    life.live(40)
    assert (manager.hosted(), manager.manager.about().role) == (set(), Role.STANDBY)
    manager.leases.broken.clear()
    life.live(5)
    assert (manager.hosted(), manager.manager.about().role) == ({"t"}, Role.ACTIVE)


def test_a_manager_that_leads_again_registers_its_tables_again(life):
    first, second = life.manager(1), life.manager(2)
    life.live(10)
    handler, name = life.tables.memory.log.handler, life.tables.name("f")
    life.processes.remove(first)
    life.live(120)
    life.execute("ALTER MATERIALIZED TABLE f SUSPEND")
    life.live(10)
    assert handler(name) == b""
    life.kill(second)
    life.execute("ALTER MATERIALIZED TABLE f RESUME")
    life.processes.append(first)
    life.live(10)
    assert roles(first) == [Role.ACTIVE]
    assert b"embedded" in handler(name)


def test_stopping_begins_nothing_more_and_releases_the_lease(life):
    manager = life.manager()
    life.live(60)
    manager.threads.at_once = False
    life.append((4, 4, 4))
    life.live(45 * 60, every=30)
    assert len(manager.threads.waiting) == 1, "the run of 11:00 is under way"
    assert not manager.manager.stop(0.01), "it did not end in time"
    assert manager.manager.health().problems[-1] == "the manager is about to stop"
    assert not manager.manager.health().is_ready
    assert (manager.hosted(), life.tables.memory.leases.written[-1].is_released) == (set(), True)
    life.live(3 * 3600, every=60)
    assert manager.hosting.started == ["t"]
    manager.threads.work()
    assert manager.threads.waiting == []
    assert life.scheduled("f") == ["03-02 11:00"]


@pytest.mark.parametrize("what", ["lease", "log"])
def test_stopping_comes_to_its_end_whatever_fails(life, what):
    manager = life.manager()
    life.live(3600, every=30)
    if what == "lease":
        manager.leases.broken["write"] = "no route"
    else:
        manager.log_port.broken["append"] = "no route"
        life.append((4, 4, 4))
        life.live(3600, every=30)
        life.live(3600, every=30)
    assert not manager.manager.stop(0.1)
    assert manager.hosted() == set()
    if what == "log":
        assert life.tables.memory.leases.written[-1].is_released


def test_buffered_rows_are_written_when_the_manager_stops(life):
    manager = life.manager()
    manager.tick()
    life.move_to("2026-03-02 11:00:01")
    manager.work()
    life.move(1)
    manager.work()
    assert life.scheduled("f") == []
    assert manager.manager.stop(0.1)
    assert life.scheduled("f") == ["03-02 11:00"]
