"""Batches of a stream and the checkpoints that note them.

Each batch is one fenced commit with the positions that it reached. The end of a batch in its
sources is read from the offsets that Spark wrote into the checkpoint before it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import LastRefresh, StreamMetadata
from dbt.adapters.spark_mt.execution.commit_metadata import metadata_of
from dbt.adapters.spark_mt.execution.ports import BatchDone
from dbt.adapters.spark_mt.planning.constraints import guarded
from dbt.adapters.spark_mt.planning.steps import WriteBatch
from dbt.adapters.spark_mt.spark.catalog.commit import WriteErrors, fenced, format_of
from dbt.adapters.spark_mt.spark.session.input_size import interpret_if_small, sizes_of
from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.definition import StoredTable
    from dbt.adapters.spark_mt.definition.positions import Position, Positions
    from dbt.adapters.spark_mt.execution.table_history import Commit
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.resolution.settings import Settings
    from dbt.adapters.spark_mt.spark.catalog.table_details import (
        SparkFormat,
        SparkTables,
        TableDetails,
    )
    from dbt.adapters.spark_mt.spark.query.stream_sources import StreamSource
    from dbt.adapters.spark_mt.spark.session.driver_files import DriverFiles


_DIRECTORY = ".materialized-table-checkpoints"
PASSING = "stream-"
"""Prefix of the names of checkpoints that no later stream uses."""
_ABANDONED_MS = 7 * 24 * 3600 * 1000
_HEADER_LINES = 2
"""Lines before an entry's offsets: the version of its format, and the batch's own metadata."""
_NOTHING = "-"
"""Stands for a source that has no offset yet."""


_BATCH = "__materialized_table_batch"
NO_BATCH = -1
"""The number before that of the first batch."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of one stream.

    Args:
        path: Its directory.
        name: How commits call it.
        is_kept: Whether a later stream continues in it.
    """

    path: str
    name: str
    is_kept: bool

    def metadata(self, batch: int) -> StreamMetadata:
        """Return how a commit calls a batch."""
        return StreamMetadata(self.name, batch)


class Checkpoints:
    """Checkpoints of tables, to find and to remove: `<root>/<table id>/<name>`."""

    def __init__(
        self, spark: SparkSession, files: DriverFiles, settings: Callable[[], Settings]
    ) -> None:
        self._spark = spark
        self._files = files
        self._settings = settings

    def of(self, table_id: str, name: str, *, is_kept: bool) -> Checkpoint:
        """Return a table's checkpoint, whether it is there or not."""
        return Checkpoint(f"{self._of_table(table_id)}/{name}", name, is_kept)

    def can_resume(self, table_id: str, stream: StreamMetadata) -> bool:
        """Whether a checkpoint has a batch, and no later one that is complete."""
        path = self.of(table_id, stream.checkpoint, is_kept=True).path
        complete = _numbers(self._files.names(f"{path}/commits"))
        if stream.batch < 0:
            return not complete
        begun = _numbers(self._files.names(f"{path}/offsets"))
        return stream.batch in begun and max(complete, default=-1) <= stream.batch

    def offsets(self, checkpoint: Checkpoint, batch: int) -> list[Any]:
        """Return the offsets after a batch, in the order of the plan's sources; None for none."""
        text = self._files.read(f"{checkpoint.path}/offsets/{batch}")
        lines = text.splitlines()[_HEADER_LINES:]
        return [None if line == _NOTHING else json.loads(line) for line in lines]

    def remove(self, checkpoint: Checkpoint) -> None:
        """Remove one."""
        self._files.delete(checkpoint.path)

    def remove_others(self, table_id: str, name: str = "") -> None:
        """Remove all checkpoints of a table but one, or all."""
        directory = self._of_table(table_id)
        others = [other for other in self._files.names(directory) if other != name]
        for other in others:
            self._files.delete(f"{directory}/{other}")
        if not name and others:
            self._files.delete(directory)

    def remove_abandoned(self, table_id: str, now_ms: int) -> None:
        """Remove checkpoints of streams without state whose process was killed.

        A running stream notes every batch. One that notes none for a week begins again if its
        checkpoint is removed, and loses nothing by it. The instant is given in milliseconds since
        the epoch, UTC.
        """
        directory = self._of_table(table_id)
        for name in self._files.names(directory):
            path = f"{directory}/{name}"
            if name.startswith(PASSING) and now_ms - self._noted_ms(path) > _ABANDONED_MS:
                self._files.delete(path)

    def _noted_ms(self, path: str) -> int:
        found = (self._files.modified_ms(each) for each in (f"{path}/offsets", path))
        return max((at for at in found if at is not None), default=0)

    def _of_table(self, table_id: str) -> str:
        configured = self._settings().checkpoint_location
        warehouse = self._spark.conf.get("spark.sql.warehouse.dir") or "spark-warehouse"
        return f"{(configured or f'{warehouse}/{_DIRECTORY}').rstrip('/')}/{table_id}"


