"""What a run asks about the manager that keeps tables fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.definition.wait import Wait
from dbt.adapters.spark_mt.execution.awaiting import (
    await_fresh,
    await_started,
    keeper_of,
)
from dbt.adapters.spark_mt.execution.refreshes import Refreshes
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.statements.routing import parse_name

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.spark.environment import SparkEnvironment


class TableWaiting:
    """Tells whether a manager refreshes a table, and waits for it."""

    _environment: SparkEnvironment

    def keeper(self, name: str) -> str:
        """Return who refreshes a table by himself, for people; empty if nobody does.

        Args:
            name: The table's name, in backticks where it needs them.
        """
        environment = self._environment.value
        found = keeper_of(environment, environment.store.full_name(parse_name(name)))
        return "" if found is None else found.describe()

    def wait_for(self, name: str, wait: Wait, at_most: float) -> None:
        """Wait for the manager that keeps a table fresh; without one there is nothing to wait for.

        A table that is refreshed at scheduled times is made fresh by a refresh now.

        Args:
            name: The table's name, in backticks where it needs them.
            wait: For what.
            at_most: The longest time, in seconds.

        Raises:
            WaitedInVainError: It does not come within the time.
        """
        environment = self._environment.value
        full = environment.store.full_name(parse_name(name))
        if wait is Wait.NONE or environment.managers.live(full.catalog or "") is None:
            return
        self._environment.details.forget()
        if wait is Wait.STARTED:
            await_started(environment, full, at_most)
            return
        resolved = stored_table(environment, full).definition.resolved
        if resolved.refresh_mode is RefreshMode.FULL:
            Refreshes(environment).refresh(full)
        else:
            await_fresh(environment, full, at_most)
