"""Plain tables that become materialized ones, and back; a part of `api`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.planning.summary import refused, summarize
from dbt.adapters.spark_mt.statements.nodes import CreateForm, CreateTable, DropTable
from dbt.adapters.spark_mt.statements.routing import parse_statement

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.adoption import Adoptions
    from dbt.adapters.spark_mt.execution.results import StatementOutcome
    from dbt.adapters.spark_mt.planning.summary import PlanSummary
    from dbt.adapters.spark_mt.spark.environment import SparkEnvironment


class TableHandover:
    """Takes tables of one Spark session over, and hands them back."""

    _environment: SparkEnvironment
    _adoptions: Adoptions

    def adopt(self, statement: str, *, as_of: datetime | None = None) -> StatementOutcome:
        """Carry out CREATE OR ALTER, taking a plain Delta table over where one has the name.

        The table keeps its rows, files, history and Delta's identity; it costs one commit. Its rows
        are trusted to be what the query has at `as_of` until a refresh computes the whole table.

        Args:
            statement: CREATE OR ALTER MATERIALIZED TABLE; what it does where there is no table, or
                a materialized one, is what it always does.
            as_of: The instant whose state of the sources the rows reflect; without a zone it is in
                the session's. None for now.

        Raises:
            MaterializedTableError: The table does not fit, or the statement is not valid; every
                difference is named, and nothing has changed.
        """
        self._environment.details.forget()
        return self._adoptions.adopt(create_or_alter(statement), as_of)

    def release(self, name: str) -> StatementOutcome:
        """Make a plain Delta table of a materialized one, which keeps rows, files and history.

        Args:
            name: The table's name, in backticks where it needs them.

        Raises:
            MaterializedTableError: There is no such table.
        """
        self._environment.details.forget()
        return self._adoptions.release(_parsed(name))

    def plan_adoption(self, statement: str, *, as_of: datetime | None = None) -> PlanSummary:
        """Tell what `adopt` would do; nothing is changed.

        Args:
            statement: As for `adopt`.
            as_of: As for `adopt`.

        Returns:
            Also for a table that would be refused, with every difference.
        """
        self._environment.details.forget()
        created = create_or_alter(statement)
        try:
            plan, _ = self._adoptions.plan(created, as_of)
        except MaterializedTableError as error:
            return refused(str(self._environment.value.store.full_name(created.name)), error)
        return summarize(plan)


def create_or_alter(statement: str) -> CreateTable:
    """Parse CREATE OR ALTER.

    Raises:
        TypeError: It is another statement.
    """
    created = parse_statement(statement)
    if not isinstance(created, CreateTable) or created.form is not CreateForm.CREATE_OR_ALTER:
        raise TypeError("expected CREATE OR ALTER")  # noqa: TRY003, EM101 - for programmers
    return created


def _parsed(name: str) -> TableName:
    parsed = parse_statement(f"DROP MATERIALIZED TABLE {name}")
    if not isinstance(parsed, DropTable):
        raise TypeError(name)
    return parsed.name
