"""How a hosted table does, and how its host spends its time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.resolution.engines import Engine


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
    """The host was told to stop, or the table is gone."""


@dataclass(frozen=True, slots=True)
class HostProgress:
    """How a hosted table does.

    Args:
        table: Its full name.
        positions: Up to where its rows reflect the sources; None before that is known.
        batches: How many commits the host made for it.
        rows: How many rows these wrote, where they were counted.
        committed_at_ms: When the newest was made, milliseconds since the epoch, UTC; 0 for none.
        looked_at_ms: The instant up to which the host knows that nothing is missing: when it began
            to look at the sources the last time that it has committed what it found.
        failures: How often in a row it failed.
        problem: Why it failed last, or why the table is suspended.
        engine: How it is kept; None before that was decided.
    """

    table: str
    phase: HostPhase = HostPhase.STARTING
    positions: Positions | None = None
    batches: int = 0
    rows: int = 0
    committed_at_ms: int = 0
    looked_at_ms: int = 0
    failures: int = 0
    problem: str = ""
    engine: Engine | None = None


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """How a host spends its time; all in milliseconds.

    Args:
        look: The longest pause between two looks at the table's log and at a source that stands
            still. Whoever is told of changes can afford a longer one: see `HostedTable.notice`.
        first_pause: After a second failure in a row; doubled with each further one.
        longest_pause: The most that becomes.
        spread: By which part of itself a pause is shortened at most, at random, so that tables
            which failed together are not tried together.
        give_up_after: After how many failures of the same cause the table is suspended with the
            reason; 0 for never.
    """

    look: int = 1_000
    first_pause: int = 1_000
    longest_pause: int = 60_000
    spread: float = 0.0
    give_up_after: int = 0

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
"""Looks every second and never gives up: for a host in somebody's own driver."""
