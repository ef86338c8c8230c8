"""What REST, page, metrics and command line may ask of a manager.

Every method may be called from any thread. Those that read `views` from memory say so; the others
read the catalog, and may take a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import Pairs
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.service.requests import StatementRequest
    from dbt.adapters.spark_mt.service.views import (
        ChangeView,
        Health,
        ManagerView,
        RefreshRequest,
        RefreshSubmitted,
        RefreshTotals,
        TableDetails,
        TableView,
    )


class ManagerService(Protocol):
    """A running manager."""

    def about(self) -> ManagerView:
        """Tell about the manager itself, from memory."""
        ...

    def health(self) -> Health:
        """Tell whether it works, from memory."""
        ...

    def tables(self) -> tuple[TableView, ...]:
        """Return every table, ordered by name, from memory."""
        ...

    def totals(self) -> tuple[RefreshTotals, ...]:
        """Return the counters of every table, from memory."""
        ...

    def table(self, name: str) -> TableDetails:
        """Describe one table.

        Raises:
            MaterializedTableError: There is no such table, or its definition cannot be read.
        """
        ...

    def history(self, name: str, limit: int = 100) -> tuple[Job, ...]:
        """Return the newest refreshes of a table, the newest first.

        Raises:
            MaterializedTableError: There is no such table.
        """
        ...

    def job(self, job_id: str) -> Job | None:
        """Return one refresh, or None if the log knows of no such one."""
        ...

    def plan(self, statement: str) -> ChangeView:
        """Tell what a CREATE or ALTER statement would do; nothing is changed.

        A statement that would be refused is an answer, too: its violations are named.

        Raises:
            MaterializedTableError: The text is no such statement.
        """
        ...

    def execute(self, request: StatementRequest) -> StatementResult:
        """Carry out a statement that makes, changes or refreshes a table; returns at its end.

        A session of Spark Connect cannot run streams; whoever works in one asks for it here.

        Raises:
            MaterializedTableError: The text is no such statement, or it failed.
        """
        ...

    def refresh(self, request: RefreshRequest) -> RefreshSubmitted:
        """Check a refresh, and begin it; answers before it has ended.

        Raises:
            MaterializedTableError: It cannot be begun; nothing was done.
        """
        ...

    def suspend(self, name: str) -> ChangeView:
        """Suspend a table.

        Raises:
            MaterializedTableError: It cannot be; nothing was done.
        """
        ...

    def resume(self, name: str, run_options: Pairs = ()) -> ChangeView:
        """Let a suspended table go on; returns when it has caught up.

        Raises:
            MaterializedTableError: It cannot; it stays suspended.
        """
        ...

    def wake(self) -> None:
        """Look at everything now instead of in a few seconds."""
        ...
