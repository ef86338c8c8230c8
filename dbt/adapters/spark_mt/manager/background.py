"""Background tasks of a manager: lag measurement, removal of old files and of dead checkpoints."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dbt.adapters.spark_mt.execution.checks import Goal, measure
from dbt.adapters.spark_mt.execution.errors import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.checks import Lag
    from dbt.adapters.spark_mt.execution.ports import KnownTable, Storage
    from dbt.adapters.spark_mt.execution.table_history import SourceStates

    InBackground = Callable[[Callable[[], None]], object]
    """Runs an action somewhere else, soon: it may take minutes."""


_LOGGER = logging.getLogger(__name__)
_PAUSE = 49
"""How many times the duration of a measurement passes before the next one: 2 % of a core."""
_LONGEST_PAUSE_MS = 60_000
_SHARE_OF_FRESHNESS = 100
"""A lag is measured again after such a part of the table's freshness, however often others are."""
_FORGET_EVERY_MS = 3_600_000
"""How often the locations of tables are read again: nothing reports that they changed."""
CLEAN_EVERY_MS = 6 * 3600 * 1000
DAY_MS = 24 * 3600 * 1000
LEAST_KEPT_MS = 7 * DAY_MS
"""The usual default of table formats: readers may still read files that were replaced since."""


class TableLags:
    """Measures in a thread of its own; one measurement of all tables that are due at a time.

    A table is due when its row in the registry changed, as by a refresh, and a hundredth of its
    freshness after it was measured. So a thousand tables of a day cost hardly anything.

    Args:
        states: Reads what sources have; for this object alone.
        complete: Returns up to which instant the refresh of a table knows that nothing is missing.
        now_ms: Milliseconds since the epoch, UTC.
        in_background: Runs an action somewhere else.
    """

    def __init__(
        self,
        states: SourceStates,
        complete: Callable[[KnownTable], int | None],
        now_ms: Callable[[], int],
        in_background: InBackground,
    ) -> None:
        self._states = states
        self._complete = complete
        self._now_ms = now_ms
        self._in_background = in_background
        self._measured: Mapping[TableName, tuple[KnownTable, Lag]] = {}
        """The newest measurement of a table, and the row in the registry that it had then."""
        self._problems: dict[TableName, str] = {}
        self._is_busy = False
        self._next_ms = 0
        self._forgotten_ms = now_ms()

    def of(self, name: TableName) -> Lag | None:
        """Return the newest measurement of a table, from memory; None where there is none."""
        found = self._measured.get(name)
        return None if found is None else found[1]

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Begin a measurement of what is due, unless one runs or the last one was costly."""
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
            due = {name: table for name, table in tables.items() if self._is_due(table, began)}
            lags = {name: self._lag_of(table, known) for name, table in due.items()}
            new = {name: (due[name], lag) for name, lag in lags.items() if lag is not None}
            rest = tables.keys() - due.keys()
            self._measured = {n: found for n, found in self._measured.items() if n in rest} | new
            self._problems = {n: text for n, text in self._problems.items() if n in tables}
        finally:
            ended = self._now_ms()
            self._next_ms = ended + min(_LONGEST_PAUSE_MS, _PAUSE * (ended - began))
            self._is_busy = False

    def _is_due(self, table: KnownTable, now_ms: int) -> bool:
        row, lag = self._measured.get(table.name, (None, None))
        if row != table or lag is None:
            return True
        every_ms = table.freshness.seconds * 1000 / _SHARE_OF_FRESHNESS
        return now_ms - lag.measured_at_ms >= every_ms

    def _lag_of(self, table: KnownTable, complete: Mapping[TableName, int]) -> Lag | None:
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


class TableMaintenance:
    """Removes what no reader needs any more: one thing at a time, aside.

    Once a day on which a table was refreshed, its old files go. Its host merges its small files.

    Args:
        storage: Does it.
        now_ms: Milliseconds since the epoch, UTC.
        in_background: Runs an action somewhere else.
    """

    def __init__(
        self, storage: Storage, now_ms: Callable[[], int], in_background: InBackground
    ) -> None:
        self._storage = storage
        self._now_ms = now_ms
        self._in_background = in_background
        self._cleaned: dict[TableName, _Cleaned] = {}
        self._cleaned_ms = now_ms()
        self._is_busy = False

    def tick(self, tables: Mapping[TableName, KnownTable]) -> None:
        """Begin the next thing that is due, unless the one before still runs."""
        if self._is_busy:
            return
        now = self._now_ms()
        self._cleaned = {
            name: self._cleaned.get(name) or _Cleaned(now, table.last_refresh_at_ms)
            for name, table in tables.items()
        }
        action = self._due(tables, now)
        if action is not None:
            self._is_busy = True
            self._in_background(partial(self._do, action))

    def _do(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - maintenance must not fail the manager
            _LOGGER.warning("maintenance failed: %s", problem_of(error))
        finally:
            self._is_busy = False

    def _due(self, tables: Mapping[TableName, KnownTable], now: int) -> Callable[[], None] | None:
        if now - self._cleaned_ms >= CLEAN_EVERY_MS:
            self._cleaned_ms = now
            ids = frozenset(table.table_id for table in tables.values())
            return partial(self._storage.remove_dead_checkpoints, ids)
        for name, table in tables.items():
            before = self._cleaned[name]
            if now - before.at_ms >= DAY_MS and table.last_refresh_at_ms != before.refreshed_at_ms:
                self._cleaned[name] = _Cleaned(now, table.last_refresh_at_ms)
                kept_ms = kept_for(name, tables, now)
                return partial(self._storage.vacuum, name, table.table_id, kept_ms)
        return None


class _Cleaned(NamedTuple):
    """When old files of a table were removed, or it was seen first, and its newest refresh then."""

    at_ms: int
    refreshed_at_ms: int | None


def kept_for(name: TableName, tables: Mapping[TableName, KnownTable], now_ms: int) -> int:
    """Return for how long a table's replaced files must be kept, in milliseconds.

    A reader that stopped at an old version continues from there: its files stay until a day after
    its newest refresh.
    """
    readers = [t for t in tables.values() if str(name) in t.reads]
    oldest = min((t.last_refresh_at_ms or t.recorded_at_ms for t in readers), default=now_ms)
    return max(LEAST_KEPT_MS, now_ms - oldest + DAY_MS)
