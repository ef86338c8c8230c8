"""Runner of plan steps on a catalog in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.execution.commit_metadata import metadata_of
from dbt.adapters.spark_mt.execution.ports import StepResult
from dbt.adapters.spark_mt.execution.table_loader import readable_definition
from dbt.adapters.spark_mt.planning.properties import (
    PREFIX,
    changed_comments,
    is_superseded,
    missing_not_null,
    missing_properties,
    not_null_constraint,
    nulls_warning,
    obsolete_not_null,
    obsolete_properties,
    properties_of,
)
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    DropTable,
    Fill,
    FillMode,
    FillPartitions,
    PrepareStorage,
    Publish,
    Recluster,
    RecordJob,
    Register,
    Release,
    RemoveProperties,
    ReserveSequence,
    Step,
    Unregister,
    VerifyRows,
)
from tests.support.memory.content import in_partitions
from tests.support.memory.table_format import format_of
from tests.support.memory.tables import Change, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.commit_metadata import CommitMetadata
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from tests.support.memory.catalog import MemoryCatalog
    from tests.support.memory.content import MemoryContent
    from tests.support.memory.system_log import MemorySystemLog
    from tests.support.memory.tables import Rows, VersionedTable


class MemoryStepRunner:
    """Makes one commit for each step that Spark would make one for."""

    def __init__(
        self,
        catalog: MemoryCatalog,
        content: MemoryContent,
        log: MemorySystemLog,
        now_ms: Callable[[], int],
    ) -> None:
        self._catalog = catalog
        self._content = content
        self._log = log
        self._now_ms = now_ms

    def run(self, step: Step) -> StepResult:
        """Carry out one step.

        Raises:
            CommitConflictError: Another commit came before this step's commit.
            RefreshFailedError: The rows could not be computed.
            ConstraintViolatedError: The rows break a declared key or check.
        """
        return self._run(step)

    def undo(self, step: Step) -> None:
        """Let a table refuse NULL again; a commit is whole or absent."""
        if isinstance(step, PrepareStorage) and step.nullable:
            names = map(not_null_constraint, step.nullable)
            keys = (_constraint(step.definition, name) for name in names)
            again = dict(zip(keys, step.nullable, strict=True))
            self._published(step, "ADD CONSTRAINT", lambda s: s.with_properties(again))

    @singledispatchmethod
    def _run(self, step: Step) -> StepResult:
        raise TypeError(step)

    @_run.register
    def _(self, step: PrepareStorage) -> StepResult:
        return self._published(step, "SET TBLPROPERTIES", lambda s: _prepared(step, s))

    @_run.register
    def _(self, step: VerifyRows) -> StepResult:
        rows = self._table(step.definition.name).newest.rows
        nulls = tuple(None for _ in step.new_columns)
        self._content.check(step.definition, tuple((*row, *nulls) for row in rows))
        return StepResult()

    @_run.register
    def _(self, step: Fill) -> StepResult:
        rows, positions = self._content.compute(step.definition, step.run, step.since)
        self._content.check(step.definition, rows)
        change = self._change("WRITE", replace(_metadata(step), positions=positions), len(rows))
        name = step.definition.name
        if step.mode is FillMode.CREATE:
            self._catalog.create_with(name, change, _created(step.definition, rows))
        else:
            self._catalog.commit(name, change, lambda s: _filled(step, s, rows))
        return self._written(name, change, positions)

    @_run.register
    def _(self, step: FillPartitions) -> StepResult:
        computed, positions = self._content.compute(step.definition, step.run, step.since)
        rows = tuple(row for row in computed if in_partitions(step, row))
        metadata = replace(_metadata(step), partition_positions=positions)
        change = self._change("WRITE", metadata, len(rows))

        def update(snapshot: Snapshot) -> Snapshot:
            kept = tuple(row for row in snapshot.rows if not in_partitions(step, row))
            self._content.check(step.definition, kept + rows)
            return replace(snapshot, rows=kept + rows)

        self._catalog.commit(step.definition.name, change, update)
        return self._written(step.definition.name, change, positions)

    @_run.register
    def _(self, step: ApplyChanges) -> StepResult:
        name = step.definition.name
        there = self._table(name).newest.rows
        new = len(step.definition.resolved.columns) - len(self._table(name).newest.columns)
        there = tuple((*row, *(None,) * new) for row in there)
        if step.changes_rows:
            rows, _ = self._content.compute(step.definition, step.run, None)
            self._content.check(step.definition, rows)
            changed = _difference(there, rows)
        elif step.replaces_keys:
            rows, changed = self._content.merged(step, there)
        else:
            added, _ = self._content.compute(step.definition, step.run, step.since)
            self._content.check(step.definition, added)
            rows, changed = there + added, len(added)
        change = self._change("WRITE", _metadata(step), changed)
        self._catalog.commit(name, change, lambda s: _changed(step, s, rows))
        return self._written(name, change, step.run.positions)

    @_run.register
    def _(self, step: CommitDefinition) -> StepResult:
        change = self._change("WRITE", _metadata(step), 0)
        self._catalog.commit(step.definition.name, change, lambda s: _extended(step, s))
        return StepResult(positions=step.positions)

    @_run.register(ReserveSequence)
    @_run.register(Release)
    def _(self, step: ReserveSequence | Release) -> StepResult:
        change = self._change("WRITE", _metadata(step), 0)
        self._catalog.commit(step.name, change, lambda snapshot: snapshot)
        return StepResult()

    @_run.register
    def _(self, step: RemoveProperties) -> StepResult:
        properties = dict(self._table(step.name).newest.properties)
        ours: dict[str, str | None] = {key: None for key in properties if key.startswith(PREFIX)}
        if ours:
            change = self._change("UNSET TBLPROPERTIES", _metadata(step))
            self._catalog.commit(step.name, change, lambda s: s.with_properties(ours))
        return StepResult()

    @_run.register
    def _(self, step: Publish) -> StepResult:
        name = step.definition.name
        table = self._table(name)
        if is_superseded(step, readable_definition(dict(table.newest.properties), name)):
            return StepResult()
        missing = missing_not_null(step.definition, _constraints(step.definition, table.newest))
        broken = tuple(c for c in missing.values() if table.newest.holds_null(c))
        self._published(step, "SET TBLPROPERTIES", lambda s: _in_line(step, s, table.identity))
        return StepResult(warnings=tuple(nulls_warning(name, column) for column in broken))

    @_run.register
    def _(self, step: Recluster) -> StepResult:
        clustered_by = step.definition.declared.clustered_by
        return self._published(step, "CLUSTER BY", lambda s: replace(s, clustered_by=clustered_by))

    @_run.register
    def _(self, step: Register) -> StepResult:
        self._log.record(step)
        return StepResult()

    @_run.register
    def _(self, step: RecordJob) -> StepResult:
        self._log.append(step.job)
        return StepResult()

    @_run.register
    def _(self, step: DropTable) -> StepResult:
        self._catalog.drop(step.name)
        return StepResult()

    @_run.register
    def _(self, step: Unregister) -> StepResult:
        self._log.remove(step.name)
        return StepResult()

    def _published(
        self,
        step: PrepareStorage | Publish | Recluster,
        operation: str,
        update: Callable[[Snapshot], Snapshot],
    ) -> StepResult:
        """Make a commit without a fence, unless it would change nothing."""
        name = step.definition.name
        before = self._table(name).newest
        if update(before) != before:
            self._catalog.commit(name, self._change(operation, _metadata(step)), update)
        return StepResult()

    def _table(self, name: TableName) -> VersionedTable:
        table = self._catalog.table(name)
        if table is None:
            raise conditions.REFRESH_FAILED(table=name, problem="it is gone")
        return table

    def _change(self, operation: str, metadata: CommitMetadata, rows: int | None = None) -> Change:
        return Change(operation, self._now_ms(), metadata, rows)

    def _written(self, name: TableName, change: Change, positions: Positions) -> StepResult:
        return StepResult(change.rows, change.at_ms, positions, version=self._table(name).version)


def _metadata(step: Step) -> CommitMetadata:
    return metadata_of(step)


def _created(definition: StoredDefinition, rows: Rows) -> Snapshot:
    """A new table; the comments of its columns are published afterwards."""
    declared = definition.declared
    return Snapshot(
        columns=tuple(replace(column, comment=None) for column in definition.resolved.columns),
        rows=rows,
        properties=tuple(sorted(properties_of(definition, format_of(definition.name)).items())),
        comment=declared.comment or "",
        partitioned_by=declared.partitioned_by,
        clustered_by=declared.clustered_by,
    )


def _filled(step: Fill, snapshot: Snapshot, rows: Rows) -> Snapshot:
    """The same table with other rows: that forgets the clustering, a new schema the comments."""
    columns = tuple(replace(c, comment=None) for c in step.definition.resolved.columns)
    filled = replace(snapshot, rows=rows, clustered_by=())
    if step.mode is FillMode.REPLACE:
        partitioned_by = step.definition.declared.partitioned_by
        return replace(filled, columns=columns, partitioned_by=partitioned_by)
    comments = {c.name: c.comment or "" for c in snapshot.columns}
    return replace(filled, columns=columns).with_comments(comments)


def _extended(step: CommitDefinition, snapshot: Snapshot) -> Snapshot:
    new = tuple(replace(column, comment=None) for column in step.new_columns)
    rows = tuple((*row, *(None for _ in new)) for row in snapshot.rows)
    return replace(snapshot, columns=snapshot.columns + new, rows=rows)


def _difference(before: Rows, now: Rows) -> int:
    """How many rows were added and removed."""
    counts = Counter(now)
    counts.subtract(before)
    return sum(map(abs, counts.values()))


def _changed(step: ApplyChanges, snapshot: Snapshot, rows: Rows) -> Snapshot:
    columns = step.definition.resolved.columns[len(snapshot.columns) :]
    return replace(snapshot, rows=rows, columns=snapshot.columns + columns)


def _prepared(step: PrepareStorage, snapshot: Snapshot) -> Snapshot:
    definition = step.definition
    gone = obsolete_not_null(definition, _constraints(definition, snapshot))
    dropped: dict[str, str | None] = {_constraint(definition, name): None for name in gone}
    mapping = format_of(definition.name).name_mapping if step.maps_names else {}
    return snapshot.with_properties({**mapping, **dropped})


def _constraint(definition: StoredDefinition, name: str) -> str:
    return format_of(definition.name).constraint_prefix + name


def _constraints(definition: StoredDefinition, snapshot: Snapshot) -> frozenset[str]:
    return format_of(definition.name).constraints(dict(snapshot.properties))


def _in_line(step: Publish, snapshot: Snapshot, identity: str) -> Snapshot:
    definition, properties = step.definition, dict(snapshot.properties)
    declared, format_ = definition.declared, format_of(definition.name)
    gone: dict[str, str | None] = dict.fromkeys(obsolete_properties(step, properties, format_))
    changed = snapshot.with_properties(gone).with_properties(
        missing_properties(step, properties, identity, format_)
    )
    changed = changed.with_comments(changed_comments(step))
    constraints = _constraints(definition, snapshot)
    not_null: dict[str, str | None] = {
        _constraint(definition, name): f"{column} IS NOT NULL"
        for name, column in missing_not_null(definition, constraints).items()
        if not snapshot.holds_null(column)
    }
    gone_constraints = obsolete_not_null(definition, constraints)
    not_null |= {_constraint(definition, name): None for name in gone_constraints}
    changed = changed.with_properties(not_null)
    return replace(changed, comment=declared.comment or "", clustered_by=declared.clustered_by)
