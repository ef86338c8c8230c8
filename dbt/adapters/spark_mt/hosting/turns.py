"""Times of hosted refreshes: how often each table checks its sources, and whose turn it is.

Each hosted table has a thread of its own. Refreshes of many tables at once would make each other
late, and all of them end at about the same time. In turns, the table that is late first is
refreshed first, and no table waits for ever: a deadline does not move while its table waits.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


LONG_MS = 10_000
"""After this time a refresh no longer counts: a large table must not delay many small ones."""


_MEASURED = 4
"""After so many refreshes their durations are known: the first ones of a JVM take longest."""
_KEPT = 8


@dataclass(slots=True)
class Pace:
    """How often a hosted table checks its sources.

    A change that comes right after a check waits for the refresh that has begun, for the next check
    and for its refresh. Each refresh costs about the same, whatever the number of changes. So a
    table checks as seldom as its freshness permits, by what its last refreshes took.
    """

    _took_ms: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def took(self, duration_ms: int) -> None:
        """Take note of a refresh: from its check of the sources, or its wait for a turn, on."""
        self._took_ms.append(max(0, duration_ms))

    def interval_ms(self, freshness_ms: int, inputs_ms: int = 0) -> int:
        """Return the time from one check to the next, in milliseconds.

        Args:
            freshness_ms: That of the table.
            inputs_ms: How old the rows of its sources may be when the table reads them.

        Returns:
            What the freshness leaves after two refreshes and a reserve of a tenth of it. At least
            half of the freshness, and that until some refreshes were measured; a quarter where
            the sources are refreshed, too.
        """
        if len(self._took_ms) < _MEASURED:
            return freshness_ms // 2
        least_ms = freshness_ms // (4 if inputs_ms else 2)
        reserve_ms = 2 * max(self._took_ms) + freshness_ms // 10
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
