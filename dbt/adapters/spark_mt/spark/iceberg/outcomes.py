"""Outcomes of commits at which a catalog failed: whether the table has them all the same.

An answer may be lost after the catalog has made a commit. Iceberg then does not know the outcome,
or reports a conflict where its client sent the commit twice. Here the catalog is asked what the
table has. A commit that the catalog still works on cannot come after another one, because it
begins from the state that was read before.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import OutageError
from dbt.adapters.spark_mt.spark.formats import iceberg as iceberg_format
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.errors import CommitNotMadeError
    from dbt.adapters.spark_mt.spark.iceberg.metadata import TableMetadata
    from dbt.adapters.spark_mt.spark.session.errors import SparkFailure

_PAUSES_S = (0.0, 0.5, 1.0, 2.0, 4.0)
"""How long to wait before each question to the catalog."""
_PATIENCE_S = 60.0
"""After which time it is asked once more at most: its client tries each question again itself."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A table, and how its catalog is asked what it has.

    Args:
        name: The table.
        catalog: The catalog that has it.
        read: Returns its metadata as it is now; None without the table.
        pause: Waits some seconds.
    """

    name: TableName
    catalog: str
    read: Callable[[], TableMetadata | None]
    pause: Callable[[float], None] = time.sleep

    def state(self, problem: str) -> TableMetadata | None:
        """Return the metadata after a commit, as soon as the catalog answers.

        Args:
            problem: Why the outcome of the commit is not known until then.

        Raises:
            OutageError: It does not; the outcome of the commit is not known.
        """
        until = time.monotonic() + _PATIENCE_S
        for seconds in _PAUSES_S:
            self.pause(seconds)
            try:
                return self.read()
            except OutageError as error:
                last = error
            if time.monotonic() > until:
                break
        raise conditions.OUTCOME_UNKNOWN(
            table=self.name, gone=f"The catalog {self.catalog}", problem=problem
        ) from last


@contextmanager
def settled(
    asked: Asked, versions: Callable[[], tuple[TableMetadata, TableMetadata]]
) -> Iterator[None]:
    """Publish a transaction; a commit that the table has is a success, whatever was reported.

    Args:
        asked: The table.
        versions: Returns the metadata from which the transaction began, and that which it
            publishes.

    Raises:
        CommitConflictError: The catalog refused the commit, and another one came first.
        CommitNotMadeError: The catalog failed, and has not made the commit.
        OutageError: The catalog does not answer, so that the outcome is not known.
        pyspark.errors.PySparkException, py4j.protocol.Py4JError: It reported a conflict, or
            refused the commit for another reason.
    """
    try:
        yield
    except Exception as error:
        failure = _of_a_catalog(error)
        if failure is None:
            raise
        found = asked.state(_problem(failure))
        before, wanted = versions()
        if is_made(found, before, wanted):
            return
        if failure.is_outcome_unknown or failure.is_catalog_away:
            raise _not_made(asked, failure) from error
        # Some catalogs report a conflict as a request that they refuse.
        has_changed = found is None or found.head != before.head
        if has_changed and not failure.is_conflict:
            raise conditions.CONCURRENT_CHANGE(table=asked.name) from error
        raise


@contextmanager
def settled_creation(asked: Asked, metadata: str) -> Iterator[None]:
    """Create a table; one whose first snapshot has our metadata is a success.

    Args:
        asked: The table.
        metadata: That of the commit.

    Raises:
        CommitNotMadeError: The catalog failed, and has not made the commit.
        OutageError: The catalog does not answer, so that the outcome is not known.
        pyspark.errors.PySparkException, py4j.protocol.Py4JError: The table was not created.
    """
    try:
        yield
    except Exception as error:
        failure = _of_a_catalog(error)
        is_open = failure is not None and (
            failure.is_outcome_unknown or failure.is_catalog_away or failure.is_existing_table
        )
        if failure is None or not is_open or not metadata:
            raise
        found = asked.state(_problem(failure))
        head = None if found is None else found.head
        if head is not None and head.summary.get(iceberg_format.COMMIT) == metadata:
            return
        if failure.is_existing_table:
            raise
        raise _not_made(asked, failure) from error


def repeated(write: Callable[[], object], pause: Callable[[float], None] = time.sleep) -> None:
    """Run a write that may be made twice, again while its outcome is not known.

    Raises:
        pyspark.errors.PySparkException, py4j.protocol.Py4JError: It failed.
    """
    for seconds in _PAUSES_S[1:]:
        try:
            write()
        except Exception as error:
            failure = _of_a_catalog(error)
            if failure is None or not (failure.is_outcome_unknown or failure.is_catalog_away):
                raise
        else:
            return
        pause(seconds)
    write()


def is_made(found: TableMetadata | None, before: TableMetadata, wanted: TableMetadata) -> bool:
    """Whether a table has a commit: its snapshot, or without a new one all that it changed.

    Args:
        found: What the table has; None without the table.
        before: From which the commit began.
        wanted: What it publishes.
    """
    if found is None or wanted.head is None:
        return False
    if wanted.head.id not in before.snapshots:
        return wanted.head.id in found.snapshots
    return (found.head, found.properties, found.schema_id) == (
        wanted.head,
        wanted.properties,
        wanted.schema_id,
    )


def _of_a_catalog(error: Exception) -> SparkFailure | None:
    """Return what Spark raised, if the statement was not cancelled and Spark is still there."""
    failure = failure_of(error) if is_spark_error(error) else None
    if failure is None or failure.is_cancelled or failure.is_server_gone:
        return None
    return failure


def _not_made(asked: Asked, failure: SparkFailure) -> CommitNotMadeError:
    problem = _problem(failure)
    return conditions.COMMIT_NOT_MADE(table=asked.name, catalog=asked.catalog, problem=problem)


def _problem(failure: SparkFailure) -> str:
    return f"[{failure.condition}] {failure.message}"
