"""What can be wrong with a query itself."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


class QueryError(MaterializedTableError):
    """The engine refuses the query; line and column count from 1 within the query."""

    condition = "MATERIALIZED_TABLE_QUERY_ERROR"
    text = "The query is refused by Spark{place}: [{engine_condition}] {message}"
    remedy = "Correct the query; nothing was changed."


class TemporaryObjectError(MaterializedTableError):
    """The query uses what only the session knows that issued the statement."""

    condition = "MATERIALIZED_TABLE_TEMPORARY_OBJECT"
    text = (
        "The query uses {objects}. Only this session knows that, but refreshes run in other "
        "sessions."
    )
    remedy = (
        "Use a CTE, or create a persistent view or function; write the value of a session "
        "variable into the query. Nothing was changed."
    )
