"""A case in a schema of its own, and what must hold when its statement came to an early end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.strategies.strategy import DIFFERENTIAL
from tests.faults.checks import (
    NOT_FOUND,
    assert_history,
    assert_nothing_is_left,
    attempt,
    look,
    rows_now,
    strategy_of,
    sums_tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.faults.checks import Directory, Rows, Seen
    from tests.faults.plans import Case

    class Warehouse(Protocol):
        """Has a directory for each schema."""

        def __truediv__(self, name: str) -> Directory: ...


@dataclass(frozen=True)
class Leads:
    """What a case's statement leads to where nothing is in its way.

    Args:
        old: The rows before it; None without a table.
        new: The table after it; None without a table.
    """

    old: Rows | None
    new: Seen | None

    @property
    def rows(self) -> tuple[Rows | None, Rows | None]:
        """The only rows that readers may ever see."""
        return self.old, self.new.rows if self.new else None


class Scene:
    """A case, set again and again.

    Args:
        session: The session that sets it and looks at it.
        warehouse: The directory of its tables.
        case: The statement and the tables that it finds.
    """

    def __init__(self, session: SparkSession, warehouse: Warehouse, case: Case) -> None:
        self.session = session
        self.case = case
        self._warehouse = warehouse

    def set(self) -> str:
        """Make the tables that the statement finds, in a new schema."""
        schema = f"s_{uuid4().hex[:10]}"
        self.session.sql(f"CREATE SCHEMA {schema}")
        self.session.sql(f"USE {schema}")
        tables = self.tables()
        for statement in self.case.before:
            tables.sql(statement)
        return schema

    def tables(self) -> MaterializedTables:
        """Materialized tables that know nothing of any statement before."""
        return MaterializedTables(self.session)

    def undisturbed(self, run: Callable[[str], object]) -> Leads:
        """Let `run` carry the statement out in a schema, and look at what it leads to."""
        schema = self.set()
        old = rows_now(self.session)
        run(schema)
        leads = Leads(old, look(self.tables(), schema))
        if self.case.strategy:
            assert strategy_of(self.tables()) == self.case.strategy
        if leads.new:
            self._follow("undisturbed")
            assert_history(self.tables())
        self.clear(schema)
        return leads

    def settle(self, schema: str, leads: Leads, done: str, other: str = "") -> None:
        """Assert all that must hold after the statement's early end, and clear the schema.

        Args:
            schema: The schema that was set.
            leads: What the statement would have led to.
            done: What happened, for whoever reads a failure.
            other: A statement to carry out before the same one again.
        """
        assert rows_now(self.session) in leads.rows, done
        tables = self.tables()
        if other:
            assert attempt(tables, other) in {"", NOT_FOUND}, done
        assert attempt(tables, self.case.again) in {"", *self.case.done}, done
        assert look(tables, schema) == leads.new, done
        names = frozenset({"t"} if leads.new else ())
        assert tables.names(schema) == names, done
        if leads.new:
            self._follow(done)
            assert_history(tables)
        self.clear(schema)

    def _follow(self, done: str) -> None:
        """Change the sources some more: partial sums that are wrong now would show in the rows."""
        for change in self.case.later:
            tables = self.tables()
            tables.sql(change)
            assert attempt(tables, "ALTER MATERIALIZED TABLE t REFRESH") == "", done
            assert strategy_of(tables) == DIFFERENTIAL, done
        assert len(sums_tables(self.session)) == self.case.sums or not self.case.later, done

    def clear(self, schema: str) -> None:
        """Drop everything, and find nothing left."""
        assert_nothing_is_left(self.tables(), schema, self._warehouse / f"{schema}.db")
        assert sums_tables(self.session) == []
        self.session.sql(f"DROP SCHEMA {schema} CASCADE")
