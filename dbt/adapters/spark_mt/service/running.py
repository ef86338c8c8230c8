"""A manager that runs: what is started, and stopped in good order."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from dbt.adapters.spark_mt.execution.workflows import WorkflowScheduler
    from dbt.adapters.spark_mt.service.manager import Manager
    from dbt.adapters.spark_mt.service.parts import Parts


@dataclass(frozen=True, slots=True)
class RunningManager:
    """A manager with what has to be opened and closed.

    Args:
        manager: Answers.
        scheduler: Keeps the workflows.
        pool: Its runs work there.
        parts: What it is made of.
    """

    manager: Manager
    scheduler: WorkflowScheduler
    pool: ThreadPoolExecutor
    parts: Parts

    def start(self) -> None:
        """Begin to keep tables fresh."""
        self.scheduler.open()
        work = self.parts.dispatcher.work
        Thread(target=work, name="materialized-table-dispatcher", daemon=True).start()
        self.parts.loop.start()

    def stop(self, within_s: float) -> bool:
        """Stop in good order; returns whether everything ended within the time, in seconds."""
        self.scheduler.close(0)
        ended = self.manager.stop(within_s)
        self.pool.shutdown(wait=False, cancel_futures=True)
        return ended
