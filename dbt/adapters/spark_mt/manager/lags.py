"""Measurement of the lags of a catalog's tables, repeated at a bounded cost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.checks import Goal, measure
from dbt.adapters.spark_mt.execution.errors import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.registry_entry import KnownTable
    from dbt.adapters.spark_mt.execution.source_states import SourceStates


_LOGGER = logging.getLogger(__name__)
_PAUSE = 49
"""How many times the duration of a measurement passes before the next one: 2 % of a core."""
_LONGEST_PAUSE_MS = 60_000
_FORGET_EVERY_MS = 3_600_000
"""How often the locations of tables are read again: nothing reports that they changed."""


class TableLags:
    """Measures in a thread of its own; one measurement of all tables at a time.

    Args:
        states: Reads what sources have; for this object alone.
        complete: Returns up to which instant the refresh of a table knows that nothing is missing.
        now_ms: The current instant, milliseconds since the epoch, UTC.
        in_background: Runs an action somewhere else, soon.
    """

    def __init__(
        self,
        states: SourceStates,
        complete: Callable[[KnownTable], int | None],
        now_ms: Callable[[], int],
        in_background: Callable[[Callable[[], None]], object],
    ) -> None:
        self._states = states
        self._complete = complete
        self._now_ms = now_ms
        self._in_background = in_background
        self._lags: Mapping[TableName, Lag] = {}
        self._problems: dict[TableName, str] = {}
        self._is_busy = False
        self._next_ms = 0
        self._forgotten_ms = now_ms()

    def of(self, name: TableName) -> Lag | None:
        """Return the newest measurement of a table, from memory; None where there is none."""
        return self._lags.get(name)

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Begin a measurement of every table, unless one runs or the last one was costly."""
        if not self._is_busy and self._now_ms() >= self._next_ms:
            self._is_busy = True
            self._in_background(lambda: self._measure_all(tables))

    def _measure_all(self, tables: Mapping[TableName, KnownTable]) -> None:
        began = self._now_ms()
        try:
            if began - self._forgotten_ms >= _FORGET_EVERY_MS:
                self._forgotten_ms = began
                self._states.forget()
            complete = {name: self._complete(table) for name, table in tables.items()}
            known = {name: at for name, at in complete.items() if at is not None}
            lags = {name: self._measured(table, known) for name, table in tables.items()}
            self._lags = {name: lag for name, lag in lags.items() if lag is not None}
            self._problems = {n: text for n, text in self._problems.items() if n in tables}
        finally:
            ended = self._now_ms()
            self._next_ms = ended + min(_LONGEST_PAUSE_MS, _PAUSE * (ended - began))
            self._is_busy = False

    def _measured(self, table: KnownTable, complete: Mapping[TableName, int]) -> Lag | None:
        goal = Goal(table.name, table.freshness.seconds, table.refresh_mode)
        try:
            state = self._states.newest(table.name)
            lag = measure(state, goal, self._states, self._now_ms(), complete)
        except Exception as error:  # noqa: BLE001 - one table that cannot be read holds up no other
            problem = problem_of(error)
            if self._problems.get(table.name) != problem:
                _LOGGER.warning("the lag of %s cannot be measured: %s", table.name, problem)
            self._problems[table.name] = problem
            return None
        self._problems.pop(table.name, None)
        return lag