def _numbers(names: list[str]) -> set[int]:
    return {int(name) for name in names if name.isdigit()}


class BatchEnds:
    """Positions after the batches of one stream, of the sources in the query's order."""

    def __init__(self, opened: Mapping[str, StreamSource]) -> None:
        self._opened = opened
        tables = [name for name, source in opened.items() if source.is_versioned]
        several = tables if len(tables) > 1 else []
        self._by_identity = {opened[name].identity(): name for name in several}

    def positions(self, offsets: Sequence[Any]) -> Positions:
        """Return the positions that an entry of the log of offsets means.

        A table with versions is known by its identity there, a topic by its name. Of several
        sources of other formats the first is the first in the query.

        Raises:
            MaterializedTableError: The batch read a part of a commit.
            SourceNotFoundError: A version that it read is no longer in a source's log.
        """
        found: dict[str, Position] = {}
        for offset in offsets:
            if offset is None:
                continue
            name = self._name(offset, [each for each in self._opened if each not in found])
            found[name] = self._opened[name].position_of(json.dumps(offset))
        return found

    def change_types(self, before: Positions, run: RefreshRun) -> bool:
        """Whether the rows of a batch have other types than those before it, by its positions."""
        return any(
            source.changes_types(before[name], run.positions[name], run.columns_of(name))
            for name, source in self._opened.items()
            if name in before and name in run.positions
        )

    def are_of(self, positions: Positions) -> bool:
        """Whether positions before a batch are those of the tables that it was read from."""
        return all(
            source.is_of(positions[name])
            for name, source in self._opened.items()
            if name in positions
        )

    def _name(self, offset: object, left: list[str]) -> str:
        named = ((name, self._opened[name].identity_in(offset)) for name in left)
        name, identity = next((name, found) for name, found in named if found is not None)
        return self._by_identity.get(identity, name)


@dataclass(frozen=True, slots=True)
class BatchContext:
    """What the batches of one stream have in common.

    Args:
        run: The refresh, with the positions of what is not followed, and the engine.
        checkpoint: Where Spark notes what each batch reads.
        ends: Reads positions from that.
        interprets: Whether the projections of small batches are interpreted.
    """

    run: RefreshRun
    checkpoint: Checkpoint
    ends: BatchEnds
    interprets: bool


def batch_session(
    frame: DataFrame, view: str, context: BatchContext, merged_into: TableName | None = None
) -> PrivateSession:
    """Return the session of a batch, which has its rows as a temporary view.

    The session is that of the stream, so the confs of a batch are those of what Spark does up to
    the next one, such as reading the logs of the sources.

    Args:
        frame: The rows.
        view: The name of the view.
        context: Whether projections of small batches are interpreted.
        merged_into: The table whose rows are read to write the batch, if they are.
    """
    spark = frame.sparkSession
    frame.createOrReplaceTempView(view)
    if context.interprets:
        read = (view, merged_into.sql) if merged_into else (view,)
        interpret_if_small(spark, sizes_of(spark, read))
    return PrivateSession(spark)


