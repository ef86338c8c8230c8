"""The registry's rows are read when they changed, and corrected where they are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.manager.buffered_log import BufferedJobLog
from dbt.adapters.spark_mt.manager.registry_view import CatalogView
from dbt.adapters.spark_mt.manager.table_views import RefreshStatistics
from tests.unit.manager.test_buffered_log import skipped
from tests.unit.manager.test_table_views_statistics import job
from tests.unit.manager.world import HOURLY, LIVE, Port, world


@pytest.fixture
def life():
    with world() as found:
        yield found


def known(life, name):
    return life.tables.memory.log._known.get(life.tables.name(name))


def change_row(life, name, **facts):
    """Let the registry say something else of a table than the table itself does."""
    log, full = life.tables.memory.log, life.tables.name(name)
    log._known[full] = replace(log._known[full], **facts)
    log.make_version()


@pytest.mark.parametrize("what", ["generation", "table_id", "status", "refresh_mode"])
def test_a_wrong_row_is_corrected_within_the_hour(life, what):
    life.create("t", LIVE)
    life.create("f", HOURLY)
    life.execute("ALTER MATERIALIZED TABLE f SUSPEND")
    right = known(life, "t")
    other = known(life, "f")
    manager = life.manager()
    life.live(10)
    change_row(life, "t", **{what: 99 if what == "generation" else getattr(other, what)})
    life.live(3600, every=30)
    found = known(life, "t")
    assert replace(found, recorded_at_ms=0, rows=None) == replace(right, recorded_at_ms=0)
    assert manager.hosted() == {"t"}


def test_a_row_that_cannot_be_read_is_written_again_by_a_sweep(life):
    """The registry leaves such a row out of its lists, and still has the name."""
    life.create("t", LIVE)
    life.create("f", HOURLY)
    right = known(life, "t")
    log = life.tables.memory.log
    del log._known[life.tables.name("t")]
    log.make_version()
    manager = life.manager()
    life.live(2 * 3600, every=30)
    found = known(life, "t")
    assert replace(found, recorded_at_ms=0, rows=None) == replace(right, recorded_at_ms=0)
    assert manager.hosted() == {"t"}


def test_the_sweep_checks_every_table_within_the_hour_and_not_all_at_once(life):
    for number in range(40):
        life.create(f"f{number}", HOURLY)
    manager = life.manager()
    manager.tick()
    looked: list[str] = []
    real = manager.view.repair
    manager.view.repair = lambda name: looked.append(name.name) or real(name)
    most = 0
    for _ in range(3600 // 40):
        life.move(40)
        before = len(looked)
        manager.loop.tick()
        most = max(most, len(looked) - before)
    assert sorted(looked) == sorted(f"f{number}" for number in range(40))
    assert most == 1


def test_checks_missed_in_a_pause_are_spread_over_several_ticks(life):
    for number in range(60):
        life.create(f"f{number}", HOURLY)
    manager = life.manager()
    manager.tick()
    manager.store.calls.clear()
    life.move(24 * 3600)
    manager.loop.tick()
    assert manager.store.calls["find"] <= 2, "what a minute is for, and one"


def test_an_unreadable_table_affects_no_other(life):
    for name in "abc":
        life.create(name, HOURLY)
    manager = life.manager()
    manager.tick()
    for name in "abc":
        change_row(life, name, generation=99)
    real, b = manager.store._port.find, life.tables.name("b")

    class Broken:
        def find(self, name):
            if name == b:
                raise ConnectionError
            return real(name)

        def forget(self):
            pass

    manager.view._env = replace(manager.view._env, store=Broken())
    life.live(3600, every=60)
    assert [known(life, name).generation for name in "abc"] == [1, 99, 1]
    assert manager.loop.state.problem == ""


def test_a_table_missing_in_the_registry_is_registered_on_request(life):
    life.create("t", HOURLY)
    manager = life.manager()
    manager.tick()
    life.tables.memory.log.remove(life.tables.name("t"))
    manager.tick()
    assert manager.manager.tables() == ()
    manager.view.check_again(life.tables.name("t"))
    life.live(10)
    assert [view.name for view in manager.manager.tables()] == ["spark_catalog.default.t"]


def test_a_dropped_table_is_taken_out_once(life):
    life.create("t", HOURLY)
    manager = life.manager()
    manager.tick()
    life.tables.drop("t")
    for _ in range(3):
        manager.view.check_again(life.tables.name("t"))
        manager.tick()
    assert manager.runner.calls["run"] == 1


def test_rows_of_our_own_jobs_are_no_news_and_all_others_are(life):
    life.create("t", LIVE)
    name, now = life.tables.name("t"), life.tables.environment.now_ms()
    environment, registry = life.tables.environment, life.tables.memory.log
    log = BufferedJobLog(registry, RefreshStatistics(0), environment.now_ms)
    view = CatalogView("spark_catalog", environment, registry, log, RefreshStatistics(0))
    assert view.read()
    for number in (1, 2):
        recorded = replace(
            skipped(number), table=name, last_heartbeat_ms=now, scheduled_at_ms=now + number
        )
        log.append(recorded)
        log.close()
        assert not view.read()
    life.create("u", LIVE)
    assert view.read()
    assert len(view.tables) == 2
    assert view.last_scheduled == {name: now + 2}, "it was read with the rest"


def test_a_catalog_without_a_registry_is_read_once(life):
    environment, registry = life.tables.environment, Port(life.tables.memory.log)
    view = CatalogView("spark_catalog", environment, registry, registry, RefreshStatistics(0))
    assert view.read()
    registry.calls.clear()
    assert not view.read()
    assert registry.calls == {"version": 1}
    life.create("t", LIVE)
    assert view.read()


def test_names_are_read_again_only_where_something_else_than_jobs_was_written(life):
    life.create("t", LIVE)
    manager = life.manager()
    life.live(10)
    memory = life.tables.memory.log
    asked = []

    class Counted:
        def entries(self, catalog, schema):
            asked.append(schema)
            return memory.entries(catalog, schema)

    view = manager.view
    view._env = replace(view._env, registry=Counted())
    assert view.names("default") == view.names("default") == ("t",)
    manager.log.deferred.changed(job("j", JobStatus.FINISHED))
    manager.log.close()
    assert view.names("default") == ("t",)
    assert asked == ["default"]
    life.create("f", HOURLY)
    assert view.names("default") == ("f", "t")
    assert view.names("other") == ()
    assert asked == ["default", "default", "other"]
