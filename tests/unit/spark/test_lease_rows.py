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
        self.queries = 0

    def append(self, catalog, rows, now_ms):
        assert (catalog, now_ms) == ("c", rows[0]["recorded_at_ms"])
        self.rows_told += rows

    def append_once(self, catalog, row, fence, number):
        assert (catalog, fence, number) == ("c", "materialized-table-manager", row["seq"])
        self.rows_told.append(row)
        return True

    def rows(self, catalog, query):
        assert catalog == "c"
        assert "MANAGER" in query
        self.queries += 1
        return self.rows_told[-1:]


def log_and_table():
    table = Table()
    return SparkLeaseLog(table, lambda _: len(table.rows_told) - 1), table


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
    other, _ = SparkLeaseLog(table, lambda _: len(table.rows_told) - 1), None
    other.take(replace(LEASE, term=2))
    log.tell(replace(LEASE, heard_at_ms=3_000))
    assert table.queries == 1
    log.newest("c")
    assert table.queries == 2
