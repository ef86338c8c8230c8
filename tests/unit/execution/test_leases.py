"""Of several managers one holds a catalog, and another takes over when it is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.execution.leases import (
    CHECK_MS,
    Claim,
    Leadership,
    LeaseCache,
    Managers,
    holds,
)
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.system_log import MemoryProcesses

HERE, THERE = Owner("here", 1), Owner("there", 2)


class World:
    """Two managers with clocks of their own, that share nothing but the leases."""

    def __init__(self) -> None:
        self.log = MemoryLeases()
        self.processes = MemoryProcesses()
        self.now = 1_000_000
        self.skew = 0
        self.first = self._manager(HERE, lambda: self.now)
        self.second = self._manager(THERE, lambda: self.now + self.skew)

    def _manager(self, owner, clock):
        return Leadership(self.log, self.processes, Claim("c", owner, silence_ms=60_000), clock)

    def pass_time(self, seconds, *managers):
        """Let managers tick every second."""
        for _ in range(seconds):
            self.now += 1000
            for manager in managers:
                manager.tick()


@pytest.fixture
def world():
    return World()


def test_the_first_that_asks_holds_the_lease(world):
    assert world.first.tick()
    assert not world.second.tick()
    assert world.second.lease.owner == HERE


def test_a_manager_keeps_its_lease_while_its_heartbeat_is_written(world):
    world.first.tick()
    world.pass_time(600, world.first, world.second)
    assert world.first.is_held
    assert not world.second.is_held
    assert {lease.term for lease in world.log.written} == {1}


def test_a_heartbeat_every_twenty_seconds_is_no_row(world):
    world.first.tick()
    world.pass_time(200, world.first)
    assert (len(world.log.written), len(world.log.beats)) == (1, 10)


def test_a_lease_whose_heartbeat_cannot_be_written_is_lost_in_time(world):
    world.first.tick()

    def fail(_):
        raise ConnectionError

    world.log.beat = fail
    world.now += 20_000
    with pytest.raises(ConnectionError):
        world.first.tick()
    assert world.first.is_held
    world.now += 40_000
    assert not world.first.is_held, "others may take over now"


def test_a_catalog_without_heartbeats_is_taken_over_within_a_minute(world):
    world.first.tick()
    world.second.tick()
    world.pass_time(59, world.second)
    assert not world.second.is_held
    world.pass_time(1, world.second)
    assert world.second.is_held
    assert world.second.lease.term == 2


def test_a_killed_one_of_this_machine_is_taken_over_at_once(world):
    world.first.tick()
    world.processes.gone.add(HERE)
    assert world.second.tick()


def test_a_released_lease_is_free(world):
    world.first.tick()
    world.first.release()
    assert not world.first.is_held
    assert world.second.tick()


def test_a_paused_manager_checks_its_lease_when_it_continues(world):
    world.first.tick()
    world.second.tick()
    world.pass_time(61, world.second)
    assert world.second.is_held
    assert not world.first.is_held, "nobody can have heard of it"
    assert not world.first.tick()
    assert world.first.lease.owner == THERE
    world.pass_time(100, world.first, world.second)
    assert world.second.is_held
    assert not world.first.is_held


def test_a_paused_manager_without_a_successor_continues_its_term(world):
    world.first.tick()
    world.now += 300_000
    assert not world.first.is_held
    assert world.first.tick()
    assert world.first.lease.term == 1


def test_clock_skew_does_not_end_a_lease(world):
    world.skew = 3_600_000
    world.first.tick()
    world.pass_time(300, world.first, world.second)
    assert world.first.is_held
    assert not world.second.is_held


def test_of_two_managers_that_claim_a_term_at_once_one_gets_it(world):
    newest = world.log.newest
    world.log.newest = lambda _: None
    assert world.first.tick()
    assert not world.second.tick()
    world.log.newest = newest
    assert not world.second.tick()


def test_a_process_that_starts_again_as_the_same_takes_its_own_lease(world):
    world.first.tick()
    again = world._manager(HERE, lambda: world.now)
    assert again.tick()
    assert again.lease.term == 2


@pytest.mark.parametrize(
    ("changes", "now", "held"),
    [
        ({}, 60_000, True),
        ({}, 60_001, False),
        ({"is_released": True}, 1, False),
        ({"silence_ms": 5_000}, 5_001, False),
    ],
)
def test_a_lease_read_once_counts_by_its_recorded_heartbeat(world, changes, now, held):
    world.now = 0
    world.first.tick()
    lease = replace(world.first.lease, **changes)
    assert holds(lease, world.processes, now) is held


def test_an_unclaimed_catalog_has_no_holder(world):
    assert not holds(None, world.processes, 0)


def test_a_gone_process_holds_nothing(world):
    world.first.tick()
    world.processes.gone.add(HERE)
    assert not holds(world.first.lease, world.processes, world.now)


def test_connections_of_a_process_look_the_manager_up_once(world):
    world.first.tick()
    looks, cache = [], LeaseCache()
    newest = world.log.newest
    world.log.newest = lambda catalog: looks.append(catalog) or newest(catalog)
    managers = [Managers(world.log, world.processes, lambda: world.now, cache) for _ in range(3)]
    assert {each.live("c").owner for each in managers} == {HERE}
    assert looks == ["c"]
    world.now += CHECK_MS
    assert {each.live("c").owner for each in managers} == {HERE}
    assert looks == ["c", "c"]
