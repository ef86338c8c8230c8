"""One batch of a stream as one fenced commit, with the positions behind it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.identifier import quote
from dbt.adapters.spark_mt.definition.table_state import LastRefresh
from dbt.adapters.spark_mt.execution.hosting_errors import CheckpointLostError
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from dbt.adapters.spark_mt.execution.step_facts import facts_of
from dbt.adapters.spark_mt.execution.streams import BatchDone
from dbt.adapters.spark_mt.planning.batches import WriteBatch
from dbt.adapters.spark_mt.planning.guard import guarded
from dbt.adapters.spark_mt.spark.commits import fenced
from dbt.adapters.spark_mt.spark.private_session import PrivateSession
from dbt.adapters.spark_mt.spark.table_details import NoTable
from dbt.adapters.spark_mt.spark.write_errors import WriteErrors

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.history import Commit
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.spark.delta_log import DeltaLog
    from dbt.adapters.spark_mt.spark.streams.checkpoints import Checkpoint, Checkpoints
    from dbt.adapters.spark_mt.spark.streams.ends import BatchEnds
    from dbt.adapters.spark_mt.spark.table_details import TableDetails

_BATCH = "__materialized_table_batch"
_NO_BATCH = -1
_MERGE_CONFS = {"spark.databricks.delta.merge.materializeSource": "auto"}
"""Delta keeps the rows of a batch while it merges them, and refuses those that we keep."""


@dataclass(frozen=True, slots=True)
class BatchContext:
    """What the batches of one stream have in common.

    Args:
        run: The refresh, with the positions of what is not followed, and the engine.
        checkpoint: Where Spark notes what each batch reads.
        ends: Tells positions from that.
    """

    run: RefreshRun
    checkpoint: Checkpoint
    ends: BatchEnds


class BatchWriter:
    """Writes batches into tables.

    Args:
        log: Reads Delta logs.
        details: What the catalog says about tables.
        checkpoints: Reads checkpoints.
        now_ms: The current instant, milliseconds since the epoch, UTC.
    """

    def __init__(
        self,
        log: DeltaLog,
        details: TableDetails,
        checkpoints: Checkpoints,
        now_ms: Callable[[], int],
    ) -> None:
        self._errors = WriteErrors(log, details)
        self._details = details
        self._log = log
        self._checkpoints = checkpoints
        self._now_ms = now_ms

    def positions(self, context: BatchContext, number: int) -> Positions:
        """Return up to where the rows of a table reflect its sources behind a batch."""
        offsets = self._checkpoints.offsets(context.checkpoint, number)
        return {**context.run.positions, **context.ends.positions(offsets)}

    def write(
        self, frame: DataFrame, number: int, context: BatchContext, table: StoredTable
    ) -> BatchDone | None:
        """Commit a batch to the table as it was behind the batch before.

        Spark runs a batch again whose end it did not note. If the table has it already, its rows
        are computed only for the state that they leave behind.

        Returns:
            None for a batch that the table has.

        Raises:
            CommitConflictError: Another commit of ours came first.
            CheckpointLostError: A batch between this one and the table's last is missing.
            ConstraintViolatedError: The rows break a declared rule.
            RefreshSchemaError: The rows no longer fit the table.
            RefreshFailedError: Spark could not compute or write them.
        """
        if context.checkpoint.is_kept:
            last = table.stream.batch if table.stream else _NO_BATCH
            if number <= last:
                frame.write.format("noop").mode("overwrite").save()
                return None
            if number != last + 1:
                raise CheckpointLostError(table=table.name, checkpoint=context.checkpoint.name)
        return self._commit(frame, number, context, table)

    def _commit(
        self, frame: DataFrame, number: int, context: BatchContext, table: StoredTable
    ) -> BatchDone:
        self._raise_if_made_anew(table)
        if not context.ends.are_of(table.positions or {}):
            raise CommitConflictError(table=table.name)
        positions = self.positions(context, number)
        run = replace(context.run, positions=positions, started_at_ms=self._now_ms())
        facts = context.checkpoint.facts(number)
        step = WriteBatch(table.definition, table.seq + 1, run, facts, table.foreign)
        session = PrivateSession(frame.sparkSession)
        frame.createOrReplaceTempView(_BATCH)
        with self._errors.explaining(session, step) as attempt:
            attempt.content = f"SELECT * FROM {_BATCH}"
            moved = positions != table.positions
            statement = self._statement(session, step, attempt.content, moved=moved)
            told = facts_of(step, secrets.token_hex(8))
            version = fenced(session, table.name, told, lambda: session.spark.sql(statement))
        return self._done(table, step, version)

    def _statement(
        self, session: PrivateSession, step: WriteBatch, content: str, *, moved: bool
    ) -> str:
        definition = step.definition
        rows = guarded(content, definition.resolved)
        key = step.run.engine.key if step.run.engine else ()
        if not key:
            return f"INSERT INTO {definition.name.sql}\n{rows}"
        if not moved:
            return f"INSERT INTO {definition.name.sql}\n{_none_of(rows)}"
        session.configure(_MERGE_CONFS)
        return _upsert(definition, rows, key)

    def _done(self, table: StoredTable, step: WriteBatch, version: int) -> BatchDone:
        now, run = self._now_ms(), step.run
        rows = self._rows(table, version)
        refresh = LastRefresh(
            run.refresh_id, run.strategy, run.trigger, run.started_at_ms, now, rows
        )
        after = replace(
            table,
            seq=step.seq,
            version=version,
            positions=run.positions,
            last_refresh=refresh,
            stream=step.stream,
        )
        return BatchDone(after, step.stream, 1, rows or 0, now)

    def _rows(self, table: StoredTable, version: int) -> int | None:
        commit = self._read(table, version)
        return commit.rows if commit else None

    def _raise_if_made_anew(self, table: StoredTable) -> None:
        """A table that was dropped and created has a fence that knows nothing of our numbers.

        Raises:
            CommitConflictError: The version that the table had is not in its log, or another's.
        """
        commit = self._read(table, table.version)
        known = {"", table.definition.table_id}
        if commit is None or (commit.facts and commit.facts.table_id not in known):
            raise CommitConflictError(table=table.name)

    def _read(self, table: StoredTable, version: int) -> Commit | None:
        detail = self._details.of(table.name)
        if isinstance(detail, NoTable):
            return None
        return self._log.commit(detail.location, version)


def _none_of(rows: str) -> str:
    """A batch that only moves the watermark changes no group; a MERGE of nothing costs a join."""
    failure = "raise_error('groups changed although no source did')"
    return f"SELECT * FROM (\n{rows}\n) WHERE CASE WHEN true THEN {failure} ELSE true END"


def _upsert(definition: StoredDefinition, rows: str, key: tuple[str, ...]) -> str:
    """Rows of a batch take the place of those that have the same key."""
    columns = [quote(column.name) for column in definition.resolved.columns]
    same = " AND ".join(f"t.{quote(column)} <=> s.{quote(column)}" for column in key)
    changed = ", ".join(f"t.{column} = s.{column}" for column in columns)
    listed = ", ".join(columns)
    values = ", ".join(f"s.{column}" for column in columns)
    return (
        f"MERGE INTO {definition.name.sql} AS t USING (\n{rows}\n) AS s ON {same}\n"
        f"WHEN MATCHED THEN UPDATE SET {changed}\n"
        f"WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({values})"
    )
