"""Statements that a manager carries out for clients, and their interrupts."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_UNTIL_INTERRUPTED = 0.75
"""The part of the time to stop after which statements are interrupted."""
_INTERRUPT_EVERY_S = 0.5
"""One interrupt is not enough: it cancels the jobs of that moment, and others may follow."""


class Requests:
    """Statements of clients that are not over, by their requests."""

    def __init__(self) -> None:
        self._interrupts: dict[str, Callable[[], None]] = {}
        self._changed = Condition()

    @contextmanager
    def running(self, request_id: str, interrupt: Callable[[], None]) -> Iterator[None]:
        """Note the statement of a request while the block runs.

        Raises:
            MaterializedTableError: The statement of this request runs already.
        """
        with self._changed:
            if self._interrupts.setdefault(request_id, interrupt) is not interrupt:
                raise conditions.REQUEST_IN_PROGRESS(request=request_id)
        try:
            yield
        finally:
            with self._changed:
                del self._interrupts[request_id]
                self._changed.notify_all()

    def interrupt(self, request_id: str) -> None:
        """Interrupt what the statement of a request runs at this moment, if it is not over."""
        interrupt = self._interrupts.get(request_id)
        if interrupt is not None:
            interrupt()

    def drain(self, within_s: float) -> bool:
        """Wait for the end of all statements; interrupt those that take most of the time.

        Returns:
            Whether all of them ended without an interrupt.
        """
        if self._wait(within_s * _UNTIL_INTERRUPTED):
            return True
        end = monotonic() + within_s * (1 - _UNTIL_INTERRUPTED)
        while True:
            with self._changed:
                late = tuple(self._interrupts.values())
            for interrupt in late:
                interrupt()
            left = end - monotonic()
            if self._wait(max(min(left, _INTERRUPT_EVERY_S), 0)) or left <= 0:
                return False

    def _wait(self, within_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._interrupts, within_s)
