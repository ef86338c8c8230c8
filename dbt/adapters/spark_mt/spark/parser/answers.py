"""Answers to statements that Spark's parser passes on: rows or an error, as JSON."""

from __future__ import annotations

import json
import logging
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, StatementSyntaxError
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.execution.results import StatementResult


_LOGGER = logging.getLogger(__name__)
_MICROS = 1_000_000
_COMMENT = re.compile(r"\s*/\*(.*?)\*/", re.DOTALL)
SQL_STATES = {
    "MATERIALIZED_TABLE_ALREADY_EXISTS": "42P07",
    "MATERIALIZED_TABLE_CATALOG_UNAVAILABLE": "58000",
    "MATERIALIZED_TABLE_COMMIT_NOT_MADE": "40001",
    "MATERIALIZED_TABLE_CONCURRENT_CHANGE": "40001",
    "MATERIALIZED_TABLE_EXPECTED": "42809",
    "MATERIALIZED_TABLE_NOT_FOUND": "42P01",
    "MATERIALIZED_TABLE_OUTCOME_UNKNOWN": "58000",
    "MATERIALIZED_TABLE_SQL_BEFORE_STOP": "57P01",
    "MATERIALIZED_TABLE_STATEMENT_FAILED": "58000",
    "MATERIALIZED_TABLE_UNEXPECTED_ERROR": "XX000",
}
"""SQLSTATE by condition."""
SYNTAX_STATE = "42601"
OTHER_STATE = "42000"
"""SQLSTATE of every other condition: the statement breaks a rule."""


class PassedStatement(Protocol):
    """A statement that Spark's parser passes on, with what is known of its client."""

    id: str
    text: str
    has_parameters: bool
    is_looked_at: bool
    """Whether the client asks for columns or plan only."""

    def session(self) -> SparkSession:
        """Return the client's session."""
        ...


class SqlEngine(Protocol):
    """Carries out statements about materialized tables in the sessions of clients."""

    def carry_out(
        self, spark: SparkSession, text: str, request_id: str, owner: Pairs
    ) -> StatementResult:
        """Carry out a statement in a session; returns at its end.

        Args:
            spark: The session.
            text: The statement.
            request_id: Names it for `interrupt`.
            owner: Who declares the table, as the definition keeps it.

        Raises:
            MaterializedTableError: It is not valid or failed.
        """
        ...

    def interrupt(self, request_id: str) -> None:
        """Interrupt what the statement of a request runs at this moment, if it is not over."""
        ...


class Answers:
    """Answers to the statements of all clients.

    Args:
        engine: Carries them out.
    """

    def __init__(self, engine: SqlEngine) -> None:
        self._engine = engine
        self._is_closed = False

    def close(self) -> None:
        """Refuse all statements from now on; those that run continue."""
        self._is_closed = True

    def answer(self, statement: PassedStatement) -> str:
        """Carry out a statement, and return its rows or its error as a document."""
        try:
            result = self._result(statement)
        except Exception as error:  # noqa: BLE001 - every error is the client's
            return json.dumps({"error": error_document(error)})
        return json.dumps(rows_document(result))

    def interrupt(self, statement_id: str) -> None:
        """Interrupt what a statement runs at this moment, if it is not over."""
        self._engine.interrupt(statement_id)

    def _result(self, statement: PassedStatement) -> StatementResult:
        if statement.has_parameters:
            raise conditions.SQL_PARAMETERS()
        if statement.is_looked_at:
            raise conditions.SQL_NOT_A_QUERY()
        if self._is_closed:
            raise conditions.SQL_BEFORE_STOP()
        text = statement.text
        return self._engine.carry_out(statement.session(), text, statement.id, owner_of(text))


def owner_of(text: str) -> Pairs:
    """Return the node of dbt that sends a statement; dbt names it in a comment before it."""
    found = _COMMENT.match(text)
    try:
        facts = json.loads(found[1]) if found else None
    except ValueError:  # a comment of another kind
        return ()
    node = facts.get("node_id") if isinstance(facts, dict) and facts.get("app") == "dbt" else None
    return (("dbt", node),) if isinstance(node, str) else ()


def error_document(error: Exception) -> dict[str, Any]:
    """Return an error as JSON values; one of Spark keeps its condition and SQLSTATE."""
    if not isinstance(error, MaterializedTableError):
        if is_spark_error(error):
            failure = failure_of(error)
            return {
                "condition": failure.condition,
                "sql_state": failure.sql_state or OTHER_STATE,
                "message": f"[{failure.condition}] {failure.message}",
                "parameters": failure.parameters,
            }
        _LOGGER.error("a statement failed unexpectedly", exc_info=error)
        error = conditions.UNEXPECTED_ERROR(problem=f"{type(error).__name__}: {problem_of(error)}")
    other = SYNTAX_STATE if isinstance(error, StatementSyntaxError) else OTHER_STATE
    return {
        "condition": error.condition,
        "sql_state": SQL_STATES.get(error.condition, other),
        "message": problem_of(error),
        "parameters": error.parameters,
    }


def rows_document(result: StatementResult) -> dict[str, Any]:
    """Return rows as JSON values: an instant in microseconds, a map as two lists."""
    return {
        "schema": ", ".join(f"`{column.name}` {column.type}" for column in result.columns),
        "rows": [[_value(value) for value in row] for row in result.rows],
    }


def _value(value: object) -> object:
    if isinstance(value, datetime):
        utc = value if value.tzinfo else value.astimezone()
        passed = utc - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (passed.days * 86_400 + passed.seconds) * _MICROS + passed.microseconds
    if isinstance(value, dict):
        return [[_value(key) for key in value], [_value(each) for each in value.values()]]
    if isinstance(value, list | tuple):
        return [_value(each) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(type(value).__name__)
