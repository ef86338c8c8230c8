"""Policy by which a host chooses the time of each refresh, with the progress that it reports.

Each hosted table has a thread of its own. Refreshes of many tables at once would make each other
late, and all of them end at about the same time. In turns, the table that is late first is
refreshed first, and no table waits for ever: a deadline does not move while its table waits.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from threading import Condition
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, OutageError
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.executor import suspend
from dbt.adapters.spark_mt.execution.lookup import stored_table
from dbt.adapters.spark_mt.execution.retries import retrying

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.strategies.strategy import Choice


COMPACT_AFTER = 100
"""Each scan opens every file of a table; to merge them costs a job or two."""


LONGEST_REASON = 600
"""How many characters of an error the reason of a suspension keeps."""
LONG_MS = 10_000
"""After this time a refresh no longer counts: a large table must not delay many small ones."""
_MEASURED = 4
"""After so many refreshes their durations are known: the first ones of a JVM take longest."""
_KEPT = 8


class HostPhase(Enum):
    """What a host does for a table."""

    STARTING = "starting"
    STREAMING = "streaming"
    """A stream follows the source."""
    FOLLOWING = "following"
    """The host looks for new versions of the sources, and refreshes when there are any."""
    SUSPENDED = "suspended"
    """The table is suspended; the host waits for its RESUME."""
    FAILING = "failing"
    """The last attempt failed; the host tries again after a pause."""
    ENDED = "ended"
    """The host was stopped, or the table is gone."""


@dataclass(frozen=True, slots=True)
class HostProgress:
    """How a hosted table does.

    Args:
        table: Its full name.
        positions: Up to where its rows reflect the sources; None before that is known.
        batches: How many commits the host made for it.
        rows: How many rows these wrote, where they were counted.
        committed_at_ms: When the newest was made, milliseconds since the epoch, UTC; 0 for none.
        checked_at_ms: The instant up to which the host knows that nothing is missing: when it began
            to look at the sources the last time that it has committed what it found.
        failures: How often in a row it failed.
        problem: Why it failed last, or why the table is suspended.
        choice: How it is kept; None before that was decided.
    """

    table: str
    phase: HostPhase = HostPhase.STARTING
    positions: Positions | None = None
    batches: int = 0
    rows: int = 0
    committed_at_ms: int = 0
    checked_at_ms: int = 0
    failures: int = 0
    problem: str = ""
    choice: Choice | None = None


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """How a host spends its time; all in milliseconds.

    Args:
        look: The longest pause between two checks of the table's log and of a source without new
            rows. A host that gets notices can have a longer one: see `HostedTable.notice`.
        first_pause: After a second failure in a row; doubled with each further one.
        longest_pause: The most that becomes.
        spread: By which part of itself a pause is shortened at most, at random, so that tables
            which failed together are not tried together.
        suspend_after: After how many failures of the same cause the table is suspended with the
            reason; 0 for never.
        compact_after: After how many commits the table's small files are merged; 0 for never.
    """

    look: int = 1_000
    first_pause: int = 1_000
    longest_pause: int = 60_000
    spread: float = 0.0
    suspend_after: int = 0
    compact_after: int = COMPACT_AFTER

    def pause_after(self, failures: int, chance: float = 0.0) -> int:
        """Return how long to wait after so many failures in a row; none after the first.

        Args:
            failures: In a row.
            chance: From 0 to 1, how much of the spread to use.
        """
        if failures < 2:
            return 0
        pause = min(self.longest_pause, self.first_pause << min(failures - 2, 16))
        return round(pause * (1 - self.spread * chance))


PATIENT = HostPolicy()
"""Checks every second, without a limit of failures: for a host in a user's driver."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How often in a row a refresh failed, and how often of them for the same cause.

    Args:
        count: In a row.
        same: Of the newest cause, in a row; an outage of something else is no cause.
        cause: The condition of the newest error, or its class where it has none.
        problem: The newest error's text.
    """

    count: int = 0
    same: int = 0
    cause: str = ""
    problem: str = ""

    def after(self, error: BaseException) -> Failures:
        """Return what they are after one more."""
        cause = cause_of(error)
        same = self.same + 1 if cause == self.cause else 1
        if isinstance(error, OutageError):
            same = 0  # a table that is suspended waits for the user, also when the catalog is back
        text = problem_of(error) if isinstance(error, Exception) else repr(error)
        return Failures(self.count + 1, same, cause, text)


def cause_of(error: BaseException) -> str:
    """Return what two failures share that have the same cause: a condition, never a text."""
    if isinstance(error, MaterializedTableError):
        return error.condition
    inner = getattr(error, "java_exception", None) or error
    condition = getattr(inner, "getCondition", None)
    found = condition() if callable(condition) else None
    return str(found) if found else type(error).__name__


def suspend_failing(environment: Environment, name: TableName, failures: Failures) -> None:
    """Suspend a table with the reason; RESUME or a changed definition ends that.

    Raises:
        MaterializedTableError: The table could not be suspended.
    """
    reason = (
        f"given up after {failures.same} failures of the same cause: "
        f"{failures.problem[:LONGEST_REASON]}"
    )
    sentence = f"suspended: {reason}"
    retrying(lambda: suspend(environment, stored_table(environment, name), reason, sentence))


@dataclass(slots=True)
class Pace:
    """How often a hosted table checks its sources.

    A change that comes right after a check waits for the next check and for its refresh. Each
    refresh costs about the same, whatever the number of changes. So a table checks as seldom as its
    freshness permits, by what its last refreshes took.
    """

    _took_ms: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def took(self, duration_ms: int) -> None:
        """Take note of a refresh: from its check of the sources, or its wait for a turn, on."""
        self._took_ms.append(max(0, duration_ms))

    def interval_ms(self, freshness_ms: int, inputs_ms: int = 0, *, is_stream: bool = False) -> int:
        """Return the time from one check to the next, in milliseconds.

        Args:
            freshness_ms: That of the table.
            inputs_ms: How old the rows of its sources may be when the table reads them.
            is_stream: Whether the next check is that long after the beginning of the last batch,
                rather than after the end of the last refresh, for which a change may wait, too.

        Returns:
            What the freshness leaves after two refreshes, or the batch of a stream, and a reserve
            of a tenth of it. At least half of the freshness, and that until some refreshes were
            measured; a quarter where the sources are refreshed, too.
        """
        if len(self._took_ms) < _MEASURED:
            return freshness_ms // 2
        least_ms = freshness_ms // (4 if inputs_ms else 2)
        reserve_ms = (1 if is_stream else 2) * max(self._took_ms) + freshness_ms // 10
        return max(least_ms, freshness_ms - inputs_ms - reserve_ms)


def differs(every_ms: int, wanted_ms: int) -> bool:
    """Whether a stream is to be started again, because its interval is more than a fifth off."""
    return 5 * abs(every_ms - wanted_ms) > every_ms


class TurnGivenUpError(Exception):
    """The table shall not be refreshed any more: its host stops."""


@dataclass(slots=True, eq=False)
class _Turn:
    due_ms: int
    began_ms: int = -1


@dataclass(slots=True)
class Turns:
    """Turns that the hosted tables of a process share.

    Args:
        most: How many refreshes run at a time, not counting long ones.
        now_ms: Returns the current instant, milliseconds since the epoch, UTC.
    """

    most: int
    now_ms: Callable[[], int]
    _changed: Condition = field(default_factory=Condition)
    _waiting: list[_Turn] = field(default_factory=list)
    _running: list[_Turn] = field(default_factory=list)

    @property
    def waiting(self) -> int:
        """How many refreshes wait for their turn."""
        with self._changed:
            return len(self._waiting)

    @contextmanager
    def turn(self, due_ms: int, gives_up: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Wait for a turn, and have it while the block runs.

        Args:
            due_ms: When the table is late, milliseconds since the epoch, UTC. Of those that wait
                the one with the earliest deadline comes first, of equal ones the one that came
                first.
            gives_up: Whether to wait no longer; see `look_again`.

        Raises:
            TurnGivenUpError: It was given up before it began.
        """
        turn = _Turn(due_ms)
        with self._changed:
            self._waiting.append(turn)
            self._changed.notify_all()  # a refresh that runs may be a long one by now
            try:
                self._wait(turn, gives_up)
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
            turn.began_ms = self.now_ms()
            self._running.append(turn)
        try:
            yield
        finally:
            with self._changed:
                self._running.remove(turn)
                self._changed.notify_all()

    def look_again(self) -> None:
        """Let those that wait look whether they give up."""
        with self._changed:
            self._changed.notify_all()

    def _wait(self, turn: _Turn, gives_up: Callable[[], bool]) -> None:
        while not gives_up():
            now = self.now_ms()
            left = [began + LONG_MS - now for began in (each.began_ms for each in self._running)]
            short = [each for each in left if each > 0]
            is_first = min(self._waiting, key=lambda each: each.due_ms) is turn
            if is_first and len(short) < self.most:
                return
            self._changed.wait(min(short, default=LONG_MS) / 1000)
        raise TurnGivenUpError
