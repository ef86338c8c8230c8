"""Lets the manager carry out a statement that a client of its Spark Connect cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.relayed import result_of
from dbt.adapters.spark_mt.service_client import ManagerClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.discovery import Discovered
    from dbt.adapters.spark_mt.execution.results import StatementResult

PATIENCE_S = 24 * 3600.0
"""How long a statement may take: filling a table from a long log takes as long as it takes."""


def relayed(
    spark: SparkSession, manager: Discovered, statement: str, owner: Mapping[str, str]
) -> StatementResult:
    """Carry out a statement in the driver of the manager that serves this session.

    Args:
        spark: The session, in whose current schema names belong.
        manager: The manager.
        statement: The statement.
        owner: Who declares the table.

    Raises:
        ManagerRefusedError: It failed there; the manager's own error is in it.
        ManagerUnreachableError: The manager does not answer.
    """
    catalog, schema = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    client = ManagerClient(manager.rest_url, manager.rest_token, PATIENCE_S)
    return result_of(client.execute(statement, catalog, schema, owner))
