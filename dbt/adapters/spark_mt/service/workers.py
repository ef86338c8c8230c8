"""What the reconciler directs, as protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.execution.host_progress import HostProgress
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.service.runs import Dispatcher


class Hosting(Protocol):
    """Follows the sources of CONTINUOUS tables, each in a thread of its own."""

    def start(self, name: TableName) -> None:
        """Keep a table fresh from now on; nothing if it is kept fresh already."""
        ...

    def notice(self, name: TableName) -> None:
        """Look at a table at once that was changed."""
        ...

    def forget(self, name: TableName) -> None:
        """Stop a table without waiting for it."""
        ...

    def drain(self, within_s: float) -> bool:
        """Wait for tables that were stopped without waiting.

        Args:
            within_s: The longest time to wait, in seconds.

        Returns:
            Whether all of them have come to their end.
        """
        ...

    def hosted(self) -> frozenset[TableName]:
        """Return the tables that are kept fresh now."""
        ...

    def progress(self, name: TableName) -> HostProgress:
        """Return how a table does that is kept fresh here, or was."""
        ...


class Workflows(Protocol):
    """The workflows of FULL tables in a scheduler."""

    def converge(
        self, tables: Sequence[KnownTable], last_scheduled: Mapping[TableName, int]
    ) -> bool:
        """Make the workflows be those of the tables; those of other tables are deleted.

        Args:
            tables: Every FULL table, suspended ones too.
            last_scheduled: The newest scheduled time of each that was run for; milliseconds since
                the epoch, UTC.

        Returns:
            Whether they are; what failed is to be tried again.
        """
        ...


class Handlers(Protocol):
    """Tells by whom tables are refreshed."""

    def tell(self, tables: Sequence[KnownTable]) -> None:
        """Tell it of tables that are new here, and of those that no longer are, in one commit."""
        ...

    def forget(self) -> None:
        """Tell everything anew next time."""
        ...


class Upkeep(Protocol):
    """What is done for tables when nothing else is to do."""

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Do a little of it."""
        ...


@dataclass(frozen=True, slots=True)
class Workers:
    """What the reconciler directs.

    Args:
        hosting: Of CONTINUOUS tables.
        workflows: Of FULL tables.
        dispatcher: Of their runs.
        handlers: Tells who refreshes what.
        upkeep: Compaction and removal of what is dead.
        flush: Writes what was told and may wait.
        take_over: What a new leader does once, aside: deriving modes again.
    """

    hosting: Hosting
    workflows: Workflows
    dispatcher: Dispatcher
    handlers: Handlers
    upkeep: Upkeep
    flush: Callable[[], None]
    take_over: Callable[[], None]
