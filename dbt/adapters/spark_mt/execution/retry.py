"""Doing an operation again when another writer was first."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.ports import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _T = TypeVar("_T")

_ATTEMPTS = 5


def retrying(operation: Callable[[], _T]) -> _T:
    """Run `operation` again when another writer was first; it reads everything anew each time.

    Raises:
        CommitConflictError: Others were first five times in a row.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(CommitConflictError):
            return operation()
    return operation()
