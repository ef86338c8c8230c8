"""What the manager's loop makes true, and what it leaves alone."""

from __future__ import annotations

from threading import Thread

import pytest

from dbt.adapters.spark_mt.manager.views import Role
from tests.behaviour.hosting import EVENTS, FIRST, WIDER
from tests.unit.manager.world import DAILY, HOURLY, LIVE, world


@pytest.fixture
def life():
    with world() as found:
        yield found


def test_continuous_tables_are_hosted_upstream_first(life):
    life.chain("c", "b", "a")
    life.create("z")
    manager = life.manager()
    manager.tick()
    assert manager.hosting.started == ["c", "b", "a", "z"]
    assert manager.hosted() == {"a", "b", "c", "z"}
    life.append((4, 4, 4))
    life.live(600)
    assert [life.rows(name) for name in "abcz"] == [4, 4, 4, 4]


def test_full_tables_are_scheduled_and_not_hosted(life):
    life.create("t", HOURLY)
    manager = life.manager()
    manager.tick()
    life.append((4, 4, 4))
    life.live(35 * 60)
    assert (life.rows("t"), manager.hosted()) == (3, set()), "it is 10:55"
    life.live(6 * 60)
    assert (life.rows("t"), life.scheduled("t")) == (4, ["03-02 11:00"])


def test_a_new_table_is_found_within_a_tick(life):
    manager = life.manager()
    manager.tick()
    life.create("t")
    life.create("u", HOURLY)
    manager.tick()
    assert manager.hosted() == {"t"}
    assert manager.view_of("u").next_run_at_ms is not None


def test_nothing_is_done_when_nothing_changed(life):
    life.chain("a", "b")
    life.create("f", HOURLY)
    life.create("s", DAILY)
    manager = life.manager(sweep=10**12)
    for _ in range(3):
        manager.tick()
    ports = (manager.registry, manager.log_port, manager.runner, manager.scheduler)
    for port in (*ports, manager.store, manager.leases):
        port.calls.clear()
    manager.hosting.started.clear()
    for _ in range(10):
        manager.loop.tick()
    assert manager.registry.calls == {"version": 10}
    assert manager.store.calls.keys() <= {"forget", "find"}, "the sweep looks at one"
    assert manager.store.calls["find"] <= 1
    calls = [port.calls for port in (manager.log_port, manager.runner, manager.scheduler)]
    assert calls == [{}, {}, {}]
    assert (manager.leases.calls, manager.hosting.started) == ({}, [])


@pytest.mark.parametrize("mode", ["CONTINUOUS", "FULL"])
def test_a_changed_mode_is_applied(life, mode):
    before, after = (HOURLY, LIVE) if mode == "CONTINUOUS" else (LIVE, HOURLY)
    life.create("t", before)
    manager = life.manager()
    manager.tick()
    life.execute(f"CREATE OR ALTER MATERIALIZED TABLE t {after} AS SELECT id, k, v FROM events")
    life.live(10)
    is_hosted = mode == "CONTINUOUS"
    assert ("t" in manager.hosted()) is is_hosted
    assert (manager.view_of("t").next_run_at_ms is None) is is_hosted


def test_a_changed_freshness_is_another_schedule(life):
    life.create("t", HOURLY)
    manager = life.manager()
    manager.tick()
    life.execute("ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '30' MINUTE")
    life.append((4, 4, 4))
    life.live(11 * 60)
    assert life.scheduled("t") == ["03-02 10:30"]
    assert manager.view_of("t").schedule.text == "every 30 minutes"


def test_a_changed_query_reaches_the_host_at_once(life):
    life.learn(WIDER, f"{EVENTS}; twice INT", lambda r: [(*e, e[2] * 2) for e in r["events"]])
    life.create("t")
    manager = life.manager()
    life.append((4, 4, 4))
    life.live(60)
    life.execute(f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} AS {WIDER}")
    manager.tick()
    assert manager.hosting.noticed == ["t"]
    life.append((5, 5, 5))
    life.live(120)
    assert sorted(row[3] for row in life.tables.rows("t")) == [8, 10, 20, 40, 60]


