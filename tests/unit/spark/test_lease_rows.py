"""Leases as rows of their own table, heartbeats as files, and the leases of older releases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.job import Lease, Owner
from dbt.adapters.spark_mt.execution.leases import Claim, Leadership
from dbt.adapters.spark_mt.spark.leases import SparkLeaseLog
from tests.support.memory.system_log import MemoryProcesses

LEASE = Lease("c", 1, Owner("here", 1), 1_000, settings=(("a", "b"),))
THERE = Owner("there", 2)


class Table:
    """Counts what is asked of it; every append is a version."""

    def __init__(self) -> None:
        self.written = []
        self.queries = 0

    def append(self, catalog, rows, now_ms):
        assert (catalog, now_ms) == ("c", rows[0]["recorded_at_ms"])
        self.written += rows

    def append_once(self, catalog, row, fence, number):
        assert (catalog, fence, number) == ("c", "materialized-table-manager", row["seq"])
        if any(each["seq"] >= number for each in self.written):
            return False
        self.written.append(row)
        return True

    def rows(self, catalog, query):
        assert catalog == "c"
        assert "LIMIT 1" in query
        self.queries += 1
        order = ("seq", "recorded_at_ms", "status")
        newest = sorted(self.written, key=lambda row: [row[each] for each in order])
        return newest[-1:]


class Files:
    """Files by path; every listing of a directory is counted."""

    def __init__(self) -> None:
        self.paths, self.looks = set(), 0

    def names(self, directory):
        self.looks += 1
        return sorted(p.rpartition("/")[2] for p in self.paths if p.startswith(directory))

    def touch(self, path):
        self.paths.add(path)

    def delete(self, path):
        self.paths.discard(path)


class Catalog:
    """A table of leases, a registry, and processes that look at them."""

    def __init__(self) -> None:
        self.leases, self.registry, self.files = Table(), Table(), Files()

    def __call__(self, name):
        table = {"leases": self.leases, "registry": self.registry}[name.name]
        return len(table.written) - 1

    def location(self, name):
        assert name.name == "leases"
        return "/leases"

    def log(self):
        return SparkLeaseLog(self.leases, self.registry, self, self.files.names, self.files)

    def write_as_an_older_release(self, term, last_heartbeat_ms, status="HELD"):
        facts = '{"address": "", "settings": {}, "silence_ms": 60000}'
        self.registry.written.append(
            {
                "seq": term,
                "status": status,
                "recorded_at_ms": last_heartbeat_ms,
                "owner_host": THERE.host,
                "owner_pid": THERE.pid,
                "owner_process": "",
                "owner_user": "",
                "facts": facts,
            }
        )


@pytest.fixture
def catalog():
    return Catalog()


def test_a_lease_is_read_as_it_was_written(catalog):
    log = catalog.log()
    assert log.newest("c") is None
    assert log.take(LEASE)
    assert log.newest("c") == LEASE
    log.write(replace(LEASE, is_released=True))
    assert log.newest("c").is_released


def test_heartbeats_are_no_versions_and_need_no_query(catalog):
    log, other = catalog.log(), catalog.log()
    log.take(LEASE)
    other.newest("c")
    queries = catalog.leases.queries
    for n in range(5):
        log.beat(replace(LEASE, last_heartbeat_ms=2_000 + n))
        assert other.newest("c").last_heartbeat_ms == 2_000 + n
    assert (len(catalog.leases.written), catalog.leases.queries) == (1, queries)
    assert catalog.files.paths == {"/leases/_heartbeats/1-2004.beat"}, "older ones are removed"


def test_heartbeats_of_an_older_term_prove_nothing(catalog):
    paused, other = catalog.log(), catalog.log()
    paused.take(LEASE)
    other.take(replace(LEASE, term=2, owner=THERE, last_heartbeat_ms=70_000))
    paused.beat(replace(LEASE, last_heartbeat_ms=99_000))
    assert (other.newest("c").term, other.newest("c").last_heartbeat_ms) == (2, 70_000)
    other.beat(replace(LEASE, term=2, owner=THERE, last_heartbeat_ms=80_000))
    assert catalog.files.paths == {"/leases/_heartbeats/2-80000.beat"}


def test_a_heartbeat_does_not_revive_a_released_lease(catalog):
    log = catalog.log()
    log.take(LEASE)
    log.beat(replace(LEASE, last_heartbeat_ms=5_000))
    log.write(replace(LEASE, last_heartbeat_ms=6_000, is_released=True))
    assert catalog.log().newest("c").is_released


def test_a_catalog_without_leases_is_asked_once(catalog):
    log = catalog.log()
    for _ in range(5):
        assert log.newest("c") is None
        catalog.registry.written.append({"seq": -1, "recorded_at_ms": 0, "status": "HELD"})
        catalog.registry.rows = lambda *_: []
    assert catalog.leases.queries == 0


def test_a_manager_of_an_older_release_is_respected_while_it_is_heard_of(catalog):
    log = catalog.log()
    catalog.write_as_an_older_release(7, 1_000)
    assert (log.newest("c").term, log.newest("c").owner) == (7, THERE)
    catalog.write_as_an_older_release(7, 21_000)
    assert log.newest("c").last_heartbeat_ms == 21_000


def test_a_new_manager_takes_over_from_an_older_release_and_the_term_counts_on(catalog):
    now = [1_000_000]
    leadership = Leadership(
        catalog.log(), MemoryProcesses(), Claim("c", LEASE.owner), lambda: now[0]
    )
    catalog.write_as_an_older_release(7, now[0])
    assert not leadership.tick()
    for _ in range(5):
        now[0] += 20_000
        catalog.write_as_an_older_release(7, now[0])
        assert not leadership.tick(), "the older one is alive"
    now[0] += 59_000
    assert not leadership.tick()
    now[0] += 1_000
    assert leadership.tick()
    assert leadership.lease.term == 8
    assert len(catalog.registry.written) == 6, "no row of the older release is lost or changed"
    queries = catalog.registry.queries
    catalog.write_as_an_older_release(7, now[0])
    assert catalog.log().newest("c").term == 8
    assert catalog.registry.queries == queries, "nobody reads old leases once there are new ones"


def test_a_released_lease_of_an_older_release_is_free(catalog):
    catalog.write_as_an_older_release(3, 1_000, "RELEASED")
    leadership = Leadership(catalog.log(), MemoryProcesses(), Claim("c", LEASE.owner), lambda: 1)
    assert leadership.tick()
    assert leadership.lease.term == 4
