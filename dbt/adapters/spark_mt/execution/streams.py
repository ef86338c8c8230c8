"""What hosting needs from a streaming engine, as protocols and values (design section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.commit_facts import StreamFacts
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


@dataclass(frozen=True, slots=True)
class StreamTask:
    """A stream that shall follow a table's source from the positions of the table's rows on.

    Args:
        table: The table as it is.
        run: What the commits say about the refresh; its positions are those of what is not
            followed: views, functions, tables that are looked up.
        followed: Full name of the source.
        every_ms: From the start of one batch to that of the next, if there is anything to do.
    """

    table: StoredTable
    run: RefreshRun
    followed: str
    every_ms: int


@dataclass(frozen=True, slots=True)
class BatchDone:
    """The newest batch that a stream committed.

    Args:
        table: The table behind the commit: its version, sequence number and positions.
        facts: Which batch it was.
        batches: How many were committed since the stream started.
        rows: Rows that these batches wrote, where they were counted.
        committed_at_ms: When the newest was committed, milliseconds since the epoch, UTC.
    """

    table: StoredTable
    facts: StreamFacts
    batches: int
    rows: int
    committed_at_ms: int


class Stream(Protocol):
    """A stream that was started."""

    @property
    def is_active(self) -> bool:
        """Whether it goes on."""
        ...

    @property
    def failure(self) -> Exception | None:
        """Why it ended, where nobody stopped it.

        One of ours if a batch could not be committed, the engine's own if it could not be read.
        """
        ...

    @property
    def done(self) -> BatchDone | None:
        """What it has committed so far."""
        ...

    def stop(self) -> None:
        """End it between two batches; it has ended when this returns. May be called again."""
        ...


class StreamRunner(Protocol):
    """Starts streams."""

    def is_ready(self, task: StreamTask) -> bool:
        """Whether the source has moved, without which some sources cannot be opened."""
        ...

    def start(self, task: StreamTask) -> Stream:
        """Follow the source; each batch is one fenced commit of what it added.

        Raises:
            MaterializedTableError: The query cannot be run as a stream.
        """
        ...


def reaches(positions: Positions | None, wanted: Positions) -> bool:
    """Whether rows that reflect `positions` reflect everything up to `wanted`, too."""
    if positions is None:
        return False
    return all(
        name in positions and positions[name].reaches(position) for name, position in wanted.items()
    )
