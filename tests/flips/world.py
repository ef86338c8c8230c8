"""A shop whose tables the design documents' statements read; SQLite answers where no Spark is."""

from __future__ import annotations

import re
import sqlite3
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.planning.steps import SCHEDULED
from dbt.adapters.spark_mt.statements.nodes import AlterQuery, CreateTable
from dbt.adapters.spark_mt.statements.parser import parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.execution.results import RefreshOutcome, StatementOutcome
    from tests.behaviour.harness import Tables

_LOOKUP = re.compile(r"FOR SYSTEM_TIME AS OF proctime\(\)", re.IGNORECASE)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2025, 11, 4, 10, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        return self.now


class World:
    """Tables by name, and statements about them.

    Args:
        tables: The engine.
        clock: The clock of the engine.
        configure: Sets a conf of the session.
    """

    def __init__(self, tables: Tables, clock: Clock, configure: Callable[[str, str], None]) -> None:
        self.tables = tables
        self.clock = clock
        self.configure = configure
        self._ddl: dict[str, str] = {}

    def source(self, name: str, ddl: str, rows: list[tuple]) -> None:
        """Create a source in place of what has the name."""
        self._ddl[name] = ddl
        self.tables.source(name, ddl, rows)

    def source_view(self, name: str, query: str, ddl: str) -> None:
        """Create a persistent view; `ddl` are its columns."""
        self._ddl[name] = ddl
        self.tables.view(name, query)

    def run(self, statement: str, ddl: str = "") -> StatementOutcome:
        """Carry out a statement.

        Args:
            statement: Its text.
            ddl: The columns of its query's result.
        """
        if ddl:
            self.learn(statement, ddl)
        outcome = self.tables.execute(statement).outcome
        assert outcome is not None
        return outcome

    def learn(self, statement: str, ddl: str, evaluate: Callable | None = None) -> None:
        """Say which columns the query of a statement returns; SQLite computes the rows.

        Args:
            statement: A statement that holds the query, or the query itself.
            ddl: The columns.
            evaluate: Computes the rows in place of SQLite.
        """
        parsed = parse_statement(statement)
        query = statement
        if isinstance(parsed, CreateTable | AlterQuery):
            query = parsed.declared.query
            self._ddl[parsed.name.name] = ddl
        self.tables.learn(query, ddl, evaluate or (lambda rows: self._evaluate(query, ddl, rows)))

    def rows(self, statement: str) -> list[tuple]:
        """The rows that a statement returns."""
        return list(self.tables.execute(statement).rows)

    def described(self, name: str) -> dict[str, str]:
        """DESC EXTENDED as a mapping."""
        rows = self.rows(f"DESC EXTENDED MATERIALIZED TABLE {name}")
        return {key: value for key, value, _ in rows}

    def resolved(self, name: str) -> ResolvedDefinition:
        """What a table's definition resolved to."""
        return self.stored(name).definition.resolved

    def stored(self, name: str) -> StoredTable:
        """A table with everything that is stored about it."""
        return self.tables.stored(name)

    def exists(self, name: str) -> bool:
        """Whether there is a materialized table of this name."""
        return isinstance(self.tables.find(name), StoredTable)

    def refresh(self, name: str) -> RefreshOutcome:
        """Refresh a table by statement."""
        outcome = self.tables.execute(f"ALTER MATERIALIZED TABLE {name} REFRESH").outcome
        assert outcome is not None
        assert outcome.refresh is not None
        return outcome.refresh

    def scheduled(self, name: str, at: str) -> RefreshOutcome:
        """Do the run of a schedule that is due at a time in UTC."""
        self.tables.forget()
        due = datetime.fromisoformat(at).replace(tzinfo=timezone.utc)
        requested = RequestedRefresh(trigger=SCHEDULED, scheduled_at=due)
        return Refreshes(self.tables.environment).carry_out(self.tables.name(name), requested)

    def _evaluate(self, query: str, ddl: str, relations: Mapping[str, Iterable]) -> list[tuple]:
        with sqlite3.connect(":memory:") as db:
            db.create_function("from_unixtime", 2, _from_unixtime)
            for name, rows in relations.items():
                names = [column.split()[0] for column in self._ddl[name].split(";")]
                db.execute(f"CREATE TABLE {name} ({', '.join(names)})")
                marks = ", ".join("?" * len(names))
                values = [tuple(map(_to_sqlite, row)) for row in rows]
                db.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
            found = db.execute(_LOOKUP.sub("", query)).fetchall()
        types = [column.split()[1] for column in ddl.split(";")]
        return [tuple(map(_from_sqlite, row, types)) for row in found]


def _to_sqlite(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value


def _from_sqlite(value: object, type_: str) -> object:
    if value is not None and type_.startswith("DECIMAL"):
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-int(type_[:-1].split(",")[1])))
    return value


def _from_unixtime(seconds: int, pattern: str) -> str:
    assert pattern == "yyyy-MM-dd"
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d")
