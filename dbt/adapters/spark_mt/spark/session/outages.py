"""Catalogs that do not answer, as errors of ours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.session.errors import (
    failure_of,
    is_spark_error,
    suppress_spark_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.errors import OutageError
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure


def outage(failure: SparkFailure, asked: TableName | str = "") -> OutageError | None:
    """Return the error for a failure of Spark that is one of a catalog; None for another failure.

    Args:
        failure: What Spark raised before anything was written.
        asked: The table that the catalog was asked for, or words for it; empty where neither is
            known.
    """
    if not failure.is_catalog_away:
        return None
    catalog = "" if isinstance(asked, str) else asked.catalog
    return conditions.CATALOG_UNAVAILABLE(
        catalog=f"The catalog {catalog}" if catalog else "A catalog",
        asked=f" about {asked}" if asked else "",
        problem=f"[{failure.condition}] {failure.message}",
    )


@contextmanager
def naming_outages(asked: TableName) -> Iterator[None]:
    """Raise the error of a catalog that does not answer within the block.

    Raises:
        OutageError: It does not.
    """
    try:
        yield
    except Exception as error:
        found = outage(failure_of(error), asked) if is_spark_error(error) else None
        if found is None:
            raise
        raise found from error


def suppress_outages() -> AbstractContextManager[None]:
    """Leave out that a catalog does not answer, where the block can do without."""
    return suppress_spark_errors(lambda failure: failure.is_catalog_away)
