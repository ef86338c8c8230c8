"""Ticks a reconciler in a thread, and knows whether it does."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.errors import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.service.reconciler import Reconciler

_LOGGER = logging.getLogger(__name__)
_MISSED = 6
"""After how many ticks that did not come the loop counts as dead, and at least a minute."""


@dataclass(frozen=True, slots=True)
class TickState:
    """How the loop does.

    Args:
        ticks: How many ended well.
        seconds: How long the newest took.
        ended_at_ms: When that ended; 0 before the first.
        problem: Why the newest failed; empty if it did not.
    """

    ticks: int = 0
    seconds: float = 0.0
    ended_at_ms: int = 0
    problem: str = ""


class Loop:
    """Ticks again and again; a tick that fails is followed by the next.

    Args:
        reconciler: What ticks.
        every_ms: From the end of one tick to the start of the next.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(self, reconciler: Reconciler, every_ms: int, now_ms: Callable[[], int]) -> None:
        self._reconciler = reconciler
        self._every_ms = every_ms
        self._now_ms = now_ms
        self._started_ms = now_ms()
        self._woken = Event()
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="materialized-table-manager", daemon=True)
        self.state = TickState()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Tick now instead of in a few seconds."""
        self._woken.set()

    def stop(self, within_s: float) -> bool:
        """End after the tick that is under way.

        Returns:
            Whether it has ended within the time, in seconds.
        """
        self._stopped.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(within_s)
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether a tick has ended lately, well or badly."""
        since_ms = self.state.ended_at_ms or self._started_ms
        bound_ms = max(60_000, _MISSED * self._every_ms)
        return self._thread.is_alive() and self._now_ms() - since_ms <= bound_ms

    def tick(self) -> None:
        """Tick once; what goes wrong is told, not raised."""
        began_ms, problem = self._now_ms(), ""
        try:
            self._reconciler.tick()
        except Exception as error:
            problem = problem_of(error)
            if problem != self.state.problem:
                _LOGGER.warning("a look at the catalog failed: %s", problem, exc_info=True)
        ended_ms = self._now_ms()
        ticks = self.state.ticks + (0 if problem else 1)
        self.state = TickState(ticks, (ended_ms - began_ms) / 1000, ended_ms, problem)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            self.tick()
            self._woken.wait(self._every_ms / 1000)
