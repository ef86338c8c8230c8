"""Leases as rows: nobody queries for a word that nothing was written behind."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.job import Owner
from dbt.adapters.spark_mt.definition.lease import Lease
from dbt.adapters.spark_mt.spark.leases import SparkLeaseLog

LEASE = Lease("c", 1, Owner("here", 1), 1_000, settings=(("a", "b"),))


class Table:
    """Counts what is asked of it; every append is a version."""

    def __init__(self) -> None:
        self.rows_told = []
        self.queries = self.looks = 0

    def append(self, catalog, rows, now_ms, mark=""):
        assert (catalog, now_ms) == ("c", rows[0]["recorded_at_ms"])
        assert mark == "materialized-table-manager", "or nobody looks at what the commit says"
        self.rows_told += rows

    def append_once(self, catalog, row, fence, number):
        assert (catalog, fence, number) == ("c", "materialized-table-manager", row["seq"])
        self.rows_told.append(row)
        return True

    def rows(self, catalog, query):
        assert catalog == "c"
        assert "MANAGER" in query
        self.queries += 1
        return [row for row in self.rows_told if row["kind"] == "MANAGER"][-1:]

    def version(self, catalog):
        assert catalog == "c"
        return len(self.rows_told) - 1

    def may_mention(self, catalog, word, versions):
        assert (catalog, word) == ("c", "materialized-table-manager")
        self.looks += len(versions)
        return any(self.rows_told[version]["kind"] == "MANAGER" for version in versions)

    def tell_of_jobs(self, count):
        self.rows_told += [{"kind": "JOB"}] * count


def log_and_table():
    table = Table()
    return SparkLeaseLog(table, table), table


def test_a_lease_is_read_as_it_was_told():
    log, _ = log_and_table()
    assert log.newest("c") is None
    assert log.take(LEASE)
    assert log.newest("c") == LEASE
    log.tell(replace(LEASE, is_released=True))
    assert log.newest("c").is_released


def test_renewing_a_lease_where_nobody_else_writes_runs_no_query():
    log, table = log_and_table()
    log.take(LEASE)
    log.newest("c")
    for n in range(5):
        log.tell(replace(LEASE, heard_at_ms=2_000 + n))
        assert log.newest("c").heard_at_ms == 2_000 + n
    assert (table.queries, log.words) == (1, 5)


def test_what_others_write_is_read():
    log, table = log_and_table()
    log.take(LEASE)
    log.newest("c")
    other = SparkLeaseLog(table, table)
    other.take(replace(LEASE, term=2))
    log.tell(replace(LEASE, heard_at_ms=3_000))
    assert table.queries == 1
    log.newest("c")
    assert table.queries == 2


def test_what_is_told_of_refreshes_is_no_news_of_a_lease():
    log, table = log_and_table()
    log.take(LEASE)
    assert log.newest("c") == LEASE
    for _ in range(3):
        table.tell_of_jobs(2)
        assert log.newest("c") == LEASE
    assert (table.queries, table.looks) == (1, 6), "each commit is looked at once"
    SparkLeaseLog(table, table).take(replace(LEASE, term=2))
    table.tell_of_jobs(1)
    assert log.newest("c").term == 2


def test_a_registry_that_was_made_anew_is_read():
    log, table = log_and_table()
    log.take(LEASE)
    table.tell_of_jobs(1)
    assert log.newest("c") == LEASE
    table.rows_told.clear()
    assert log.newest("c") is None
    table.tell_of_jobs(1)
    assert log.newest("c") is None


def test_very_many_commits_cost_one_query_and_no_look():
    log, table = log_and_table()
    log.take(LEASE)
    log.newest("c")
    table.tell_of_jobs(1_000)
    assert log.newest("c") == LEASE
    assert (table.queries, table.looks) == (2, 0)
