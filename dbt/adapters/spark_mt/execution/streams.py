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
    """A stream that shall bring a table on from the state that its rows have.

    Args:
        table: The table as it is.
        run: What the commits say about the refresh, and the engine; its positions are those of what
            is not followed: views, functions, tables that are looked up.
        resumes: The batch behind which the stream goes on in the checkpoint that it kept; None for
            a stream that begins at the positions of the table's rows.
        every_ms: From the start of one batch to that of the next, if there is anything to do; None
            for a stream that reads what is there and ends.
    """

    table: StoredTable
    run: RefreshRun
    resumes: StreamFacts | None = None
    every_ms: int | None = None

    @property
    def followed(self) -> tuple[str, ...]:
        """Full names of the sources that are streams."""
        return self.run.engine.followed if self.run.engine else ()


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
    def is_in_batch(self) -> bool:
        """Whether a batch is being written: what it commits is not in `done` yet."""
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

    @property
    def looked_at_ms(self) -> int:
        """When it began to look at its sources the last time that it has committed what it found.

        Milliseconds since the epoch, UTC; 0 before it has.
        """
        ...

    def wait(self) -> None:
        """Wait until a stream has ended that only reads what is there."""
        ...

    def stop(self) -> None:
        """End it between two batches; it has ended when this returns. May be called again."""
        ...


class StreamRunner(Protocol):
    """Starts streams."""

    def can_resume(self, table_id: str, stream: StreamFacts) -> bool:
        """Whether a checkpoint is there and has the batch, and no later one is complete in it."""
        ...

    def start(self, task: StreamTask) -> Stream:
        """Follow the sources; each batch is one fenced commit.

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