def test_suspended_tables_are_not_refreshed_and_resumed_tables_are(life):
    life.create("t")
    life.create("f", HOURLY)
    manager = life.manager()
    manager.tick()
    for name in "tf":
        life.execute(f"ALTER MATERIALIZED TABLE {name} SUSPEND")
    manager.tick()
    life.append((4, 4, 4))
    life.live(2 * 3600, every=60)
    assert (manager.hosted(), life.rows("t"), life.rows("f")) == (set(), 3, 3)
    assert {manager.view_of(n).activity for n in "tf"} == {"suspended"}
    for name in "tf":
        life.execute(f"ALTER MATERIALIZED TABLE {name} RESUME")
    life.append((5, 5, 5))
    life.live(3600, every=60)
    assert (manager.hosted(), life.rows("t"), life.rows("f")) == ({"t"}, 5, 5)


@pytest.mark.parametrize("past_us", [True, False])
@pytest.mark.parametrize("clauses", [LIVE, HOURLY])
def test_what_is_dropped_is_stopped_also_past_us(life, clauses, past_us):
    life.create("t", clauses)
    life.create("other", clauses)
    manager = life.manager()
    manager.tick()
    if past_us:
        life.tables.drop("t")
    else:
        life.execute("DROP MATERIALIZED TABLE t")
    life.live(2 * 3600, every=60)
    assert [view.name for view in manager.manager.tables()] == ["spark_catalog.default.other"]
    assert [t.table for t in manager.manager.totals()] in ([], ["spark_catalog.default.other"])
    assert "t" not in manager.hosted()


def test_a_plain_table_with_the_name_is_unmanaged(life):
    life.create("t", HOURLY)
    manager = life.manager()
    manager.tick()
    life.tables.source("t", EVENTS, [])
    life.live(3600, every=60)
    assert manager.manager.tables() == ()
    assert life.rows("t") == 0


def test_a_registry_that_cannot_be_read_stops_nothing(life):
    life.create("t")
    life.create("f", HOURLY)
    manager = life.manager()
    manager.tick()
    for method in "version", "tables":
        manager.registry.broken[method] = "no route"
        life.append((4, 4, 4))
        life.live(3600, every=30)
        assert "no route" in manager.loop.state.problem
        assert life.rows("t") == life.rows("f") == len(life.tables.rows("events"))
        manager.registry.broken.clear()
        manager.tick()
        assert manager.loop.state.problem == ""


@pytest.mark.parametrize("port", ["registry", "log_port"])
def test_a_check_that_failed_half_way_is_repeated(life, port):
    """What the look before had read already must not be taken for done."""
    manager = life.manager()
    manager.tick()
    life.create("t")
    life.create("f", HOURLY)
    method = {"registry": "record_handlers", "log_port": "jobs"}[port]
    getattr(manager, port).broken[method] = "full"
    manager.tick()
    assert manager.loop.state.problem
    getattr(manager, port).broken.clear()
    manager.tick()
    handler = life.tables.memory.log.handler
    assert manager.hosted() == {"t"}
    assert all(handler(life.tables.name(name)) for name in "tf")
    assert manager.view_of("f").next_run_at_ms is not None


def test_a_table_that_cannot_be_hosted_affects_no_other(life):
    life.chain("a", "b", "c")
    manager = life.manager()
    manager.hosting.refused.add("a")
    manager.tick()
    assert manager.hosted() == {"b", "c"}
    assert manager.loop.state.problem == ""
    manager.hosting.refused.clear()
    manager.tick()
    assert manager.hosted() == {"a", "b", "c"}


def test_a_scheduler_that_refuses_is_asked_again(life):
    life.create("f", HOURLY)
    life.create("t")
    manager = life.manager()
    manager.scheduler.broken["create_refresh_workflow"] = "no scheduler"
    manager.tick()
    assert manager.hosted() == {"t"}
    manager.scheduler.broken.clear()
    manager.tick()
    assert manager.view_of("f").next_run_at_ms is not None


def test_one_table_that_fails_delays_no_other(life):
    life.create("good")
    life.tables.source("other", EVENTS, FIRST)
    query = "SELECT id, k, v FROM other"
    life.learn(query, EVENTS, lambda r: [e[:3] for e in r["other"]])
    life.create("bad", LIVE, query)
    manager = life.manager()
    manager.tick()
    life.tables.drop("other")
    life.append((4, 4, 4))
    life.live(120)
    assert life.rows("good") == 4
    bad = manager.view_of("bad")
    assert (bad.activity, bad.failures > 0) == ("failing", True)
    assert "other" in bad.problem


def test_a_host_that_ended_without_a_request_is_started_again(life):
    life.create("t")
    manager = life.manager()
    manager.tick()
    manager.hosting.end(life.tables.name("t"))
    manager.tick()
    assert manager.hosted() == {"t"}


