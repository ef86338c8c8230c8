"""A process that hosts tables and dies, JVM and all, each table in another phase of a batch.

`python -m tests.faults.hosts <directory> <seed>` first checks what the process before it left,
follows every table up to its source, and then dies; with an empty seed it only does the
former. Each table's batch is held at its own moment until all are there, so that one death cuts
as many batches short as there are tables.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.execution.checks import difference
from dbt.adapters.spark_mt.spark.environment import SparkEnvironment
from dbt.adapters.spark_mt.spark.launch.session import classic_spark
from dbt.adapters.spark_mt.spark.streams import batches
from tests.faults.jvm import die
from tests.faults.server import CONFS
from tests.faults.victims import dice

if TYPE_CHECKING:
    from random import Random

    from pyspark.sql import SparkSession

KILLED = "killed.txt"
AT_WORK = "while Spark writes"
PHASES = (
    "before the batch",
    "before the commit",
    AT_WORK,
    "after the commit",
    "after the checkpoint",
)
_SCHEMA = "hosted"
_TABLES = tuple(f"t{number}" for number in range(len(PHASES)))
_FRESH_S = 120
_LATER_S = 0.4
_LIVE = "FRESHNESS = INTERVAL '1' SECOND"
_STATEMENTS = (
    "",
    "ALTER MATERIALIZED TABLE {} REFRESH",
    "ALTER MATERIALIZED TABLE {} SET COMMENT 'c'",
    f"CREATE OR ALTER MATERIALIZED TABLE {{}} {_LIVE} AS SELECT id, v, v + 1 AS w FROM s_{{}}",
)


class Moments:
    """Holds the batch of each table at the moment that is planned for it.

    Args:
        planned: The phase by table.
        later_s: How long Spark is at work before the process dies.
    """

    def __init__(self, planned: dict[str, str], later_s: float) -> None:
        self._planned = planned
        self._later_s = later_s
        self._held = {name: Event() for name in planned}
        self._all_others_are = Event()

    def reached(self, name: str, phase: str) -> None:
        """Never return at the planned moment, except where Spark shall be at work."""
        if self._planned.get(name) != phase:
            return
        self._held[name].set()
        if phase == AT_WORK:
            self._all_others_are.wait()
            Timer(self._later_s, die).start()
        else:
            Event().wait()

    def wait_and_die(self) -> None:
        """Wait until every batch is held, and let the last one begin to write."""
        for name, held in self._held.items():
            assert held.wait(_FRESH_S), (name, self._planned[name])
        self._all_others_are.set()
        Event().wait()


def watch(moments: Moments) -> None:
    """Let all batches of this process report where they are."""
    write, fenced = batches.BatchWriter.write, batches.fenced

    def watched_write(
        writer: Any, frame: Any, number: int, context: Any, table: Any
    ) -> batches.BatchDone | None:
        name = table.name.name
        moments.reached(name, "before the batch")
        done = write(writer, frame, number, context, table)
        moments.reached(name, "after the commit")
        noted = Path(context.checkpoint.path.removeprefix("file:")) / "commits" / str(number)
        Timer(0, partial(_when_there, noted, partial(moments.reached, name, PHASES[-1]))).start()
        return done

    def watched_fenced(
        tables: Any, session: Any, name: TableName, metadata: Any, commit: Any
    ) -> int:
        moments.reached(name.name, "before the commit")
        moments.reached(name.name, AT_WORK)
        return fenced(tables, session, name, metadata, commit)

    batches.BatchWriter.write = watched_write  # type: ignore[method-assign]
    batches.fenced = watched_fenced


def _when_there(path: Path, then: Any) -> None:
    tick = Event()
    while not path.exists():
        tick.wait(0.01)
    then()


def set_up(spark: SparkSession) -> None:
    """Make sources and tables, in the first process."""
    spark.sql(f"CREATE SCHEMA {_SCHEMA}")
    spark.sql(f"USE {_SCHEMA}")
    tables = MaterializedTables(spark)
    for name in _TABLES:
        tables.sql(f"CREATE TABLE s_{name} (id INT, v INT) USING delta")
        tables.execute(f"CREATE MATERIALIZED TABLE {name} {_LIVE} AS SELECT id, v FROM s_{name}")


def settle(spark: SparkSession, chance: Random) -> MaterializedTables:
    """Assert what must hold after a death, and bring every table up to its source."""
    tables, environment = MaterializedTables(spark), SparkEnvironment(spark).value
    for name in _TABLES:
        found = difference(environment, TableName(name), 5)
        assert (found.rows, found.problem) == ((), ""), name
    name = chance.choice(_TABLES)
    if statement := chance.choice(_STATEMENTS):
        tables.execute(statement.format(name, name))
    for name in _TABLES:
        tables.start(name)
    for name in _TABLES:
        tables.await_fresh(name, _FRESH_S)
        assert _counted(spark, name) == _counted(spark, f"s_{name}"), name
    return tables


def run_and_die(spark: SparkSession, directory: Path, chance: Random) -> None:
    """Give every table a batch, and die in the middle of them."""
    phases = dict(zip(_TABLES, chance.sample(PHASES, len(PHASES)), strict=True))
    moments = Moments(phases, chance.uniform(0, _LATER_S))
    (directory / KILLED).write_text("\n".join(phases.values()))
    watch(moments)
    for name in _TABLES:
        first = chance.randrange(10**6)
        spark.sql(f"INSERT INTO s_{name} SELECT id, id * 2 FROM range({first}, {first + 3})")
    moments.wait_and_die()


def _counted(spark: SparkSession, name: str) -> Counter[tuple[int, int]]:
    return Counter((row["id"], row["v"]) for row in spark.table(name).collect())


def main(directory: Path, seed: str) -> None:
    """Do what the module says."""
    own = {"spark.master": "local[2]", "spark.sql.catalogImplementation": "hive"}
    spark = classic_spark({**CONFS, **own}, directory, directory / "spark.log")
    if not spark.catalog.databaseExists(_SCHEMA):
        set_up(spark)
    spark.sql(f"USE {_SCHEMA}")
    chance = dice(seed)
    tables = settle(spark, chance)
    if seed:
        run_and_die(spark, directory, chance)
    tables.stop_all()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
