"""Guarantees of a host: each source row arrives once, whatever happens at the same time.

A subclass gives the fixture `world`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.checks import difference
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from dbt.adapters.spark_mt.planning.steps import HOSTED

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables
    from tests.behaviour.hosting_world import Hosted, World

EVENTS = "id INT; k INT; v INT"
FIRST = [(1, 1, 10), (2, 1, 20), (3, 2, 30)]
ROWS = "SELECT id, k, v FROM events"
WIDER = "SELECT id, k, v, v * 2 AS twice FROM events"
BIG = "SELECT id, k, v FROM events WHERE v > 10"
SUMS = "SELECT k, sum(v) AS total FROM events GROUP BY k"
NAMED = (
    "SELECT id, name FROM events JOIN names FOR SYSTEM_TIME AS OF proctime() ON events.k = names.k"
)
LIVE = "FRESHNESS = INTERVAL '1' MINUTE"
STATEMENTS = {
    "another query": f"CREATE OR ALTER MATERIALIZED TABLE t PARTITIONED BY (k) {LIVE} AS {WIDER}",
    "alter as": f"ALTER MATERIALIZED TABLE t AS {WIDER}",
    "replace": f"CREATE OR REPLACE MATERIALIZED TABLE t {LIVE} AS {WIDER}",
    "freshness": "ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '5' SECOND",
    "comment": "ALTER MATERIALIZED TABLE t SET COMMENT 'c'",
    "refresh": "ALTER MATERIALIZED TABLE t REFRESH",
    "partition": "ALTER MATERIALIZED TABLE t REFRESH PARTITION (k = 1)",
}
CHANGES = {
    "update": lambda w: w.update("events", 1, 99),
    "delete": lambda w: w.tables.delete("events", "id", 2),
    "overwrite": lambda w: w.overwrite("events", [(7, 7, 7)]),
    "replace": lambda w: w.replace("events", EVENTS, [(7, 7, 7), (7, 7, 7)]),
    "drop and create": lambda w: w.tables.source("events", EVENTS, [(8, 8, 8)]),
}


def prepare(tables: Tables) -> None:
    """Create the source and record what the queries return."""
    tables.source("events", EVENTS, FIRST)
    tables.learn(ROWS, EVENTS, lambda r: [e[:3] for e in r["events"]])
    tables.learn(WIDER, f"{EVENTS}; twice INT", lambda r: [(*e, e[2] * 2) for e in r["events"]])
    tables.learn(BIG, EVENTS, lambda r: [e for e in r["events"] if e[2] > 10])
    tables.learn(SUMS, "k INT; total BIGINT", _sums)
    tables.learn(NAMED, "id INT; name STRING", _named)
    tables.learn_check("v < 1000", lambda row: row["v"] < 1000)


def _sums(rows):
    totals = Counter()
    for _, k, v in rows["events"]:
        totals[k] += v
    return totals.items()


def _named(rows):
    names = dict(rows["names"])
    return [(id_, names[k]) for id_, k, _ in rows["events"] if k in names]


def create(tables: Tables, query: str = ROWS, columns: str = "", clauses: str = LIVE) -> None:
    """Create the table `t`."""
    tables.execute(f"CREATE MATERIALIZED TABLE t {columns} {clauses} AS {query}")


def new_host(world: World, query: str = ROWS, columns: str = "", clauses: str = LIVE) -> Hosted:
    """Create the table `t` and return a host of it, which has done nothing yet."""
    create(world.tables, query, columns, clauses)
    return world.host()


def fresh_host(world: World, query: str = ROWS, columns: str = "", clauses: str = LIVE) -> Hosted:
    """Create the table `t` with a host that has refreshed it with one more row."""
    host = new_host(world, query, columns, clauses)
    world.tables.append("events", [(4, 4, 4)])
    host.fresh()
    return host


def assert_each_row_once(tables: Tables, name: str = "t") -> None:
    """Assert that each row of the source is in the table as often as in the source."""
    found = Counter(row[:3] for row in tables.rows(name))
    assert found == Counter(row[:3] for row in tables.rows("events"))


def assert_equals_query(tables: Tables) -> None:
    """Assert that the table `t` holds its query over the positions that it names."""
    tables.forget()
    found = difference(tables.environment, TableName("t"), 5)
    assert (found.rows, found.problem) == ((), "")


class Hosting:
    """The guarantees."""

    @pytest.fixture(autouse=True)
    def _prepared(self, world):
        prepare(world.tables)

    def test_every_row_arrives_once(self, world):
        tables = world.tables
        host = new_host(world)
        host.fresh()
        for rows in [(4, 4, 4), (4, 4, 4)], [(5, 5, 5)]:
            tables.append("events", rows)
            host.fresh()
        assert_each_row_once(tables)
        assert (host.progress.batches, host.progress.rows) == (2, 3)
        stored = tables.stored("t")
        assert (stored.seq, stored.last_refresh.trigger) == (3, HOSTED)
        assert stored.last_refresh.strategy == "append"

    def test_columns_of_the_source_that_move(self, world):
        tables = world.tables
        tables.learn_star("SELECT * FROM events", lambda r: r["events"])
        host = fresh_host(world, "SELECT * FROM events")
        tables.move_column("events", "v", None)
        tables.append("events", [(50, 5, 6)])
        host.fresh()
        tables.append("events", [(70, 7, 8)])
        host.fresh()
        assert tables.rows("t") == [*FIRST, (4, 4, 4), (5, 6, 50), (7, 8, 70)]
        assert_equals_query(tables)

    def test_a_stream_starts_after_rows_that_exist(self, world):
        tables = world.tables
        create(tables)
        tables.append("events", [(4, 4, 4)])
        tables.append("events", [(5, 5, 5)])
        host = world.host()
        host.fresh()
        assert host.progress.phase is HostPhase.STREAMING
        assert_each_row_once(tables)

    @pytest.mark.parametrize("change", CHANGES)
    def test_a_source_that_no_stream_can_follow(self, world, change):
        tables = world.tables
        host = fresh_host(world)
        CHANGES[change](world)
        host.fresh()
        assert_each_row_once(tables)
        tables.append("events", [(5, 5, 5), (5, 5, 5)])
        host.fresh()
        assert_each_row_once(tables)
        assert (host.progress.phase, host.progress.problem) == (HostPhase.STREAMING, "")

    @pytest.mark.parametrize("change", CHANGES)
    def test_a_source_that_changed_between_two_checks(self, world, change):
        tables = world.tables
        host = fresh_host(world)
        host.table.end()
        CHANGES[change](world)
        for number in range(3):
            tables.append("events", [(number, 5, 5)])
        later = world.host()
        later.fresh()
        assert_each_row_once(tables)
        tables.append("events", [(6, 6, 6)])
        later.fresh()
        assert_each_row_once(tables)

    def test_files_that_are_rewritten_are_no_change(self, world):
        tables = world.tables
        host = fresh_host(world)
        world.rewrite("events")
        tables.append("events", [(5, 5, 5)])
        host.fresh()
        assert_each_row_once(tables)
        assert host.progress.rows == 2

    def test_a_source_with_a_new_column(self, world):
        tables = world.tables
        host = fresh_host(world)
        world.add_column("events", "note", "STRING")
        tables.append("events", [(5, 5, 5, "x")])
        host.fresh()
        tables.append("events", [(6, 6, 6, "y")])
        host.fresh()
        assert_each_row_once(tables)

    def test_suspending_and_resuming(self, world):
        tables = world.tables
        host = fresh_host(world)
        tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        tables.append("events", [(5, 5, 5)])
        assert host.reaches(HostPhase.SUSPENDED).problem
        host.tick()
        host.tick()
        assert (5, 5, 5) not in tables.rows("t")
        tables.execute("ALTER MATERIALIZED TABLE t RESUME")
        tables.append("events", [(6, 6, 6)])
        host.fresh()
        assert_each_row_once(tables)
        assert host.progress.problem == ""

    @pytest.mark.parametrize("statement", STATEMENTS)
    def test_statements_in_parallel_with_the_host(self, world, statement):
        tables = world.tables
        clauses = LIVE if statement == "replace" else f"PARTITIONED BY (k) {LIVE}"
        host = new_host(world, clauses=clauses)
        tables.append("events", [(4, 1, 4)])
        host.fresh()
        tables.append("events", [(5, 1, 5)])
        tables.execute(STATEMENTS[statement])
        tables.append("events", [(6, 1, 6)])
        host.fresh()
        tables.append("events", [(7, 1, 7)])
        host.fresh()
        assert_each_row_once(tables)
        assert_equals_query(tables)

    def test_a_table_that_is_renamed(self, world):
        tables = world.tables
        host = fresh_host(world)
        world.rename("t", "u")
        tables.append("events", [(5, 5, 5)])
        assert conditions.NOT_FOUND.name in host.reaches(HostPhase.ENDED).problem
        assert host.tick() == -1
        world.host("u").fresh()
        assert_each_row_once(tables, "u")

    def test_a_table_that_is_dropped(self, world):
        tables = world.tables
        host = fresh_host(world)
        tables.execute("DROP MATERIALIZED TABLE t")
        assert conditions.NOT_FOUND.name in host.reaches(HostPhase.ENDED).problem
        assert host.tick() == -1

    def test_a_recreated_table(self, world):
        tables = world.tables
        host = fresh_host(world)
        tables.execute("DROP MATERIALIZED TABLE t")
        create(tables, BIG)
        tables.append("events", [(5, 5, 5), (50, 5, 50)])
        for _ in range(40):
            world.wait()  # the stream of the table before is still there
        host.fresh()
        assert tables.rows("t") == [(2, 1, 20), (3, 2, 30), (50, 5, 50)]
        assert_equals_query(tables)

    def test_rows_that_break_a_rule(self, world):
        tables = world.tables
        host = fresh_host(world, columns="(CHECK (v < 1000))")
        before = tables.rows("t")
        tables.append("events", [(9, 9, 5000)])
        host.reaches(HostPhase.FAILING)
        assert conditions.CONSTRAINT_VIOLATED.name in host.progress.problem
        pauses = [host.tick() for _ in range(3)]
        assert pauses == [1_000, 2_000, 4_000]
        assert (host.progress.failures, tables.rows("t")) == (4, before)
        tables.delete("events", "id", 9)
        host.fresh()
        assert (host.progress.failures, host.progress.problem) == (0, "")
        tables.append("events", [(5, 5, 5)])
        host.fresh()
        assert_each_row_once(tables)

    def test_a_source_that_is_dropped_and_comes_back(self, world):
        tables = world.tables
        host = fresh_host(world)
        before = tables.rows("t")
        tables.drop("events")
        assert host.reaches(HostPhase.FAILING).problem
        assert tables.rows("t") == before
        tables.source("events", EVENTS, [(8, 8, 8)])
        host.fresh()
        tables.append("events", [(5, 5, 5)])
        host.fresh()
        assert_each_row_once(tables)
        assert host.progress.failures == 0

    def test_two_hosts_of_one_table(self, world):
        tables = world.tables
        create(tables)
        hosts = world.host(), world.host()
        for number in range(4):
            tables.append("events", [(10 + number, 1, 1)])
            for host in hosts:
                host.fresh()
            assert_each_row_once(tables)

    def test_a_host_that_has_ended_commits_nothing(self, world):
        tables = world.tables
        host = fresh_host(world)
        host.table.end()
        tables.append("events", [(5, 5, 5)])
        world.wait()
        assert (5, 5, 5) not in tables.rows("t")
        world.host().fresh()
        assert_each_row_once(tables)

    def test_a_baseline_without_a_key(self, world):
        tables = world.tables
        host = fresh_host(world, clauses=f"{LIVE} START_MODE = FROM_NOW")
        assert tables.rows("t") == [(4, 4, 4)]
        tables.delete("events", "id", 1)
        problem = host.reaches(HostPhase.SUSPENDED).problem
        definition = tables.stored("t").definition
        assert definition.status is RefreshStatus.SUSPENDED
        assert problem == definition.status_reason != ""
        assert tables.rows("t") == [(4, 4, 4)]

    def test_a_query_that_no_stream_can_compute_is_refreshed(self, world):
        tables = world.tables
        host = new_host(world, SUMS)
        host.tick()
        seq = tables.stored("t").seq
        host.tick()
        assert (tables.stored("t").seq, host.progress.batches) == (seq, 0)
        tables.append("events", [(4, 1, 4)])
        assert host.fresh().phase is HostPhase.FOLLOWING
        assert tables.rows("t") == [(1, 34), (2, 30)]
        assert host.progress.batches == 1

    def test_tables_that_are_looked_up(self, world):
        tables = world.tables
        tables.source("names", "k INT; name STRING", [(1, "one"), (2, "two")])
        host = new_host(world, NAMED)
        tables.append("events", [(4, 2, 4)])
        host.fresh()
        tables.delete("names", "k", 2)
        tables.append("names", [(2, "TWO")])
        tables.append("events", [(5, 2, 5)])
        host.fresh()
        old = [(1, "one"), (2, "one"), (3, "two"), (4, "two")]
        assert tables.rows("t") == [*old, (5, "TWO")]

    def test_a_stream_is_one_job(self, world):
        tables = world.tables
        host = new_host(world)
        for number in range(2):
            tables.append("events", [(4 + number, 4, 4)])
            host.fresh()
        host.tick()
        assert _jobs(tables)[0] == [("RUNNING", None)]
        host.table.end()
        assert _jobs(tables)[0] == [("FINISHED", 2)]

    def test_a_batch_that_fails_is_a_job_that_failed(self, world):
        tables = world.tables
        host = fresh_host(world, columns="(CHECK (v < 1000))")
        tables.append("events", [(9, 9, 5000)])
        host.reaches(HostPhase.FAILING)
        recorded, errors = _jobs(tables)
        assert recorded[0][0] == "FAILED"
        assert conditions.CONSTRAINT_VIOLATED.name in errors[0]

    @pytest.mark.parametrize("later", [False, True])
    def test_nothing_follows_a_table_in_mode_full(self, world, later):
        tables = world.tables
        host = new_host(world, clauses=LIVE if later else f"{LIVE} REFRESH_MODE = FULL")
        if later:
            tables.append("events", [(4, 4, 4)])
            host.fresh()
            tables.execute("ALTER MATERIALIZED TABLE t SET REFRESH_MODE = FULL")
        assert conditions.NOT_CONTINUOUS.name in host.reaches(HostPhase.ENDED).problem
        assert host.tick() == -1


def _jobs(tables: Tables):
    """Status and rows, and errors, of the jobs of hosts for the table t, the newest first."""
    tables.forget()
    name = str(tables.name("t"))
    found = [
        row for row in tables.execute("SHOW JOBS").rows if row[1] == name and row[2] == "CONTINUOUS"
    ]
    return [(row[3], row[6]) for row in found], [row[7] for row in found]
