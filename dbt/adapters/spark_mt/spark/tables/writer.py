"""Writer of a table's rows: computes its query and commits the result."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.errors import OutageError
from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    VersionedPosition,
    most_commits,
)
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.execution.table_format import RowsNotThereError, TableColumns
from dbt.adapters.spark_mt.execution.table_history import read_history
from dbt.adapters.spark_mt.planning import constraints
from dbt.adapters.spark_mt.planning.properties import location_of
from dbt.adapters.spark_mt.planning.steps import SCHEDULED, ApplyChanges, FillMode
from dbt.adapters.spark_mt.query.differential import ChangeNotSupported
from dbt.adapters.spark_mt.query.operator_sql import NotRenderedError
from dbt.adapters.spark_mt.resolution.options import session_confs
from dbt.adapters.spark_mt.spark.catalog import commit
from dbt.adapters.spark_mt.spark.query import row_merges
from dbt.adapters.spark_mt.spark.session import input_size
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.kept_rows import kept_rows
from dbt.adapters.spark_mt.spark.session.types import with_bounded_texts
from dbt.adapters.spark_mt.spark.tables.result_changes import ResultChanges

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.execution.table_history import History
    from dbt.adapters.spark_mt.planning.steps import Fill, FillPartitions
    from dbt.adapters.spark_mt.spark.catalog.commit import Attempt
    from dbt.adapters.spark_mt.spark.catalog.table_details import (
        SparkFormat,
        SparkTables,
        TableDetails,
    )
    from dbt.adapters.spark_mt.spark.query.query_rows import QueryRows
    from dbt.adapters.spark_mt.spark.session.kept_rows import KeptRows
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession, PrivateSessions
    from dbt.adapters.spark_mt.spark.streams.runner import StreamFiller
    from dbt.adapters.spark_mt.spark.tables.result_changes import TableChange


_FAR = 200
"""How many commits back a directory may have been one of our tables."""


def next_seq(tables: SparkTables, taken: TableRef, definition: StoredDefinition) -> int:
    """Return the number for the first commit of a table that takes a directory over.

    It follows the numbers that the directory's log has already: commits with lower ones are
    skipped. Under the warehouse a directory without a table may be taken over. A location that the
    user names is only taken over where this very table lived there before.

    Args:
        tables: Reads commits.
        taken: What is in the directory, under the name of the new table.
        definition: The table's definition.

    Raises:
        MaterializedTableError: The files at the user's location are of something else.
    """
    history = read_history(islice(tables.history(taken).backwards(taken), _FAR))
    if location_of(definition) is not None and not _was(definition.name, history):
        location = tables.of(taken).directory(taken)
        raise conditions.LOCATION_TAKEN(table=definition.name, location=location)
    hidden = most_commits(history.version) if history.is_seq_hidden else 0
    return max(history.seq, hidden) + 1


def _was(name: TableName, history: History) -> bool:
    if not history.definition:
        return False
    return decode_definition(history.definition, str(name)).name == name


class ContentWriter:
    """Writer of whole tables and partitions, each in one fenced commit."""

    def __init__(
        self,
        sessions: PrivateSessions,
        rows: QueryRows,
        tables: SparkTables,
        details: TableDetails,
        filler: StreamFiller | None,
    ) -> None:
        self._sessions = sessions
        self._rows = rows
        self._tables = tables
        self._details = details
        self._errors = commit.WriteErrors(tables, details)
        self._changes = ResultChanges(tables, rows, details)
        self._filler = filler

    def fill(self, step: Fill, metadata: CommitMetadata) -> StepResult:
        """Replace all rows.

        Raises:
            CommitConflictError: Another commit came first.
            ConstraintViolatedError: The rows break a declared key or check.
            RefreshSchemaError: The query's result no longer fits the table.
            RefreshFailedError: Spark could not compute or write the rows.
        """
        definition = step.definition
        if step.run.choice.keeps_checkpoint:
            version, positions = self._fill_from_stream(step, metadata)
            return self._result(definition, version, positions)
        opened = self._sessions.open(definition.resolved.context)
        with opened as session, self._errors.explaining(session, step) as attempt:
            attempt.content, positions = self._content(session, step)
            metadata = replace(metadata, positions=positions)
            rows = constraints.guarded(attempt.content, definition.resolved)
            version = self._write(session, step, metadata, rows)
        return self._result(definition, version, positions)

    def _fill_from_stream(self, step: Fill, metadata: CommitMetadata) -> tuple[int, Positions]:
        if self._filler is None:
            reason = step.run.choice.reason
            raise conditions.STREAMS_OVER_CONNECT(table=step.definition.name, reason=reason)
        return self._filler.fill(step, metadata, self._write)

    def fill_partitions(self, step: FillPartitions, metadata: CommitMetadata) -> StepResult:
        """Replace the rows of some partitions; raises as `fill` does."""
        definition = step.definition
        with self._sessions.open(definition.resolved.context) as session:
            with self._errors.explaining(session, step) as attempt:
                content, positions = self._content(session, step)
                metadata = replace(metadata, partition_positions=positions)
                attempt.content = f"SELECT * FROM (\n{content}\n) WHERE {_condition(step)}"
                version = self._write_partitions(session, step, metadata, attempt.content)
            result = self._result(definition, version, positions)
            return replace(result, warnings=_empty_run(session, step, result, content))

    def apply(self, step: ApplyChanges, metadata: CommitMetadata) -> StepResult:
        """Apply what changed in the sources; raises as `fill` does."""
        definition = step.definition
        opened = self._sessions.open(definition.resolved.context)
        if step.changes_rows:
            with opened as session, kept_rows(session.spark) as kept:
                version = self._apply_change(session, step, metadata, kept)
            return self._result(definition, version, step.run.positions)
        with opened as session, self._errors.explaining(session, step) as attempt:
            self._configure(session, step)
            write = self._change(session, step, attempt)
            adding = partial(write, adds_columns=step.changes_definition)
            version = self._commit(session, definition.name, metadata, adding)
        return self._result(definition, version, step.run.positions)

    def _change(
        self, session: PrivateSession, step: ApplyChanges, attempt: Attempt
    ) -> Callable[..., None]:
        """Return what writes the changes, but for whether it adds columns."""
        definition, run = step.definition, step.run
        key = definition.declared.primary_key
        if not step.replaces_keys or key is None:
            attempt.content = self._rows.added(session, definition, run, step.since)
            rows = constraints.guarded(attempt.content, definition.resolved)
            if step.changes_definition:
                rows = with_bounded_texts(session.spark, rows, definition.resolved.columns)
            return partial(self._of(definition).append, session.spark, definition.name, rows)
        touched = self._rows.touched(session, definition, run, step.since)
        content, _ = self._rows.whole(session, definition, run)
        attempt.content = row_merges.computed_rows(content, touched, key.columns)
        rows = constraints.guarded(attempt.content, definition.resolved)
        keys = row_merges.keys_query(touched, key.columns)
        table = TableColumns.of(definition)
        replace_keys = self._of(definition).replace_keys
        return partial(replace_keys, session.spark, table, key.columns, rows, keys)

    def _apply_change(
        self, session: PrivateSession, step: ApplyChanges, metadata: CommitMetadata, kept: KeptRows
    ) -> int:
        """Remove and add the rows by which the result changed; return the version."""
        name = step.definition.name
        with self._errors.explaining(session, step) as attempt:
            self._configure(session, step)
            try:
                change = self._changes.of(session, step, kept)
                attempt.content = change.added
                self._check(session, step, change)
                write = self._writing(session, step.definition, change)
                return self._commit(session, name, metadata, write)
            except ChangeNotSupported as error:
                reason = error.reason.code
                raise conditions.REFRESH_FAILED(
                    table=name, problem=str(error), reason=reason
                ) from error
            except (NotRenderedError, RowsNotThereError) as error:
                # Rows that another refresh has replaced are not a change that cannot be applied.
                if isinstance(error, RowsNotThereError) and self._errors.has_conflict(step):
                    raise conditions.CONCURRENT_CHANGE(table=name) from error
                raise conditions.REFRESH_FAILED(table=name, problem=str(error)) from error

    def _check(self, session: PrivateSession, step: ApplyChanges, change: TableChange) -> None:
        """Make sure that the change is one of the rows that are there, and that keys stay unique.

        Raises:
            CommitConflictError: Another program changed rows since the table was read, or made a
                source again, whose versions have other rows.
            ConstraintViolatedError: Added rows would have the key of others.
        """
        name = step.definition.name
        if not self._rows.are_there(step.run):
            raise conditions.CONCURRENT_CHANGE(table=name)
        table = self._details.table(name)
        if table is not None:
            history = self._tables.history(table)
            newest = history.newest(table)
            if history.first_row_change(table, step.version, newest) is not None:
                raise conditions.CONCURRENT_CHANGE(table=name)
        resolved = step.definition.resolved
        if change.added and not change.keeps_key(step.definition.declared.primary_key):
            args = (change.added, change.removed, resolved, name.sql)
            commit.raise_if_violated(session, name, constraints.changed_duplicates_query(*args))

    def _writing(
        self, session: PrivateSession, definition: StoredDefinition, change: TableChange
    ) -> Callable[[], None]:
        """Return what writes a change: an append where it has no row to remove."""
        name, spark = definition.name, session.spark
        nothing = f"SELECT * FROM {name.sql} WHERE false"
        added = constraints.guarded(change.added, definition.resolved) if change.added else nothing
        table, format_ = TableColumns.of(definition), self._of(definition)
        if change.keys:
            args = (change.unique_by, added, change.keys)
            return partial(format_.replace_keys, spark, table, *args)
        if not change.removed:
            return partial(format_.append, spark, name, added)
        return partial(format_.apply_changes, spark, table, added, change.removed)

    def _of(self, definition: StoredDefinition) -> SparkFormat:
        return commit.format_of(self._tables, self._details, definition.name)

    def _write_partitions(
        self, session: PrivateSession, step: FillPartitions, metadata: CommitMetadata, content: str
    ) -> int:
        definition = step.definition
        condition = _condition(step)
        self._check_other_partitions(session, step, content, condition)
        rows = constraints.guarded(content, definition.resolved)
        name = definition.name
        write = partial(self._of(definition).overwrite_where, session.spark, name, condition, rows)
        return self._commit(session, name, metadata, write)

    def _check_other_partitions(
        self, session: PrivateSession, step: FillPartitions, content: str, condition: str
    ) -> None:
        table = step.definition.name
        query = constraints.outside_duplicates_query(
            content, step.definition.resolved, table.sql, condition
        )
        commit.raise_if_violated(session, table, query)

    def _configure(
        self, session: PrivateSession, step: Fill | FillPartitions | ApplyChanges
    ) -> None:
        """Set the user's confs, and those of small inputs if all that is read is in small tables.

        A change is applied to rows of the table, which are read too.
        """
        session.configure(session_confs(step.definition.run_options))
        if not input_size.may_interpret(session.spark):
            return
        run = step.run
        positions = [(s.name, run.positions.get(str(s.name))) for s in run.sources]
        known = (VersionedPosition, DefinitionPosition)
        if all(isinstance(position, known) for _, position in positions):
            read = [(n, p.version) for n, p in positions if isinstance(p, VersionedPosition)]
            if isinstance(step, ApplyChanges) and (step.changes_rows or step.replaces_keys):
                read.append((step.definition.name, step.version))
            if input_size.interpret_if_small(
                session.spark, (self._size(session, *each) for each in read)
            ):
                input_size.plan_at_once(session.spark)

    def _size(self, session: PrivateSession, name: TableName, version: int) -> float | None:
        """Return about how many bytes a table has, from its log if that says it without a job.

        Args:
            session: The session that plans a read where the log does not say it.
            name: The table.
            version: Its version; -1 for the newest.
        """
        table, relation = self._details.table(name), name.sql
        if table is not None:
            history = self._tables.history(table)
            at = version if version >= 0 else history.newest(table)
            if found := history.size(table, at):
                return found[1]
            relation = relation if version < 0 else self._tables.as_of(table, version)
        return input_size.sizes_of(session.spark, (relation,))[0]

    def _content(
        self, session: PrivateSession, step: Fill | FillPartitions
    ) -> tuple[str, Positions]:
        """Return the rows as a query, and the state of the sources that it reads."""
        self._configure(session, step)
        if step.since is None:
            return self._rows.whole(session, step.definition, step.run)
        content = self._rows.added(session, step.definition, step.run, step.since)
        return content, step.run.positions

    def _write(
        self, session: PrivateSession, step: Fill, metadata: CommitMetadata, rows: str
    ) -> int:
        name = step.definition.name
        if step.mode is not FillMode.OVERWRITE or step.changes_definition:
            rows = with_bounded_texts(session.spark, rows, step.definition.resolved.columns)
        if step.mode is FillMode.CREATE:
            return self._create(session, step.definition, metadata, rows)
        if step.mode is FillMode.REPLACE:
            partitioned_by = step.definition.declared.partitioned_by
            replace_ = self._of(step.definition).replace
            replacing = partial(replace_, session.spark, name, rows, partitioned_by)
            return self._commit(session, name, metadata, replacing)
        overwrite = partial(self._of(step.definition).overwrite, session.spark, name, rows)
        adding = partial(overwrite, adds_columns=step.changes_definition)
        return self._commit(session, name, metadata, adding)

    def _commit(
        self,
        session: PrivateSession,
        name: TableName,
        metadata: CommitMetadata,
        write: Callable[[], object],
    ) -> int:
        """Make one fenced commit to the table that it was planned for; return its version."""
        commit.raise_if_other_table(self._tables, self._details, name, metadata)
        format_ = commit.format_of(self._tables, self._details, name)
        return commit.fenced(format_, session, name, metadata, write)

    def _create(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        metadata: CommitMetadata,
        rows: str,
    ) -> int:
        """Create the table and its rows in one commit, taking over what a killed CREATE left."""
        name = definition.name
        format_ = self._details.written(name)
        create = partial(format_.create, session.spark, definition, rows)
        try:
            return commit.fenced(format_, session, name, metadata, create)
        except Exception as error:
            if not is_spark_error(error):
                raise
            failure = failure_of(error)
            if failure.is_existing_table:
                raise conditions.CONCURRENT_CHANGE(table=name) from error
            if not failure.is_taken_directory:
                raise
        taken = format_.ref(name, failure.parameter("tableLocation"))
        seq = next_seq(self._tables, taken, definition)
        replacing = partial(create, replace=True)
        return commit.fenced(format_, session, name, replace(metadata, seq=seq), replacing)

    def _result(
        self, definition: StoredDefinition, version: int, positions: Positions
    ) -> StepResult:
        with suppress(OutageError):  # the commit is made, whether the catalog still answers or not
            detail = self._details.of_made(definition.name)
            ref = detail if isinstance(detail, TableRef) else None
            found = None if ref is None else self._tables.history(ref).commit(ref, version)
            if found is not None:
                return StepResult(found.rows, found.timestamp_ms, positions, version=version)
        return StepResult(positions=positions, version=version)


def _empty_run(
    session: PrivateSession, step: FillPartitions, result: StepResult, content: str
) -> tuple[str, ...]:
    """Warn when a scheduled run wrote nothing although the query has rows of other partitions."""
    if result.rows or step.run.trigger != SCHEDULED:
        return ()
    columns = ", ".join(quote(column) for column, _ in step.partitions[-1])
    try:
        with unlogged():
            found = session.spark.sql(f"SELECT {columns} FROM (\n{content}\n) LIMIT 1").collect()
    except Exception as error:
        if not is_spark_error(error):
            raise
        return (f"The run wrote no rows; whether it should have: {failure_of(error).message}",)
    if not found:
        return ()
    wanted = ", ".join(f"{column} = {literal}" for column, literal in step.partitions[-1])
    there = ", ".join(f"{column} = '{value}'" for column, value in found[0].asDict().items())
    warning = (
        f"The scheduled run of {step.definition.name} wrote no rows for {wanted}, while the query "
        f"has rows for {there}: compare the date formatter with the values of the query."
    )
    return (warning,)


def _condition(step: FillPartitions) -> str:
    types = {column.name.lower(): column.type for column in step.definition.resolved.columns}
    alternatives = []
    for partition in step.partitions:
        parts = [
            f"{quote(column)} IS NULL"
            if literal is None
            else f"{quote(column)} = CAST({literal} AS {types[column.lower()]})"
            for column, literal in partition
        ]
        alternatives.append("(" + " AND ".join(parts) + ")")
    return "(" + " OR ".join(alternatives) + ")"
