"""Errors of Spark and of materialized tables as dbt exceptions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.errors import SparkFailure, failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Iterator


logger = AdapterLogger("SparkMT")


class SparkDatabaseError(DbtDatabaseError):
    """A statement that Spark refused or could not finish; `failure` holds the facts."""

    def __init__(self, failure: SparkFailure) -> None:
        super().__init__(one_line(failure))
        self.failure = failure


def one_line(failure: SparkFailure) -> str:
    """Spark's condition, the first paragraph of its message, and where in the statement it was."""
    place = failure.line_and_column
    where = f" (line {place[0]}, column {place[1]})" if place else ""
    state = f" SQLSTATE: {failure.sql_state}" if failure.sql_state else ""
    return f"[{failure.condition}] {failure.message}{where}{state}"


@contextmanager
def translated(sql: str) -> Iterator[None]:
    """Raise what goes wrong in the block as an error that dbt prints without a stack.

    Args:
        sql: What runs, for the debug log.

    Raises:
        SparkDatabaseError: Spark's error.
        DbtDatabaseError: An error about a materialized table.
    """
    try:
        yield
    except DbtRuntimeError:
        raise
    except MaterializedTableError as error:
        logger.debug(f"Error while running:\n{sql}\n{error}")
        raise DbtDatabaseError(str(error)) from error
    except Exception as error:
        if not is_spark_error(error):
            raise
        logger.debug(f"Error while running:\n{sql}\n{error}")
        raise SparkDatabaseError(failure_of(error)) from error
