"""A hosted table, and everything that people do to it and to its source, at random."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.functional.engine.oracle import assert_equals_query, outcome, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pyspark.sql import SparkSession

LOGGER = logging.getLogger(__name__)
LIVE = "FRESHNESS = INTERVAL '1' SECOND"
_FRESH_S = 120


class Chaos:
    """The table `t` over `events`, in the current schema of a session.

    Args:
        session: A classic session.
        chance: Decides everything.

    Attributes:
        done: How often each thing was done.
    """

    def __init__(self, session: SparkSession, chance: Random) -> None:
        self.tables = MaterializedTables(session)
        self.done: Counter[str] = Counter()
        self._chance = chance
        self._next_id = 0
        self._query = ""
        self._new_source()
        self._append()
        self._new_table()

    def actions(self) -> dict[str, tuple[int, Callable[[], object]]]:
        """Everything that may happen, with its weight."""
        return {
            "append": (12, self._append),
            "update": (2, lambda: self._sql("UPDATE events SET v = v + 1 WHERE id % 7 = 0")),
            "delete": (2, lambda: self._sql("DELETE FROM events WHERE id % 11 = 3")),
            "optimize": (2, lambda: self._sql("OPTIMIZE events")),
            "refresh": (2, lambda: self.tables.refresh("t")),
            "another query": (2, self._alter),
            "comment": (1, lambda: self._ours(f"SET COMMENT '{self._chance.random()}'")),
            "suspend and resume": (1, self._suspend),
            "another host": (2, self._restart),
            "overwrite": (1, lambda: self._sql("INSERT OVERWRITE events SELECT * FROM events")),
            "replace the source": (1, self._replace),
            "make the source anew": (1, self._new_source),
            "make the table anew": (1, self._again),
            "check": (3, self.check),
        }

    def act(self, *names: str) -> None:
        """Do one of these things; anything if none is named."""
        known = {
            name: known for name, known in self.actions().items() if not names or name in names
        }
        weights = [weight for weight, _ in known.values()]
        (name,) = self._chance.choices(list(known), weights)
        LOGGER.info("%s", name)
        known[name][1]()
        self.done[name] += 1

    def check(self) -> None:
        """Wait until the table is fresh, and hold it against its query in two ways."""
        self.tables.await_fresh("t", _FRESH_S)
        assert_equals_query(self.tables, "t")
        assert rows(self.tables, "SELECT * FROM t") == rows(self.tables, self._query)

    def close(self) -> None:
        """End every host."""
        self.tables.stop_all()

    def _append(self) -> None:
        """Some rows are there twice, which a table must keep."""
        first, self._next_id = self._next_id, self._next_id + self._chance.randint(1, 20)
        values = (
            f"SELECT id, CAST(id % 5 AS INT), CAST(id AS INT) FROM range({first}, {self._next_id})"
        )
        twice = self._chance.choice(["", f" UNION ALL {values}"])
        self._sql(f"INSERT INTO events {values}{twice}")

    def _new_query(self) -> str:
        factor, left_out = self._chance.randint(1, 9), self._chance.randint(2, 9)
        return f"SELECT id, k, v * {factor} AS v FROM events WHERE id % {left_out} <> 1"

    def _new_source(self) -> None:
        self._sql("DROP TABLE IF EXISTS events")
        self._sql("CREATE TABLE events (id BIGINT, k INT, v INT) USING delta")
        for _ in range(self._chance.randint(0, 3)):
            self._append()

    def _replace(self) -> None:
        self._sql(
            "CREATE OR REPLACE TABLE events USING delta AS "
            "SELECT CAST(id AS BIGINT) AS id, k, v FROM events WHERE id % 2 = 0"
        )

    def _new_table(self) -> None:
        self._query = self._new_query()
        outcome(self.tables, f"CREATE MATERIALIZED TABLE t {LIVE} AS {self._query}")
        self.tables.start("t")

    def _again(self) -> None:
        """The host gets no message."""
        outcome(self.tables, "DROP MATERIALIZED TABLE t")
        self._new_table()

    def _alter(self) -> None:
        query = self._new_query()
        outcome(self.tables, f"CREATE OR ALTER MATERIALIZED TABLE t {LIVE} AS {query}")
        self._query = query

    def _suspend(self) -> None:
        self._ours("SUSPEND")
        self._append()
        self._ours("RESUME")

    def _restart(self) -> None:
        self.tables.stop("t")
        self._append()
        self.tables.start("t")

    def _ours(self, change: str) -> None:
        outcome(self.tables, f"ALTER MATERIALIZED TABLE t {change}")

    def _sql(self, statement: str) -> None:
        self.tables.sql(statement)
