"""Waiting for a manager in another process to refresh a table (`wait`)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.job import StoredHandler
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus
from dbt.adapters.spark_mt.definition.positions import FollowedPosition
from dbt.adapters.spark_mt.execution.executor import stored_table
from dbt.adapters.spark_mt.execution.ports import reaches
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.job import Lease
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment


_POLL_S = 0.5


class WaitTimeoutError(MaterializedTableError):
    """A table is not started, or not fresh, within the time."""

    condition = "MATERIALIZED_TABLE_WAIT_TIMEOUT"
    text = "The materialized table {table} is not {wanted} after {seconds} seconds: {problem}."
    remedy = (
        "The manager's page and DESC EXTENDED show the cause; raise `at_most` of the model's "
        "config `wait`, or set it to none. The definition is stored, and the manager continues; "
        "nothing else was changed."
    )


@dataclass(frozen=True, slots=True)
class Keeper:
    """The manager that refreshes a table.

    Args:
        lease: Its lease.
        handler: The handler that it recorded for the table.
    """

    lease: Lease
    handler: StoredHandler

    def describe(self) -> str:
        """Return the manager as text."""
        stored = self.handler.description
        return f"{stored}, kept by {self.lease.owner}" if self.handler.scheduler else stored


def keeper_of(environment: Environment, name: TableName) -> Keeper | None:
    """Return the live manager that refreshes a table, or None without one.

    A handler that this release cannot read counts as none: a refresh by a statement is then fenced
    against the manager's.

    Args:
        environment: The ports.
        name: The full name.
    """
    lease = environment.managers.live(name.catalog or "")
    if lease is None:
        return None
    stored = environment.handlers(name)
    try:
        return Keeper(lease, StoredHandler.decode(stored)) if stored else None
    except ValueError:
        return None


def await_started(
    environment: Environment,
    name: TableName,
    at_most_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> Keeper:
    """Wait until a manager refreshes a table.

    Raises:
        WaitTimeoutError: No manager does within the time, in seconds.
    """
    for _ in range(max(1, int(at_most_s / _POLL_S))):
        keeper = keeper_of(environment, name)
        if keeper is not None:
            return keeper
        pause(_POLL_S)
    running = environment.managers.live(name.catalog or "")
    problem = f"{running.owner} has not taken it over" if running else "no manager runs"
    raise WaitTimeoutError(table=name, wanted="started", seconds=round(at_most_s), problem=problem)


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
        WaitTimeoutError: They do not within the time, in seconds, or never will.
    """
    table = stored_table(environment, name)
    resolved = table.definition.resolved
    analyzed = environment.stored_analyzer.analyze_stored(resolved)
    followed = row_shape(resolved, analyzed).followed
    now = environment.sources.positions(analyzed.sources)
    wanted = {s: at for s in followed if isinstance(at := now[s], FollowedPosition)}
    for _ in range(max(1, int(at_most_s / _POLL_S))):
        if reaches(table.positions, wanted):
            return table
        if table.definition.status is RefreshStatus.SUSPENDED:
            break
        pause(_POLL_S)
        environment.store.forget()
        table = stored_table(environment, name)
    raise WaitTimeoutError(
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
