"""Two hosts of one table in memory, while everything happens at random, also inside of batches."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.hosting.policy import HostPhase
from tests.behaviour.hosting import BIG, EVENTS, FIRST, LIVE, ROWS, assert_equals_query, prepare
from tests.behaviour.hosting_memory import MemoryWorld
from tests.support.memory.streams import StreamBrokenError

_SEQUENCES, _THINGS = 40, 25
_KEPT = {ROWS: lambda _: True, BIG: lambda row: row[2] > 10}


class AtRandom:
    """A table, two hosts, and what may happen to them."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)  # noqa: S311 - for the order, not for secrets
        self.world = MemoryWorld()
        self.tables = self.world.tables
        prepare(self.tables)
        self.query = ROWS
        self.done: list[str] = []
        self.again()
        self.hosts = [self.world.host(), self.world.host()]

    def append(self):
        number = self.chance.randrange(100)
        self.tables.append("events", [(number, 1, number)] * self.chance.randint(1, 2))

    def update(self):
        self.world.update("events", self.some(), self.chance.randrange(100))

    def delete(self):
        self.tables.delete("events", "id", self.some())

    def optimize(self):
        self.world.rewrite("events")

    def recreate_source(self):
        self.tables.source("events", EVENTS, FIRST[: self.chance.randrange(4)])
        for _ in range(self.chance.randrange(4)):
            self.append()

    def again(self):
        self.tables.execute("DROP MATERIALIZED TABLE IF EXISTS t")
        self.tables.execute(f"CREATE MATERIALIZED TABLE t {LIVE} AS {self.query}")

    def alter(self):
        query = self.chance.choice([ROWS, BIG])
        self.tables.execute(f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} AS {query}")
        self.query = query

    def refresh(self):
        self.tables.execute("ALTER MATERIALIZED TABLE t REFRESH")

    def suspend_or_resume(self):
        status = self.tables.stored("t").definition.status
        verb = "RESUME" if status is RefreshStatus.SUSPENDED else "SUSPEND"
        self.tables.execute(f"ALTER MATERIALIZED TABLE t {verb}")

    def new_host(self):
        host = self.hosts.pop(0)
        if self.chance.random() < 0.5:  # the other half is killed, and its stream lives on
            host.table.end()
        self.hosts.append(self.world.host())

    def tick(self):
        self.chance.choice(self.hosts).table.tick()

    def batches(self):
        self.world.wait()

    def some(self):
        rows = self.tables.rows("events")
        return self.chance.choice(rows)[0] if rows else -1

    def thing(self):
        things = [self.append, self.update, self.delete, self.optimize, self.recreate_source]
        ours = [self.again, self.alter, self.refresh, self.suspend_or_resume]
        return self.chance.choice([*things, *ours, *[self.append] * 4])

    def happen(self):
        """Something happens; sometimes in the middle of the next batch."""
        thing = self.chance.choice([self.thing(), self.tick, self.batches, self.new_host])
        if self.chance.random() < 0.3:
            self.later(self.thing())
        self.done.append(thing.__name__)
        thing()

    def later(self, thing):
        def meanwhile():
            self.world.streams.meanwhile = lambda: None
            self.done.append(f"({thing.__name__})")
            thing()

        self.world.streams.meanwhile = meanwhile

    def settle(self):
        """Nothing happens any more; both hosts follow."""
        self.world.streams.meanwhile = lambda: None
        if self.tables.stored("t").definition.status is RefreshStatus.SUSPENDED:
            self.suspend_or_resume()
        self.hosts = [
            self.world.host() if host.progress.phase is HostPhase.ENDED else host
            for host in self.hosts
        ]
        for host in self.hosts:
            host.fresh()


@pytest.mark.parametrize("seed", range(_SEQUENCES))
def test_everything_at_random(seed):
    run = AtRandom(seed)
    try:
        for _ in range(_THINGS):
            run.happen()
        run.settle()
        run.append()
        run.settle()
    except AssertionError as error:
        raise AssertionError(run.done) from error
    wanted = Counter(row for row in run.tables.rows("events") if _KEPT[run.query](row))
    assert Counter(run.tables.rows("t")) == wanted, run.done
    assert_equals_query(run.tables)
    failures = {type(stream.failure) for stream in run.world.streams.started}
    assert failures <= {type(None), CommitConflictError, StreamBrokenError}, run.done
