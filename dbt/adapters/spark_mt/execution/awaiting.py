"""Waiting for a manager that lives in another process (semantics 10, `wait`)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import FollowedPosition
from dbt.adapters.spark_mt.definition.refresh_handler import (
    FullRefreshHandler,
    JsonRefreshHandlerSerializer,
)
from dbt.adapters.spark_mt.execution.stored import stored_table
from dbt.adapters.spark_mt.execution.streams import reaches
from dbt.adapters.spark_mt.resolution.query_shape import row_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.lease import Lease
    from dbt.adapters.spark_mt.definition.refresh_handler import RefreshHandler
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment

_LOOK_S = 0.5


class WaitedInVainError(MaterializedTableError):
    """A table is not started, or not fresh, within the time."""

    condition = "MATERIALIZED_TABLE_WAITED_IN_VAIN"
    text = "The materialized table {table} is not {wanted} after {seconds} seconds: {problem}."
    remedy = (
        "Look at the manager's page or at DESC EXTENDED for what keeps it; raise `at_most` of the "
        "model's config `wait`, or set it to none. The definition is stored, and the manager goes "
        "on; nothing else was changed."
    )


@dataclass(frozen=True, slots=True)
class Keeper:
    """The manager that refreshes a table.

    Args:
        lease: Its lease.
        handler: What it said of the table.
    """

    lease: Lease
    handler: RefreshHandler

    def describe(self) -> str:
        """For people."""
        told = self.handler.describe()
        return f"{told}, kept by {self.lease.owner}" if self._is_full else told

    @property
    def _is_full(self) -> bool:
        return isinstance(self.handler, FullRefreshHandler)


def keeper_of(environment: Environment, name: TableName) -> Keeper | None:
    """Return the living manager that refreshes a table, or None if nobody does by himself.

    Args:
        environment: The ports.
        name: The full name.
    """
    lease = environment.managers.live(name.catalog or "")
    if lease is None:
        return None
    told = environment.handlers(name)
    return Keeper(lease, JsonRefreshHandlerSerializer().deserialize(told)) if told else None


def await_started(
    environment: Environment,
    name: TableName,
    at_most_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> Keeper:
    """Wait until a manager has taken a table over.

    Raises:
        WaitedInVainError: Nobody has within the time, in seconds.
    """
    for _ in range(max(1, int(at_most_s / _LOOK_S))):
        keeper = keeper_of(environment, name)
        if keeper is not None:
            return keeper
        pause(_LOOK_S)
    running = environment.managers.live(name.catalog or "")
    problem = f"{running.owner} has not taken it over" if running else "no manager runs"
    raise WaitedInVainError(table=name, wanted="started", seconds=round(at_most_s), problem=problem)


def await_fresh(
    environment: Environment,
    name: TableName,
    at_most_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> StoredTable:
    """Wait until the rows of a CONTINUOUS table reflect what its sources have now.

    Returns:
        The table as it is then.

    Raises:
        WaitedInVainError: They do not within the time, in seconds, or never will.
    """
    table = stored_table(environment, name)
    resolved = table.definition.resolved
    analyzed = environment.stored_analyzer.analyze_stored(resolved)
    followed = row_shape(resolved, analyzed).followed
    now = environment.sources.positions(analyzed.sources)
    wanted = {s: at for s in followed if isinstance(at := now[s], FollowedPosition)}
    for _ in range(max(1, int(at_most_s / _LOOK_S))):
        if reaches(table.positions, wanted):
            return table
        if table.definition.status is RefreshStatus.SUSPENDED:
            break
        pause(_LOOK_S)
        environment.store.forget()
        table = stored_table(environment, name)
    raise WaitedInVainError(
        table=name, wanted="fresh", seconds=round(at_most_s), problem=_why_not(table)
    )


def _why_not(table: StoredTable) -> str:
    definition = table.definition
    if definition.status is RefreshStatus.SUSPENDED:
        reason = definition.status_reason or "by the user"
        return f"it is suspended ({reason})"
    if definition.resolved.refresh_mode is not RefreshMode.CONTINUOUS:
        return "it is refreshed at its scheduled times"
    return "its sources have more than its rows reflect"
