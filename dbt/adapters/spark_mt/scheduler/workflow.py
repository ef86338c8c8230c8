"""One table's workflow: what was run for last, and what is due."""

from __future__ import annotations

import logging
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.workflows import Firing
from dbt.adapters.spark_mt.planning.missed import missed_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dbt.adapters.spark_mt.execution.workflows import (
        CreateRefreshWorkflow,
        ResumeRefreshWorkflow,
        SchedulerContext,
    )

_LOGGER = logging.getLogger(__name__)


class Workflow:
    """The state of a workflow, for any thread.

    Only `run` takes long, and must not be called twice at a time.
    """

    def __init__(self, asked: CreateRefreshWorkflow, context: SchedulerContext) -> None:
        self._context = context
        self._lock = Lock()
        self._asked = asked
        self._last = asked.last_scheduled_at or context.clock()
        self._next = asked.schedule.next_after(self._last)
        self._is_active = True

    @property
    def asked(self) -> CreateRefreshWorkflow:
        """What the workflow was asked for, as it stands now."""
        return self._asked

    @property
    def is_active(self) -> bool:
        """Whether it runs at its scheduled times."""
        return self._is_active

    def update(self, asked: CreateRefreshWorkflow) -> None:
        """Take over what is asked for now, and be active."""
        with self._lock:
            self._asked = asked
            self._is_active = True
            self._count_from(max(self._last, asked.last_scheduled_at or self._last))

    def rest(self) -> None:
        """Begin no more runs."""
        with self._lock:
            self._is_active = False

    def resume(self, order: ResumeRefreshWorkflow) -> None:
        """Go on, from what was ordered or else from what was run last."""
        with self._lock:
            self._asked = replace(self._asked, run_options=order.run_options)
            self._is_active = True
            self._count_from(order.last_scheduled_at or self._last)

    def is_due(self) -> bool:
        """Whether a scheduled time has come that was not run for."""
        with self._lock:
            return self._is_active and self._next <= self._context.clock()

    def run(self, stopped: Callable[[], bool]) -> None:
        """Make up for what is due now, one run after the other.

        Args:
            stopped: Whether no further run shall begin.
        """
        with self._lock:
            asked, last = self._asked, self._last
        now = self._context.clock()
        missed = missed_runs(asked.schedule, dict(asked.formatters), last, now)
        left_out = missed.left_out
        if left_out is not None:
            _LOGGER.warning("%s: runs up to %s are left out: too many", asked.table, left_out)
        for scheduled_at in missed.scheduled:
            if stopped() or not self._still(asked):
                return
            firing = Firing(asked.table, asked.table_id, scheduled_at, asked.run_options, left_out)
            self._fire(firing)
            left_out = None

    def _still(self, asked: CreateRefreshWorkflow) -> bool:
        with self._lock:
            return self._is_active and self._asked is asked

    def _fire(self, firing: Firing) -> None:
        try:
            self._context.fire(firing)
        except Exception:
            _LOGGER.exception("%s: the run for %s failed", firing.table, firing.scheduled_at)
        with self._lock:
            self._count_from(max(self._last, firing.scheduled_at))

    def _count_from(self, last: datetime) -> None:
        self._last = last
        self._next = self._asked.schedule.next_after(last)
