"""Materialized tables for the queries of a benchmark, whose sources change in rounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.execution.results import RefreshResult
from tests.functional.engine.oracle import outcome
from tests.support.benchmark_rows import row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.results import RefreshOutcome
    from tests.support.benchmark_rows import Choice, Columns, Row

INCREMENTAL = frozenset({"append", "differential"})
ROUNDS = ("insert", "delete", "update")
_PROPERTIES = (
    "'delta.enableChangeDataFeed' = 'true'",
    "'delta.enableDeletionVectors' = 'true'",
    "'delta.enableDeletionVectors' = 'false'",
)
"""Each source has one of these: the ways in which Delta records what a commit changed."""


@dataclass(repr=False)
class Benchmark:
    """The queries of a benchmark, and their tables.

    Args:
        title: Its name.
        tables: The materialized tables; the current schema is that of the sources.
        queries: The queries by the names of their tables.
        rounds: The statements that change the sources, by the name of the round.
    """

    title: str
    tables: MaterializedTables
    queries: Mapping[str, str]
    rounds: Mapping[str, Sequence[str]]
    _done: set[str] = field(default_factory=set)
    _created: set[str] = field(default_factory=set)
    _refreshed: dict[tuple[str, str], RefreshOutcome] = field(default_factory=dict)

    def create(self, name: str) -> None:
        """Create the table of a query."""
        create(self.tables, name, self.queries[name])
        self._created.add(name)

    def refresh(self, name: str, round_: str) -> RefreshOutcome:
        """Refresh the table of a query after a round, and compare it with the query."""
        if name not in self._created:
            self.create(name)
        if round_ not in self._done:
            self._done.add(round_)
            for statement in self.rounds[round_]:
                self.tables.sql(statement)
        done = self.tables.refresh(name)
        assert_same_rows(self.tables, name, self.queries[name])
        self._refreshed[name, round_] = done
        return done

    @property
    def is_complete(self) -> bool:
        """Whether every table was refreshed after every round."""
        return len(self._refreshed) == len(self.queries) * len(self.rounds)

    def recomputed(self) -> dict[str, str]:
        """Return the queries with a refresh that was not incremental, and their reasons."""
        refreshed = self._refreshed.items()
        jobs = {job["job_id"]: job["reason"] for job in self.tables.sql("SHOW JOBS").collect()}
        return {
            name: "; ".join(
                f"{round_}: {jobs.get(done.refresh_id)}"
                for (each, round_), done in refreshed
                if each == name and not is_incremental(done)
            )
            for name in self.queries
            if not all(is_incremental(d) for (each, _), d in refreshed if each == name)
        }

    def summary(self) -> Iterator[str]:
        """Yield a line for each query: strategy and written rows of each round."""
        recomputed = self.recomputed()
        yield f"{'query':8} " + " ".join(f"{round_:18}" for round_ in self.rounds)
        for name in self.queries:
            found = (self._refreshed.get((name, round_)) for round_ in self.rounds)
            cells = " ".join(f"{_cell(done):18}" for done in found)
            yield f"{name:8} {cells} {recomputed.get(name, '')}".rstrip()
        yield (
            f"{len(self.queries) - len(recomputed)} of {len(self.queries)} queries incremental "
            f"in all rounds, {len(self._refreshed)} refreshes equal to their query"
        )


def _cell(done: RefreshOutcome | None) -> str:
    if done is None:
        return "-"
    if done.status is not RefreshResult.REFRESHED:
        return done.status.value
    return f"{done.strategy} {done.rows}"


def is_incremental(done: RefreshOutcome) -> bool:
    """Whether a refresh saw a change, and wrote no more than its effect."""
    return done.status is RefreshResult.REFRESHED and done.strategy in INCREMENTAL


def assert_same_rows(tables: MaterializedTables, name: str, query: str) -> None:
    """Assert that a table and a query over the sources as they are now have equal bags of rows.

    It runs the query once, and `assert_equals_query` twice: these queries take seconds.
    """
    session = tables._spark
    stored, wanted = (
        Counter(map(tuple, session.sql(text).collect())) for text in (f"TABLE {name}", query)
    )
    assert (wanted - stored, stored - wanted) == (Counter(), Counter()), name


def create(tables: MaterializedTables, name: str, query: str, more: str = "") -> None:
    """Create a materialized table that is refreshed by changes."""
    outcome(
        tables,
        f"CREATE MATERIALIZED TABLE {name} WITH ('incremental' = 'auto'{more}) "
        f"FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS {query}",
    )


def create_sources(
    spark: SparkSession, tables: Mapping[str, Columns], rows: Mapping[str, Sequence[Row]]
) -> MaterializedTables:
    """Create tables with rows in a schema of their own, which becomes the current one."""
    session = spark.newSession()
    schema = f"s_{uuid4().hex[:10]}"
    session.sql(f"CREATE SCHEMA {schema}")
    session.sql(f"USE {schema}")
    for (name, columns), properties in zip(tables.items(), cycle(_PROPERTIES)):
        ddl = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
        session.sql(f"CREATE TABLE {name} ({ddl}) USING delta TBLPROPERTIES ({properties})")
        session.sql(insert(name, columns, rows[name]))
    return MaterializedTables(session)


def insert(name: str, columns: Columns, rows: Sequence[Row]) -> str:
    """Return an INSERT of rows."""
    listed = ", ".join(f"({', '.join(_literals(each, columns))})" for each in rows)
    return f"INSERT INTO {name} VALUES {listed}"


def update(choice: Choice, name: str, columns: Columns, changed: Row, keys: int) -> str:
    """Return an UPDATE of the rows that have the first columns of a row, which stay."""
    names, old = list(columns), _literals(changed, columns)
    new = _literals(row(choice, columns), columns)
    assigned = [f"{n} = {v}" for n, v in zip(names, new, strict=True)]
    where = [f"{n} = {v}" for n, v in zip(names, old, strict=True)]
    return f"UPDATE {name} SET {', '.join(assigned[keys:])} WHERE {' AND '.join(where[:keys])}"


def _literals(values: Row, columns: Columns) -> list[str]:
    return [_literal(value, type_) for value, type_ in zip(values, columns.values(), strict=True)]


def _literal(value: object, type_: str) -> str:
    if type_ in {"DATE", "TIMESTAMP"}:
        return f"{type_} '{value}'"
    return f"'{value}'" if type_ == "STRING" else str(value)