class BatchWriter:
    """Writer of batches into tables."""

    def __init__(
        self,
        tables: SparkTables,
        details: TableDetails,
        checkpoints: Checkpoints,
        now_ms: Callable[[], int],
    ) -> None:
        self._errors = WriteErrors(tables, details)
        self._details = details
        self._tables = tables
        self._checkpoints = checkpoints
        self._now_ms = now_ms

    def positions(self, context: BatchContext, number: int) -> Positions:
        """Return up to where the rows of a table reflect its sources after a batch."""
        offsets = self._checkpoints.offsets(context.checkpoint, number)
        return {**context.run.positions, **context.ends.positions(offsets)}

    def write(
        self, frame: DataFrame, number: int, context: BatchContext, table: StoredTable
    ) -> BatchDone | None:
        """Commit a batch to the table as it was after the batch before.

        Spark runs a batch again whose end it did not note. If the table has it already, its rows
        are computed only for the state that they leave.

        Returns:
            None for a batch that the table has.

        Raises:
            CommitConflictError: Another commit of ours came first, or the table or a source was
                dropped and created again.
            MaterializedTableError: A batch between this one and the table's last is missing.
            ConstraintViolatedError: The rows break a declared rule.
            RefreshSchemaError: The rows no longer fit the table.
            RefreshFailedError: Spark could not compute or write them.
        """
        if context.checkpoint.is_kept:
            last = table.stream.batch if table.stream else NO_BATCH
            if number <= last:
                frame.write.format("noop").mode("overwrite").save()
                return None
            if number != last + 1:
                raise conditions.CHECKPOINT_LOST(
                    table=table.name, checkpoint=context.checkpoint.name
                )
        return self._commit(frame, number, context, table)

    def _commit(
        self, frame: DataFrame, number: int, context: BatchContext, table: StoredTable
    ) -> BatchDone:
        commit = self._read(table, table.version)
        known = {"", table.definition.table_id}
        # The fence of a table that was dropped and created does not have these numbers.
        recreated = commit is None or (commit.metadata and commit.metadata.table_id not in known)
        if recreated or not context.ends.are_of(table.positions or {}):
            raise conditions.CONCURRENT_CHANGE(table=table.name)
        positions = self.positions(context, number)
        run = replace(context.run, positions=positions, started_at_ms=self._now_ms())
        if context.ends.change_types(table.positions or {}, run):
            raise conditions.CONCURRENT_CHANGE(
                table=table.name
            )  # whose reader chooses a strategy again
        metadata = context.checkpoint.metadata(number)
        step = WriteBatch(table.definition, table.seq + 1, run, metadata, table.foreign)
        merged_into = table.name if context.run.choice.key else None
        session = batch_session(frame, _BATCH, context, merged_into)
        with self._errors.explaining(session, step) as attempt:
            attempt.content = f"SELECT * FROM {_BATCH}"
            moved = positions != table.positions
            write = self._write(session, step, attempt.content, moved=moved)
            version = fenced(
                self._format(table.name), session, table.name, metadata_of(step), write
            )
        return self._done(table, step, version)

    def _write(
        self, session: PrivateSession, step: WriteBatch, content: str, *, moved: bool
    ) -> Callable[[], None]:
        definition = step.definition
        format_ = self._format(definition.name)
        rows = guarded(content, definition.resolved)
        key = step.run.choice.key
        if key and moved:
            return partial(format_.upsert, session.spark, definition, rows, key)
        rows = _none_of(rows) if key else rows
        return partial(format_.append, session.spark, definition.name, rows)

    def _format(self, name: TableName) -> SparkFormat:
        return format_of(self._tables, self._details, name)

    def _done(self, table: StoredTable, step: WriteBatch, version: int) -> BatchDone:
        now, run = self._now_ms(), step.run
        commit = self._read(table, version)
        rows = commit.rows if commit else None
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

    def _read(self, table: StoredTable, version: int) -> Commit | None:
        found = self._details.table(table.name)
        return None if found is None else self._tables.history(found).commit(found, version)


def _none_of(rows: str) -> str:
    """Return a query that has none of the rows.

    A batch that only moves the watermark changes no group; a MERGE of nothing costs a join.
    """
    failure = "raise_error('groups changed although no source did')"
    return f"SELECT * FROM (\n{rows}\n) WHERE CASE WHEN true THEN {failure} ELSE true END"
