"""One batch of a stream as one fenced commit, with the positions behind it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.commit_facts import StreamFacts
from dbt.adapters.spark_mt.definition.positions import VersionedPosition
from dbt.adapters.spark_mt.definition.table_state import LastRefresh
from dbt.adapters.spark_mt.execution.step_facts import facts_of
from dbt.adapters.spark_mt.execution.streams import BatchDone
from dbt.adapters.spark_mt.planning.guard import guarded
from dbt.adapters.spark_mt.planning.steps import WriteBatch
from dbt.adapters.spark_mt.spark.commits import fenced
from dbt.adapters.spark_mt.spark.delta_log import first_commit
from dbt.adapters.spark_mt.spark.private_session import PrivateSession
from dbt.adapters.spark_mt.spark.streams.offsets import delta_version, source_offsets
from dbt.adapters.spark_mt.spark.write_errors import WriteErrors

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.history import Commit
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.streams.storage import DriverFiles
    from dbt.adapters.spark_mt.spark.table_details import TableDetails

_BATCH = "__materialized_table_batch"


@dataclass(frozen=True, slots=True)
class DeltaBatches:
    """Where the batches of a stream over one Delta source are told.

    Args:
        checkpoint: The directory of the stream's checkpoint.
        name: How commits call it.
        followed: The source's full name.
        location: Where the source lives.
        run: The refresh, with the positions of what is not followed.
    """

    checkpoint: str
    name: str
    followed: str
    location: str
    run: RefreshRun


class BatchWriter:
    """Writes batches into tables."""

    def __init__(
        self,
        log: DeltaLog,
        details: TableDetails,
        files: DriverFiles,
        now_ms: Callable[[], int],
    ) -> None:
        self._errors = WriteErrors(log, details)
        self._details = details
        self._files = files
        self._now_ms = now_ms

    def write(
        self, frame: DataFrame, number: int, batches: DeltaBatches, table: StoredTable
    ) -> BatchDone:
        """Commit a batch to the table as it was behind the batch before.

        Raises:
            CommitConflictError: Another commit of ours came first.
            ConstraintViolatedError: The rows break a declared rule.
            RefreshSchemaError: The rows no longer fit the table.
            RefreshFailedError: Spark could not compute or write them.
        """
        started = self._now_ms()
        definition = table.definition
        positions = {**batches.run.positions, batches.followed: self._end(batches, number)}
        run = replace(batches.run, positions=positions, started_at_ms=started)
        facts = StreamFacts(batches.name, number)
        step = WriteBatch(definition, table.seq + 1, run, facts)
        session = PrivateSession(frame.sparkSession)
        frame.createOrReplaceTempView(_BATCH)
        with self._errors.explaining(session, step) as attempt:
            attempt.content = f"SELECT * FROM {_BATCH}"
            statement = (
                f"INSERT INTO {definition.name.sql}\n"
                f"{guarded(attempt.content, definition.resolved)}"
            )
            commit_facts = facts_of(step, secrets.token_hex(8))
            version = fenced(
                session, definition.name, commit_facts, lambda: session.spark.sql(statement)
            )
        rows = self._commit(self._location(table), version).rows
        return self._done(table, step, version, positions, rows)

    def _done(
        self,
        table: StoredTable,
        step: WriteBatch,
        version: int,
        positions: Positions,
        rows: int | None,
    ) -> BatchDone:
        now, run = self._now_ms(), step.run
        refresh = LastRefresh(
            run.refresh_id, run.strategy, run.trigger, run.started_at_ms, now, rows
        )
        after = replace(
            table, seq=step.seq, version=version, positions=positions, last_refresh=refresh
        )
        return BatchDone(after, step.stream, 1, rows or 0, now)

    def _end(self, batches: DeltaBatches, number: int) -> VersionedPosition:
        """The version behind a batch, as the checkpoint's log of offsets has it."""
        text = self._files.read(f"{batches.checkpoint}/offsets/{number}")
        offset = next(each for each in source_offsets(text) if each is not None)
        version = delta_version(offset)
        return VersionedPosition(version, self._commit(batches.location, version).identity)

    def _location(self, table: StoredTable) -> str:
        detail = self._details.of(table.name)
        return str(getattr(detail, "location", ""))

    def _commit(self, location: str, version: int) -> Commit:
        return first_commit(version, self._files.read(f"{location}/_delta_log/{version:020}.json"))
