"""One fenced commit, and the check that comes before it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.commit_facts import encode_commit
from dbt.adapters.spark_mt.execution.errors import ConstraintViolatedError
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.spark.errors import failure_of, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbt.adapters.spark_mt.definition.commit_facts import CommitFacts
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.spark.private_session import PrivateSession

    _Write = Callable[[], object]


def fenced(session: PrivateSession, name: TableName, facts: CommitFacts, write: _Write) -> int:
    """Make one fenced commit and return its version.

    Raises:
        CommitConflictError: Another commit of ours, or a change that Delta cannot reconcile, was
            first; Delta skips a write whose number is taken, and fails one that runs beside it.
    """
    with explaining_conflicts(name):
        version = session.commit(encode_commit(facts), facts.seq, write)
    if version is None:
        raise CommitConflictError(table=name)
    return version


@contextmanager
def explaining_conflicts(name: TableName) -> Iterator[None]:
    """Turn what Delta raises when another commit came first into an error of ours.

    Raises:
        CommitConflictError: A change that Delta cannot reconcile was first.
    """
    try:
        yield
    except Exception as error:
        if is_spark_error(error) and failure_of(error).is_conflict:
            raise CommitConflictError(table=name) from error
        raise


def raise_if_violated(session: PrivateSession, name: TableName, query: str | None) -> None:
    """Run a query for violations and raise them.

    Raises:
        ConstraintViolatedError: There are some; each names the constraint and the values.
    """
    if query is None:
        return
    rows = session.spark.sql(query).collect()
    if rows:
        found = [f"{row['violation']}: {row['row_values']}" for row in rows]
        raise ConstraintViolatedError(violations=found, table=name)
