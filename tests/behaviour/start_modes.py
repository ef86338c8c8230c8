"""Source rows that a table has after START_MODE, in each of its forms.

Every source row is known, and came before the instant that the statement names, at it, or later.
Each is counted: it is in the table once, by the old query or by the new one, or there is no
guarantee for it and it is not there. A subclass gives the fixture `world`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, ClassVar

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.results import Action
from tests.support.errors import raises

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.results import StatementOutcome
    from tests.behaviour.harness import Tables

EVENTS = "id INT"
SPAN = timedelta(hours=1)
OLD, NEW = "old", "new"
LIVE = "FRESHNESS = INTERVAL '1' MINUTE"
BY_ID = "(PRIMARY KEY (id) NOT ENFORCED)"
BEGINNING = "FROM_BEGINNING"
NOW = "FROM_NOW"
SINCE = "FROM_NOW(INTERVAL '1' HOUR)"
AT = "FROM_TIMESTAMP(TIMESTAMP '{}')"
PLAIN = (BEGINNING, NOW, SINCE, AT)
RESUMING = tuple(f"RESUME_OR_{start}" for start in PLAIN)
STARTS = (*PLAIN, *RESUMING)
IDS = {
    start: start.partition("(TIMESTAMP")[0].replace("(INTERVAL '1' HOUR)", "-1h")
    for start in STARTS
}


class World(ABC):
    """A source `events`, and statements that are executed at an instant of the test's choice.

    Attributes:
        tables: The session.
        now: When statements are executed.
    """

    query: ClassVar[str] = "SELECT id, '{}' AS tag FROM events"
    """The table's query, which says by which of two queries a row came."""

    def __init__(self, tables: Tables, now: datetime) -> None:
        self.tables = tables
        self.now = now
        self._instant = now

    @abstractmethod
    def add(self, id_: int) -> datetime:
        """Add a row to the source, and return when that was."""

    @abstractmethod
    def lose(self) -> None:
        """Let the source forget all that it has, and more than any refresh has read."""

    def mark(self, id_: int) -> None:
        """Add the row of the instant."""
        self._instant = self.add(id_)

    def define(
        self, start: str, tag: str = NEW, *, columns: str = "", later: timedelta = SPAN
    ) -> StatementOutcome:
        """Bring the table `t` in line with a start and a query, an hour after the instant."""
        self.now = self._instant + later
        start = start.format(self._instant.isoformat(sep=" "))
        found = self.tables.execute(
            f"CREATE OR ALTER MATERIALIZED TABLE t {columns} {LIVE} START_MODE = {start} "
            f"AS {self.query.format(tag)}"
        )
        assert found is not None
        assert found.outcome is not None
        return found.outcome

    def refresh(self) -> None:
        """Bring the table `t` up to date."""
        self.tables.execute("ALTER MATERIALIZED TABLE t REFRESH")

    def arrived(self) -> Counter[tuple[int, str]]:
        """How often each source row is in the table, by each query."""
        return Counter(self.tables.rows("t"))

    @property
    def instant_ms(self) -> int:
        """The instant in whole milliseconds since the epoch."""
        since = self._instant - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return since // timedelta(milliseconds=1)


def once(old: tuple[int, ...] = (), new: tuple[int, ...] = ()) -> Counter[tuple[int, str]]:
    """Each row once."""
    return Counter([(id_, OLD) for id_ in old] + [(id_, NEW) for id_ in new])


def each(*starts: str) -> pytest.MarkDecorator:
    """One test per start."""
    return pytest.mark.parametrize("start", starts, ids=[IDS[start] for start in starts])


