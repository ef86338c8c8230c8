"""Leases as rows of a table of their own, and heartbeats as files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.job import Lease, Owner
from dbt.adapters.spark_mt.spark.registry.leases import SparkLeaseLog

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
    """A table of leases, and processes that read it."""

    def __init__(self) -> None:
        self.leases, self.files = Table(), Files()

    def __call__(self, name):
        assert name.name == "leases"
        return len(self.leases.written) - 1

    def directory(self, name):
        assert name.name == "leases"
        return "/leases"

    def log(self):
        return SparkLeaseLog(self.leases, self, self.files.names, self.files)


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


def test_a_catalog_without_leases_needs_no_query(catalog):
    log = catalog.log()
    assert [log.newest("c") for _ in range(5)] == [None] * 5
    assert catalog.leases.queries == 0
