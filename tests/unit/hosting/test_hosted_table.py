"""Hosted tables on the ports in memory."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.context import DeferredRows
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.up_to_date import FULL_CHECK_MS
from dbt.adapters.spark_mt.hosting.hosted_table import HostedTable
from dbt.adapters.spark_mt.hosting.policy import HostPhase, HostPolicy, TurnGivenUpError
from dbt.adapters.spark_mt.resolution.settings import Settings
from tests.behaviour.hosting import (
    EVENTS,
    LIVE,
    ROWS,
    STATEMENTS,
    SUMS,
    Hosting,
    assert_each_row_once,
    assert_equals_query,
    create,
    fresh_host,
    new_host,
    prepare,
)
from tests.behaviour.hosting_memory import MemoryWorld


@pytest.fixture
def world():
    return MemoryWorld()


class TestHosting(Hosting):
    """Every guarantee, without an SQL engine."""


IN_BETWEEN = {
    **STATEMENTS,
    "suspend": "ALTER MATERIALIZED TABLE t SUSPEND",
    "drop": "DROP MATERIALIZED TABLE t",
}


@pytest.mark.parametrize("statement", IN_BETWEEN)
def test_a_statement_between_the_rows_of_a_batch_and_its_commit(world, statement):
    """The batch loses; the statement, or the next batch, has its rows."""
    tables = world.tables
    prepare(tables)
    clauses = LIVE if statement == "replace" else f"PARTITIONED BY (k) {LIVE}"
    host = new_host(world, clauses=clauses)
    host.fresh()
    tables.append("events", [(4, 1, 4)])
    lost = []

    def write_meanwhile():
        world.streams.meanwhile = lambda: None
        tables.execute(IN_BETWEEN[statement])
        lost.append(world.streams.started[-1])

    world.streams.meanwhile = write_meanwhile
    while not lost:
        host.tick()
    assert isinstance(lost[0].failure, CommitConflictError)
    assert lost[0].done is None
    if statement == "drop":
        assert host.reaches(HostPhase.ENDED).failures == 0
        return
    if statement == "suspend":
        host.reaches(HostPhase.SUSPENDED)
        assert (4, 1, 4) not in tables.rows("t")
        tables.execute("ALTER MATERIALIZED TABLE t RESUME")
    host.fresh()
    assert host.progress.failures == 0
    assert_each_row_once(tables)
    assert_equals_query(tables)


def test_a_table_recreated_between_the_rows_of_a_batch_and_its_commit(world):
    """The new table's fence knows nothing of the old one's numbers."""
    tables = world.tables
    prepare(tables)
    host = fresh_host(world)
    tables.append("events", [(5, 5, 5)])

    def write_meanwhile():
        world.streams.meanwhile = lambda: None
        tables.execute("DROP MATERIALIZED TABLE t")
        create(tables)

    world.streams.meanwhile = write_meanwhile
    host.fresh()
    assert_each_row_once(tables)


def test_a_stream_whose_next_records_expired(world):
    tables = world.tables
    prepare(tables)
    create(tables)
    for number in range(3):
        tables.append("events", [(4 + number, 4, 4)])
    tables.catalog.clean_log(tables.name("events"), 1)
    host = world.host()
    host.fresh()
    assert_each_row_once(tables)
    assert tables.stored("t").last_refresh.strategy == "recompute"


def test_pauses_double_up_to_a_limit():
    policy = HostPolicy(first_pause=10, longest_pause=100)
    assert [policy.pause_after(failures) for failures in range(8)] == [
        0,
        0,
        10,
        20,
        40,
        80,
        100,
        100,
    ]
    assert policy.pause_after(10**6) == 100


def test_a_host_checks_at_least_as_often_as_its_table_is_due(world):
    tables = world.tables
    prepare(tables)
    create(tables, clauses="FRESHNESS = INTERVAL '3' SECOND")
    environment = replace(tables.environment, settings=Settings)
    for look, pause in (1_000, 1_000), (60_000, 1_500):
        table = HostedTable(
            tables.name("t"),
            environment,
            Refreshes(environment),
            HostPolicy(look=look),
        )
        assert table.tick() == pause


def test_pauses_are_spread_by_chance():
    policy = HostPolicy(first_pause=1_000, spread=0.5)
    assert policy.pause_after(3, chance=0.0) == 2_000
    assert policy.pause_after(3, chance=1.0) == 1_000


def test_a_batch_and_its_table_are_registered_in_one_commit_and_then_once_a_minute(world):
    """Without a manager a stream has a row a minute, so that others see that it runs."""
    tables = world.tables
    prepare(tables)
    host = new_host(world)
    log = tables.memory.log
    tables.append("events", [(4, 1, 4)])
    before = log.commits
    host.fresh()
    host.tick()
    assert log.commits == before + 1
    for minute in range(1, 4):
        world.pass_time(59)
        host.tick()
        assert log.commits == before + minute
        world.pass_time(1)
        host.tick()
        assert log.commits == before + minute + 1
    name = tables.name("t")
    (known,) = [each for each in log.tables(name.catalog) if each.name == name]
    assert known.last_refresh_at_ms == tables.stored("t").last_refresh.started_at_ms
    assert "RUNNING" in [row[3] for row in tables.execute("SHOW JOBS").rows]


def status_of_stream(tables):
    rows = tables.execute("SHOW JOBS").rows
    return next(row[3] for row in rows if row[2] == "CONTINUOUS")


def test_a_stream_without_heartbeats_of_its_driver_has_failed(world):
    tables = world.tables
    prepare(tables)
    host = new_host(world)
    tables.append("events", [(4, 1, 4)])
    host.fresh()
    host.tick()
    world.pass_time(179)
    assert status_of_stream(tables) == "RUNNING"
    world.pass_time(2)
    assert status_of_stream(tables) == "FAILED"


def test_a_stream_whose_process_is_gone_has_failed_at_once(world):
    tables = world.tables
    prepare(tables)
    host = new_host(world)
    tables.append("events", [(4, 1, 4)])
    host.fresh()
    host.tick()
    tables.memory.processes.gone.add(tables.memory.processes.owner())
    assert status_of_stream(tables) == "FAILED"


def test_a_late_row_of_a_batch_does_not_hide_what_a_statement_did_since(world):
    tables = world.tables
    prepare(tables)
    host = new_host(world)
    tables.append("events", [(4, 1, 4)])
    host.fresh()
    host.tick()
    tables.append("events", [(5, 1, 5)])
    host.fresh()
    world.pass_time(5)
    tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    name = tables.name("t")
    world.pass_time(60)
    host.table.end()
    (known,) = [t for t in tables.memory.log.tables(name.catalog) if t.name == name]
    assert known.status is RefreshStatus.SUSPENDED


class Analyses:
    """A host of a table that is computed again when its source changes, and what it analysed."""

    def __init__(self, world):
        self.tables, self.world, self.count = world.tables, world, 0
        prepare(self.tables)
        query = "SELECT count(*) AS n FROM events"
        self.tables.learn(query, "n BIGINT", lambda rows: [(len(rows["events"]),)])
        self.tables.execute(f"CREATE MATERIALIZED TABLE n {LIVE} AS {query}")
        environment = self.tables.environment
        self.inner = environment.stored_analyzer
        world.ports = lambda: replace(environment, stored_analyzer=self)
        self.host = world.host("n")
        self.tick(3)

    def analyze_stored(self, definition):
        self.count += 1
        return self.inner.analyze_stored(definition)

    def tick(self, times):
        """Return how often the query was analysed meanwhile."""
        before = self.count
        for _ in range(times):
            self.host.tick()
        return self.count - before


@pytest.fixture
def analyses(world):
    return Analyses(world)


def test_a_table_that_is_up_to_date_is_not_analysed_again(analyses):
    assert analyses.tick(50) == 0
    checked_at_ms = analyses.host.progress.checked_at_ms
    analyses.world.pass_time(1)
    assert analyses.tick(1) == 0
    assert analyses.host.progress.checked_at_ms > checked_at_ms, "it knows that nothing is missing"


def test_an_unchanged_table_follows_its_source_at_the_next_check(analyses):
    for number in range(4, 7):
        analyses.tables.append("events", [(number, 1, 1)])
        analyses.tick(1)
        assert analyses.tables.rows("n") == [(number,)]
        analyses.tick(1)
        assert analyses.tick(5) == 0


@pytest.mark.parametrize("change", ["overwrite", "rewrite", "replace"])
def test_an_unchanged_table_notices_every_change_of_its_source(analyses, change):
    ways = {
        "overwrite": lambda world: world.overwrite("events", [(9, 9, 9)]),
        "rewrite": lambda world: world.rewrite("events"),
        "replace": lambda world: world.replace("events", EVENTS, [(9, 9, 9)]),
    }
    ways[change](analyses.world)
    assert analyses.tick(1) >= 1
    assert analyses.tables.rows("n") == [(3 if change == "rewrite" else 1,)]


def test_an_unchanged_table_is_suspended_and_resumed(analyses):
    analyses.tables.execute("ALTER MATERIALIZED TABLE n SUSPEND")
    analyses.tick(1)
    assert analyses.host.progress.phase is HostPhase.SUSPENDED
    analyses.tables.execute("ALTER MATERIALIZED TABLE n RESUME")
    assert analyses.tick(2) >= 1
    assert analyses.host.progress.phase is HostPhase.FOLLOWING


def test_an_unchanged_table_is_checked_in_full_periodically(analyses):
    analyses.world.pass_time(FULL_CHECK_MS / 1000)
    assert analyses.tick(1) >= 1
    assert analyses.tick(5) == 0


def test_an_unchanged_table_is_dropped(analyses):
    analyses.tables.execute("DROP MATERIALIZED TABLE n")
    analyses.tick(1)
    assert analyses.host.progress.phase is HostPhase.ENDED


def test_a_registry_that_cannot_be_written_stops_no_stream(world):
    tables = world.tables
    prepare(tables)
    create(tables)
    environment = tables.environment
    written = []

    def fail(*jobs, tables):
        written.append((jobs, tables))
        raise OSError

    execution_context = replace(
        environment.execution_context, deferred=DeferredRows(fail, environment.now_ms)
    )
    world.ports = lambda: replace(environment, execution_context=execution_context)
    host = world.host()
    tables.append("events", [(4, 1, 4)])
    host.fresh()
    host.tick()
    assert written
    tables.append("events", [(5, 1, 5)])
    host.fresh()
    assert host.progress.phase is HostPhase.STREAMING
    host.table.end()
    assert host.progress.phase is HostPhase.ENDED
    assert_each_row_once(tables)


class Recorded:
    """Turns that come at once, and the deadlines of those that asked."""

    def __init__(self):
        self.due, self.gives_up, self.looks = [], [], 0

    @contextmanager
    def turn(self, due_ms, gives_up):
        self.due.append(due_ms)
        self.gives_up.append(gives_up)
        if gives_up():
            raise TurnGivenUpError
        yield

    def look_again(self):
        self.looks += 1


def test_a_refresh_is_due_when_the_table_would_be_late(world):
    tables = world.tables
    prepare(tables)
    create(tables, SUMS, clauses="FRESHNESS = INTERVAL '3' SECOND")
    environment = replace(tables.environment, settings=Settings)
    turns = Recorded()
    table = HostedTable(tables.name("t"), environment, Refreshes(environment), HostPolicy(), turns)
    table.tick()
    fresh_ms = table.progress.checked_at_ms
    assert turns.due == [3_000]  # nothing is known of it yet, so it comes before all others
    world.pass_time(2)
    tables.append("events", [(4, 1, 4)])
    table.tick()
    assert turns.due[1:] == [fresh_ms + 3_000]
    assert tables.rows("t") == [(1, 34), (2, 30)]


def test_a_stopping_host_waits_for_no_slot(world):
    tables = world.tables
    prepare(tables)
    create(tables, SUMS)
    environment, turns = replace(tables.environment, settings=Settings), Recorded()
    table = HostedTable(tables.name("t"), environment, Refreshes(environment), HostPolicy(), turns)
    before = tables.stored("t").seq
    tables.append("events", [(4, 1, 4)])
    table.leave()
    assert turns.looks == 1
    assert table.tick() == 0
    assert (table.progress.failures, tables.stored("t").seq) == (0, before)


def hosted(tables, compact_after):
    environment = replace(tables.environment, settings=Settings)
    policy = HostPolicy(compact_after=compact_after)
    return HostedTable(tables.name("t"), environment, Refreshes(environment), policy)


def commits(world, table, count):
    """Let a host make so many commits."""
    tables = world.tables
    before = table.progress.batches
    for number in range(100):
        if table.progress.batches >= before + count:
            return
        world.pass_time(60)
        tables.append("events", [(100 + number, 1, 1)])
        world.streams.run_batches()
        table.tick()


@pytest.mark.parametrize("query", [SUMS, ROWS], ids=["refreshes", "batches of a stream"])
def test_small_files_are_merged_after_so_many_commits_while_the_table_is_busy(world, query):
    tables = world.tables
    prepare(tables)
    create(tables, query)
    table, done = hosted(tables, 5), tables.memory.storage.done
    merged = ("compact", "t", tables.stored("t").definition.table_id)
    commits(world, table, 4)
    assert (table.progress.batches, done) == (4, [])
    commits(world, table, 1)
    table.tick()
    assert done == [merged]
    commits(world, table, 5)
    table.tick()
    assert done == [merged] * 2
    world.pass_time(60)
    for _ in range(4):
        table.tick()
    table.end()
    assert_equals_query(tables)


def test_a_failed_compaction_fails_no_refresh(world, caplog):
    tables = world.tables
    prepare(tables)
    create(tables, SUMS)

    def broken(*_):
        raise ConnectionError

    table, tables.memory.storage.compact = hosted(tables, 1), broken
    commits(world, table, 1)
    assert (table.progress.failures, table.progress.phase) == (0, HostPhase.FOLLOWING)
    assert "was not compacted" in caplog.text
    assert_equals_query(tables)


def paced(world, name):
    environment = replace(world.tables.environment, settings=Settings)
    return HostedTable(world.tables.name(name), environment, Refreshes(environment))


def test_a_table_that_is_refreshed_fast_is_checked_less_often(world):
    tables = world.tables
    prepare(tables)
    create(tables, SUMS, clauses="FRESHNESS = INTERVAL '100' SECOND")
    table, pauses = paced(world, "t"), []
    for key in range(4, 10):
        tables.append("events", [(key, 1, 4)])
        pauses.append(table.tick())
    assert pauses == [50_000] * 4 + [90_000] * 2


def test_a_table_over_a_table_leaves_it_its_freshness(world):
    tables = world.tables
    prepare(tables)
    create(tables, clauses="FRESHNESS = INTERVAL '30' SECOND")
    query = "SELECT k, count(DISTINCT v) AS n FROM t GROUP BY k"
    tables.learn(query, "k INT; n BIGINT", lambda rows: [(1, len(rows["t"]))])
    tables.execute(
        "CREATE MATERIALIZED TABLE over FRESHNESS = INTERVAL '100' SECOND "
        f"REFRESH_MODE = CONTINUOUS AS {query}"
    )
    table, pauses = paced(world, "over"), []
    for key in range(4, 10):
        tables.append("events", [(key, 1, 4)])
        Refreshes(tables.environment).carry_out(tables.name("t"), RequestedRefresh())
        pauses.append(table.tick())
    assert pauses == [50_000] * 4 + [60_000] * 2


def test_a_stream_is_started_again_with_a_longer_interval(world):
    tables = world.tables
    prepare(tables)
    create(tables, clauses="FRESHNESS = INTERVAL '100' SECOND")
    table = paced(world, "t")
    for key in range(4, 30):
        tables.append("events", [(key, 1, 4)])
        table.tick()
        world.streams.run_batches()
        world.pass_time(100)
    assert [stream._task.every_ms for stream in world.streams.started] == [50_000, 90_000]
    table.tick()
    assert table.progress.failures == 0
    assert_each_row_once(tables)
    assert_equals_query(tables)


@pytest.mark.parametrize("is_streaming", [True, False])
def test_a_source_whose_columns_change_their_types(world, is_streaming):
    """The stream ends, or does not resume: all rows are computed from the new types."""
    tables = world.tables
    prepare(tables)
    typed = "SELECT id, concat('#', v) AS label FROM events"

    def labels(relations):
        (type_,) = [c.type for c in relations["events"].columns if c.name == "v"]
        return [(row[0], f"{type_}:{row[2]}") for row in relations["events"]]

    tables.learn(typed, "id INT; label STRING", labels)
    tables.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS {typed}")
    host = world.host()
    if is_streaming:
        host.fresh()
    tables.catalog.change(
        tables.name("events"),
        "CHANGE COLUMN",
        lambda s: replace(
            s,
            columns=tuple(replace(c, type="BIGINT") if c.name == "v" else c for c in s.columns),
        ),
    )
    tables.append("events", [(40, 1, 4)])
    host.fresh()
    found = tables.rows("t")
    assert {label.partition(":")[0] for _, label in found} == {"BIGINT"}
    assert (40, "BIGINT:4") in found


VERIFIED = f"WITH ('verify' = '1') {LIVE}"


def verifications(tables):
    """What the verifications of the table found, the oldest first."""
    jobs = tables.memory.log.jobs("spark_catalog", 0)
    return [job.verification.result.value for job in jobs if job.verification][::-1]


@pytest.mark.parametrize(("query", "clauses"), [(ROWS, VERIFIED), (SUMS, VERIFIED)])
def test_what_a_host_commits_is_verified(world, query, clauses):
    tables = world.tables
    prepare(tables)
    fresh_host(world, query, clauses=clauses)
    assert set(verifications(tables)) == ({"equal"} if query == ROWS else set())


def test_a_stream_continues_after_a_repair(world):
    tables = world.tables
    prepare(tables)
    host = fresh_host(world, clauses=VERIFIED)
    tables.delete("t", "id", 1)
    tables.append("events", [(5, 5, 5)])
    host.fresh()
    assert verifications(tables)[-1] == "different"
    assert_each_row_once(tables)
    tables.append("events", [(6, 6, 6)])
    host.fresh()
    assert verifications(tables)[-1] == "equal"
    assert_each_row_once(tables)
