"""Doing an operation again when another writer was first."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.ports import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import TypeVar

    _T = TypeVar("_T")

_ATTEMPTS = 5


def retrying(
    operation: Callable[[], _T],
    going_first: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> _T:
    """Run `operation` again when another writer was first; it reads everything anew each time.

    Args:
        operation: What to do.
        going_first: Entered before the second attempt, for all further ones.

    Raises:
        CommitConflictError: Others were first five times in a row.
    """
    with suppress(CommitConflictError):
        return operation()
    with going_first():
        for _ in range(_ATTEMPTS - 2):
            with suppress(CommitConflictError):
                return operation()
        return operation()
