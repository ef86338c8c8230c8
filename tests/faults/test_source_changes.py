"""Another writer drops or replaces a table or a source in the middle of a statement."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from tests.behaviour.suite import SUMS, WIDER
from tests.faults.boundaries import BEFORE, watched
from tests.faults.checks import assert_nothing_is_left, look, rows_now
from tests.faults.plans import PLANS
from tests.faults.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from tests.faults.boundaries import Boundary

CHANGING = [name for name, case in PLANS.items() if len(case.before) > 2 and name != "drop"]


@pytest.mark.parametrize("name", CHANGING)
def test_the_table_is_dropped_before_each_side_effect(name, server):
    """What is gone stays gone, unless the statement makes tables; its name can be used again."""
    case = PLANS[name]
    scene, other = Scene(server.session(), server.warehouse, case), server.session()
    effects = []

    def run(_):
        with watched(scene.session, effects.append) as tables:
            tables.execute(case.statement)

    leads = scene.undisturbed(run)
    makes = leads.rows[1:] if case.statement.startswith("CREATE") else ()
    for turn in range(sum(effect.side == BEFORE for effect in effects)):
        schema = scene.set()
        at = iter(range(100))

        def reached(boundary, at=at, turn=turn, schema=schema):
            if boundary.side == BEFORE and next(at) == turn:
                other.sql(f"DROP TABLE IF EXISTS {schema}.t")

        with watched(scene.session, reached) as tables, suppress(MaterializedTableError):
            tables.execute(case.statement)
        assert rows_now(scene.session) in (None, *makes), f"{name}: dropped before effect {turn}"
        tables = scene.tables()
        tables.execute(f"CREATE OR REPLACE MATERIALIZED TABLE t AS {SUMS}")
        assert look(tables, schema).rows == sorted(
            tuple(row) for row in scene.session.sql(SUMS).collect()
        )
        scene.clear(schema)


SLOW = (
    "SELECT k, sum(amount) AS total FROM (SELECT /*+ REPARTITION(8) */ k, amount, "
    "count(*) OVER (PARTITION BY k) AS n FROM orders CROSS JOIN range(300000)) "
    "WHERE n > 0 GROUP BY k"
)
CHANGES = {
    "dropped": ("DROP TABLE {schema}.orders",),
    "made anew": (
        "DROP TABLE {schema}.orders",
        "CREATE TABLE {schema}.orders (k INT, day STRING, amount INT) USING delta",
        "INSERT INTO {schema}.orders VALUES (7, 'x', 7)",
    ),
    "replaced": (
        "CREATE OR REPLACE TABLE {schema}.orders USING delta AS SELECT 7 AS k, 7 AS amount",
    ),
    "other columns": ("CREATE OR REPLACE TABLE {schema}.orders USING delta AS SELECT 7 AS x",),
}


@pytest.fixture
def tables(session, schema, server) -> Iterator[MaterializedTables]:
    """A table whose refresh takes a while and has a new row to see; in the end nothing is left."""
    tables = MaterializedTables(session)
    tables.sql("CREATE TABLE orders (k INT, day STRING, amount INT) USING delta")
    tables.sql("INSERT INTO orders VALUES (1, 'a', 5), (2, 'a', 6)")
    tables.execute(f"CREATE MATERIALIZED TABLE t AS {SLOW}")
    tables.sql("INSERT INTO orders VALUES (3, 'a', 1)")
    yield tables
    assert_nothing_is_left(tables, schema, server.warehouse / f"{schema}.db")


class SourceChange:
    """Changes the source once a refresh is at the point of its commit.

    Args:
        session: Of its own.
        statements: What it does.
        while_spark_reads: Whether it waits until Spark is at work.
    """

    def __init__(
        self, session: SparkSession, statements: Iterable[str], *, while_spark_reads: bool
    ) -> None:
        self._session = session
        self._statements = statements
        self._waits = while_spark_reads
        self._thread = Thread(target=self._run)

    def reached(self, boundary: Boundary) -> None:
        """Begin, and be done with it before the commit unless Spark is to read meanwhile."""
        if (boundary.step, boundary.side) == ("Fill", BEFORE):
            self._thread.start()
            if not self._waits:
                self.join()

    def join(self) -> None:
        """Wait until it has done it."""
        self._thread.join()

    def _run(self) -> None:
        if self._waits:
            sleep(0.7)  # nothing to wait for: Spark does not report when it reads a file
        for statement in self._statements:
            self._session.sql(statement)


@pytest.mark.parametrize("while_spark_reads", [False, True], ids=["before", "while Spark reads"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_source_changes_during_a_refresh(server, tables, schema, change, while_spark_reads):
    """The rows are those of the old source, or the refresh fails by name and changes nothing."""
    session = tables._spark
    old, new = rows_now(session), sorted(tuple(row) for row in session.sql(SLOW).collect())
    statements = [statement.format(schema=schema) for statement in CHANGES[change]]
    changing = SourceChange(server.session(), statements, while_spark_reads=while_spark_reads)
    condition = ""
    with watched(session, changing.reached) as watched_tables:
        try:
            watched_tables.execute("ALTER MATERIALIZED TABLE t REFRESH")
        except MaterializedTableError as error:
            condition = error.condition
    changing.join()
    again = [(7, 7 * 300000)]
    assert rows_now(session) in ((old,) if condition else (new, again)), condition
    tables.sql("CREATE OR REPLACE TABLE orders USING delta AS SELECT 9 AS k, 1 AS amount")
    tables.execute(f"CREATE OR ALTER MATERIALIZED TABLE t AS {WIDER}")
    assert rows_now(session) == [(9, 1, 1)]