def test_the_manager_of_a_table_is_registered_once(life):
    life.create("t")
    life.create("f", HOURLY)
    manager = life.manager()
    life.live(60)
    assert manager.registry.calls["record_handlers"] == 1
    handler = life.tables.memory.log.handler
    assert b"1.1" in handler(life.tables.name("t"))
    assert b"embedded" in handler(life.tables.name("f"))
    life.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    manager.tick()
    assert handler(life.tables.name("t")) == b""


def before_the_lease(manager, monkeypatch, look):
    """Look at the manager each time it is about to ask for the lease."""
    tick, seen = manager.leadership.tick, []
    monkeypatch.setattr(manager.leadership, "tick", lambda: seen.append(look()) or tick())
    monkeypatch.setattr(manager.loop._thread, "is_alive", lambda: True)
    return seen


def test_a_manager_answers_before_it_has_the_lease(life, monkeypatch):
    life.create("t")
    manager = life.manager()
    view = manager.manager
    seen = before_the_lease(
        manager,
        monkeypatch,
        lambda: (view.health().is_ready, view.about().role, [each.name for each in view.tables()]),
    )
    assert not view.health().is_ready
    manager.tick()
    assert seen == [(True, Role.STARTING, ["spark_catalog.default.t"])]
    assert (view.about().role, manager.hosted()) == (Role.ACTIVE, {"t"})
    assert manager.registry.calls["tables"] == 1, "nothing has changed meanwhile"
    assert manager.log_port.calls["newest"] == 1


def test_a_statement_waits_until_the_manager_has_asked_for_the_lease(life, monkeypatch):
    manager = life.manager()
    manager.loop.await_first_tick()  # no loop runs, which would end the wait
    monkeypatch.setattr(manager.loop._thread, "is_alive", lambda: True)
    waiting = Thread(target=manager.loop.await_first_tick, daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    manager.tick()
    waiting.join(60)
    assert not waiting.is_alive()


def test_a_manager_that_cannot_get_the_lease_is_not_ready(life, monkeypatch):
    manager = life.manager()
    before_the_lease(manager, monkeypatch, lambda: None)
    manager.leases.broken["take"] = "no route"
    manager.tick()
    health = manager.manager.health()
    assert (health.is_alive, health.is_ready) == (True, False)
    assert "no route" in health.problems[0]
    manager.leases.broken.clear()
    manager.tick()
    assert manager.manager.health().is_ready


def test_a_slow_first_tick_is_no_reason_to_end_the_process(life, monkeypatch):
    """A liveness probe would end each process after it, too, before it has begun."""
    manager = life.manager()
    monkeypatch.setattr(manager.loop._thread, "is_alive", lambda: True)
    life.move(590)
    assert manager.manager.health().is_alive
    life.move(20)
    assert not manager.manager.health().is_alive
    manager.tick()
    life.move(61)
    assert not manager.manager.health().is_alive, "later ones are seconds long"


def test_a_registry_that_is_gone_is_named_and_what_runs_continues(life, monkeypatch):
    life.create("t")
    manager = life.manager()
    life.live(60)
    monkeypatch.setattr(manager.loop._thread, "is_alive", lambda: True)
    assert manager.manager.health().is_ready
    monkeypatch.setattr(manager.registry._port, "version", lambda _: -1)
    life.live(60)
    health = manager.manager.health()
    assert (health.is_alive, health.is_ready) == (True, False)
    assert "materialized_table_system.registry is gone" in health.problems[0]
    assert "warehouse was deleted" in health.problems[0]
    assert manager.hosted() == {"t"}
    monkeypatch.undo()
    monkeypatch.setattr(manager.loop._thread, "is_alive", lambda: True)
    life.live(10)
    assert manager.manager.health().is_ready


def test_modes_are_derived_again_of_tables_that_came_before_the_lease(life, monkeypatch):
    life.create("t")
    manager = life.manager()
    seen = before_the_lease(manager, monkeypatch, lambda: life.create("u"))
    manager.tick()
    assert (len(seen), manager.derived_again) == (1, {"t", "u"})


def test_a_manager_is_ready_before_it_has_written_who_refreshes_what(life):
    life.create("t")
    manager = life.manager()
    manager.registry.broken["record_handlers"] = "full"
    manager.tick()
    assert manager.manager.about().role is Role.ACTIVE
    assert "full" in manager.loop.state.problem
    assert manager.hosted() == {"t"}