_CREATED = {BEGINNING: (1, 2, 3, 4), NOW: (4,), SINCE: (2, 3, 4), AT: (2, 3, 4)}
"""The rows of a new table; row 2 came at the instant, row 4 after the statement."""
_CHANGED = {BEGINNING: ((), (1, 2, 3, 4)), NOW: ((1, 2), (4,))} | dict.fromkeys(
    RESUMING, ((1, 2), (3, 4))
)
"""The rows of the old query and of the new one, if the table had the rows 1 and 2 before."""
_BY_KEY = _CHANGED | dict.fromkeys((SINCE, AT), ((1,), (2, 3, 4)))
"""The same if rows replace rows."""
_REFUSED = (SINCE, AT)
"""Row 2 would be there twice."""
_LOST = {
    f"RESUME_OR_{BEGINNING}": ((), (3, 4)),
    f"RESUME_OR_{NOW}": ((1, 2), (4,)),
    f"RESUME_OR_{SINCE}": ((1, 2), (3, 4)),
    f"RESUME_OR_{AT}": ((1, 2), (3, 4)),
}
"""The rows if the table had 1 and 2, and the source knows of 3 and later ones only."""


class StartModes:
    """The guarantees."""

    @each(*STARTS)
    def test_a_new_table(self, world, start):
        world.add(1)
        world.mark(2)
        world.add(3)
        assert world.define(start).action is Action.CREATED
        wanted = _CREATED[start.removeprefix("RESUME_OR_")]
        assert world.arrived() == once(new=wanted[:-1])
        world.add(4)
        world.refresh()
        assert world.arrived() == once(new=wanted)

    @each(*_CHANGED)
    def test_another_query(self, world, start):
        self._has_two_rows(world)
        world.add(3)
        assert world.define(start).action is Action.ALTERED
        old, new = _CHANGED[start]
        assert world.arrived() == once(old, new[:-1])
        world.add(4)
        world.refresh()
        assert world.arrived() == once(old, new)

    @each(*_REFUSED)
    def test_another_query_that_would_double_rows(self, world, start):
        self._has_two_rows(world)
        world.add(3)
        with raises(conditions.UNSUPPORTED_START_MODE_CHANGE):
            world.define(start)
        assert world.arrived() == once((1, 2))
        world.add(4)
        world.refresh()
        assert world.arrived() == once((1, 2, 3, 4))

    @each(*_BY_KEY)
    def test_another_query_by_key(self, world, start):
        self._has_two_rows(world, BY_ID)
        world.add(3)
        world.define(start, columns=BY_ID)
        old, new = _BY_KEY[start]
        assert world.arrived() == once(old, new[:-1])
        world.add(4)
        world.refresh()
        assert world.arrived() == once(old, new)

    @each(*STARTS)
    def test_another_query_of_an_empty_table(self, world, start):
        """What it has counted so far is where it continues; there are no rows to double."""
        world.add(1)
        world.define(NOW, OLD)
        world.mark(2)
        world.add(3)
        world.define(start)
        wanted = _CREATED[SINCE] if start in RESUMING else _CREATED[start]
        assert world.arrived() == once(new=wanted[:-1])
        world.add(4)
        world.refresh()
        assert world.arrived() == once(new=wanted)

    @each(*_LOST)
    def test_rows_without_positions_to_continue_from(self, world, start):
        columns = BY_ID if start not in tuple(_LOST)[:2] else ""
        self._has_two_rows(world, columns)
        world.lose()
        world.add(3)
        outcome = world.define(start, columns=columns)
        assert any("cannot resume" in warning for warning in outcome.warnings)
        old, new = _LOST[start]
        assert world.arrived() == once(old, new[:-1])
        world.add(4)
        world.refresh()
        assert world.arrived() == once(old, new)

    @each(SINCE, AT, f"RESUME_OR_{SINCE}", f"RESUME_OR_{AT}")
    def test_an_instant_is_recorded_once(self, world, start):
        """The same statement means what it meant when it took effect."""
        world.add(1)
        world.mark(2)
        world.define(start)
        stored = world.tables.stored("t").definition
        assert stored.resolved.start_mode.instant_ms == world.instant_ms
        assert world.define(start, later=2 * SPAN).action is Action.UNCHANGED
        assert world.tables.stored("t").definition == stored
        world.add(3)
        world.refresh()
        assert world.arrived() == once(new=(2, 3))

    @staticmethod
    def _has_two_rows(world, columns=""):
        world.add(1)
        world.mark(2)
        world.define(BEGINNING, OLD, columns=columns)
        assert world.arrived() == once((1, 2))
