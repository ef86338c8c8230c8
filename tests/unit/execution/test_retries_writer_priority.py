"""A statement that fills a table in parallel with a host whose batches are faster."""

from dataclasses import dataclass, field, replace

import pytest

from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from dbt.adapters.spark_mt.planning.steps import Fill
from tests.behaviour.hosting import LIVE, WIDER, assert_each_row_once, create, prepare
from tests.behaviour.hosting_memory import MemoryWorld

WAITING = [
    (JobKind.MANUAL, 0, True),
    (JobKind.MANUAL, 61, False),
    (JobKind.CONTINUOUS, 0, False),
]


@dataclass
class SlowFills:
    """A runner in which a row arrives, and a host has all the time it wants, before each fill."""

    inner: object
    world: MemoryWorld
    host: object
    phases: list = field(default_factory=list)

    def run(self, step):
        if isinstance(step, Fill):
            self.world.tables.append("events", [(100 + len(self.phases), 1, 1)])
            for _ in range(4):
                self.host.tick()
            self.phases.append(self.host.progress.phase)
        return self.inner.run(step)

    def __getattr__(self, name):
        return getattr(self.inner, name)


@dataclass
class CountingStore:
    """A store that counts how often a reader asked whether a table has changed."""

    inner: object
    looks: list

    def is_newest(self, name, version):
        self.looks.append(version)
        return self.inner.is_newest(name, version)

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.fixture
def world():
    world = MemoryWorld()
    prepare(world.tables)
    create(world.tables)
    yield world
    world.close()


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} AS {WIDER}",
        f"CREATE OR REPLACE MATERIALIZED TABLE t {LIVE} AS {WIDER}",
        f"ALTER MATERIALIZED TABLE t AS {WIDER}",
    ],
)
def test_it_loses_once_and_then_the_host_waits(world, statement):
    tables = world.tables
    host = world.host()
    host.fresh()
    ports = tables.environment
    slow = SlowFills(ports.runner, world, host)
    tables.environment = replace(ports, runner=slow)
    tables.execute(statement)
    tables.environment = ports
    assert slow.phases == [HostPhase.STREAMING, HostPhase.FOLLOWING]
    jobs = [row[3] for row in tables.execute("SHOW JOBS").rows]
    assert jobs.count("RUNNING") == 0
    tables.append("events", [(7, 7, 7)])
    host.fresh()
    assert host.progress.phase is HostPhase.STREAMING
    assert_each_row_once(tables)
    assert all(row[3] == 2 * row[2] for row in tables.rows("t"))


def record_job(tables, kind, silent_s=0):
    ports = tables.environment
    last_heartbeat_ms = ports.now_ms() - 1000 * silent_s
    table, owner = tables.name("t"), ports.execution_context.processes.owner()
    ports.execution_context.log.append(
        Job(
            "j",
            table,
            kind,
            JobStatus.RUNNING,
            last_heartbeat_ms,
            last_heartbeat_ms,
            owner,
            "ALTER",
        )
    )


@pytest.mark.parametrize(("kind", "silent_s", "waits"), WAITING)
def test_a_host_that_lost_a_commit_waits_for_a_writer_with_a_heartbeat(
    world, kind, silent_s, waits
):
    tables = world.tables
    host = world.host()
    host.fresh()
    record_job(tables, kind, silent_s)
    host.tick()
    assert host.progress.phase is HostPhase.STREAMING, "nobody has beaten it"
    tables.execute("ALTER MATERIALIZED TABLE t SET COMMENT 'c'")
    tables.append("events", [(7, 7, 7)])
    for _ in range(4):
        host.tick()
    phase = HostPhase.FOLLOWING if waits else HostPhase.STREAMING
    assert host.progress.phase is phase
    assert ((7, 7, 7) in tables.rows("t")) is not waits


def test_a_host_that_read_a_change_looks_up_no_other_writer(world):
    """A waiting statement has won against a batch; one that only runs may still lose."""
    tables = world.tables
    host = world.host()
    host.fresh()
    record_job(tables, JobKind.MANUAL)
    tables.execute(f"ALTER MATERIALIZED TABLE t AS {WIDER}")
    host.table.notice()
    host.tick()
    host.tick()
    assert host.progress.phase is HostPhase.STREAMING
    tables.append("events", [(7, 7, 7)])
    host.fresh()
    assert_each_row_once(tables)


def test_a_host_that_read_commits_of_others_looks_up_the_writer_priority(world):
    """The number may have been taken by a statement that has lost before."""
    tables = world.tables
    host = world.host()
    host.fresh()
    record_job(tables, JobKind.MANUAL)
    tables.append("events", [(7, 7, 7)])
    tables.execute("ALTER MATERIALIZED TABLE t REFRESH")
    host.table.notice()
    assert host.table.tick() == 0
    host.table.tick()
    assert host.progress.phase is HostPhase.FOLLOWING


def test_the_table_is_not_read_while_a_batch_is_written(world):
    """What the batch commits would look like a commit of another writer until it has returned."""
    tables = world.tables
    host = world.host()
    host.fresh()
    looks, is_newest = [], tables.environment.store.is_newest
    host.table._env = replace(host.table._env, store=CountingStore(host.table._env.store, looks))
    host.table._stream._env = host.table._env
    tables.append("events", [(7, 7, 7)])
    during = []

    def meanwhile():
        host.table.notice()
        host.table.tick()
        during.append((len(looks), host.progress.phase))

    world.streams.meanwhile = meanwhile
    host.tick()
    world.streams.meanwhile = lambda: None
    assert during == [(1, HostPhase.STREAMING)], "one look was before the batch"
    host.table.notice()
    host.tick()
    assert len(looks) > 1
    assert is_newest(tables.name("t"), host.table._stream._table.version)
    assert_each_row_once(tables)
