"""Scheduled times, one by one: what schedulers and missed runs are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from dbt.adapters.spark_mt.planning.schedule import Schedule


def due(schedule: Schedule, last: datetime, now: datetime) -> Iterator[datetime]:
    """Yield the scheduled times in (last, now], the oldest first."""
    scheduled = schedule.next_after(last)
    while scheduled <= now:
        yield scheduled
        scheduled = schedule.next_after(scheduled)
