"""A manager that runs: what is started, and stopped in good order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Thread

    from dbt.adapters.spark_mt.execution.workflows import WorkflowScheduler
    from dbt.adapters.spark_mt.service.loop import Loop
    from dbt.adapters.spark_mt.service.manager import Manager


@dataclass(frozen=True, slots=True)
class RunningManager:
    """A manager with what has to be opened and closed.

    Args:
        manager: Answers.
        scheduler: Keeps the workflows.
        pool: Its runs work there.
        starters: Threads to start.
        loop: Its heart.
    """

    manager: Manager
    scheduler: WorkflowScheduler
    pool: ThreadPoolExecutor
    starters: tuple[Thread, ...]
    loop: Loop

    def start(self) -> None:
        """Begin to keep tables fresh."""
        self.scheduler.open()
        for thread in self.starters:
            thread.start()
        self.loop.start()

    def stop(self, within_s: float) -> bool:
        """Stop in good order; returns whether everything ended within the time, in seconds."""
        self.scheduler.close(0)
        ended = self.manager.stop(within_s)
        self.pool.shutdown(wait=False, cancel_futures=True)
        return ended
