"""Boundary of the analysis of queries, at which an unexpected failure becomes a reason.

The functions that other packages call are `guarded`. A statement never ends because a query could
not be analysed: the query counts as one that is not understood, and is recomputed.
"""

from __future__ import annotations

import logging
import traceback
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    P = ParamSpec("P")
    T = TypeVar("T")

_LOGGER = logging.getLogger(__name__)

UNEXPECTED = "UNEXPECTED"
"""The reason code of what the analysis does not expect."""


def guarded(
    instead: Callable[[str], Any], *expected: type[Exception]
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function return another value where it fails unexpectedly.

    Args:
        instead: Returns, or raises, what stands for the result. It takes the failure as part of a
            sentence about the query.
        expected: The errors that the function may raise.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except expected:
                raise
            except RecursionError:
                return cast("T", instead("its text is nested too deeply"))
            except Exception as error:  # noqa: BLE001 - the boundary
                return cast("T", instead(_problem(error)))

        return called

    return decorate


def _problem(error: Exception) -> str:
    """Log an unexpected error, and return it as part of a sentence about the query."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.name} of {last.filename.rpartition('/')[2]}"
    _log(f"{type(error).__name__}: {error} (in {place}, line {last.lineno})")
    _LOGGER.debug("The analysis of a query failed.", exc_info=error)
    return f"its analysis failed unexpectedly ({type(error).__name__} in {place})"


@lru_cache(maxsize=256)
def _log(failure: str) -> None:
    """Ask for a report, once for each failure of a process."""
    _LOGGER.warning(
        "The analysis of a query failed: %s. The query is computed as a whole, and its rows are "
        "right. Please report this line with the query as an issue of dbt-spark-mt. The stack is "
        "in the log at level DEBUG.",
        failure,
    )
