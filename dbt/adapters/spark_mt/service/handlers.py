"""Writes into the registry who refreshes which table: the refresh handlers of seed 435."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.refresh_handler import (
    ContinuousRefreshHandler,
    JsonRefreshHandlerSerializer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Owner
    from dbt.adapters.spark_mt.definition.refresh_handler import RefreshHandler
    from dbt.adapters.spark_mt.execution.known_tables import KnownTable
    from dbt.adapters.spark_mt.execution.ports import ManagedRegistry
    from dbt.adapters.spark_mt.service.workflows import TableWorkflows


class RefreshHandlers:
    """Tells them once, and again where they change; one commit for all that changed.

    A handler names the term of the lease under which it was told: it counts as long as that holds.

    Args:
        catalog: Whose tables.
        registry: Where they are told.
        owner: The manager's process.
        term: Returns the term of the lease that it holds.
        workflows: Of FULL tables.
    """

    def __init__(
        self,
        catalog: str,
        registry: ManagedRegistry,
        owner: Owner,
        term: Callable[[], int],
        workflows: TableWorkflows,
    ) -> None:
        self._catalog = catalog
        self._registry = registry
        self._owner = owner
        self._term = term
        self._workflows = workflows
        self._told: dict[TableName, bytes] = {}

    def tell(self, tables: Sequence[KnownTable]) -> None:
        """Tell who refreshes these tables, and that nobody does those that were told before."""
        serializer = JsonRefreshHandlerSerializer()
        wanted = {t.name: serializer.serialize(self.of(t)) for t in tables}
        changed = {n: h for n, h in wanted.items() if self._told.get(n) != h}
        changed |= dict.fromkeys(self._told.keys() - wanted.keys(), b"")
        if changed:
            self._registry.tell_handlers(self._catalog, changed)
        self._told = wanted

    def forget(self) -> None:
        """Tell everything anew next time: another manager may have told otherwise meanwhile."""
        self._told = {}

    def of(self, table: KnownTable) -> RefreshHandler:
        """Return the handler of a table that this manager refreshes."""
        handler = self._workflows.handler(table.name)
        if table.refresh_mode is RefreshMode.FULL and handler is not None:
            return handler
        return ContinuousRefreshHandler(
            host=str(self._owner),
            query_id=table.table_id,
            run_id=f"{self._term()}.{table.generation}",
            checkpoint="",
        )
