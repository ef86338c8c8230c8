"""Catalog in memory: the only module of this package that changes state."""

from __future__ import annotations

from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING
from uuid import uuid4

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.planning.properties import columns_not_null
from tests.support.memory.table_format import format_of
from tests.support.memory.tables import (
    Change,
    ForbiddenNullError,
    Snapshot,
    UnversionedTable,
    VersionedTable,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt.adapters.spark_mt.definition.columns import Column, QueryContext, TableName
    from tests.support.memory.tables import Relation, Row


class MemoryCatalog:
    """Relations by their full name; names are compared without case.

    Args:
        now_ms: Milliseconds since the epoch, UTC: when a commit is made.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._relations: dict[str, Relation] = {}
        self._names: dict[str, TableName] = {}
        self._lock = RLock()

    def get(self, name: TableName) -> Relation | None:
        """Return what has the full name `name`."""
        with self._lock:
            return self._relations.get(_key(name))

    def names(self) -> tuple[TableName, ...]:
        """Return the full name of everything that is there."""
        with self._lock:
            return tuple(self._names[key] for key in self._relations)

    def create(self, name: TableName, columns: Iterable[Column], rows: Iterable[Row] = ()) -> None:
        """Create a table with versions, or replace what has the name by a new table."""
        snapshot = Snapshot(tuple(columns), tuple(rows))
        self.put(name, self._new(Change("CREATE TABLE AS SELECT", self._now_ms()), snapshot))

    def create_unversioned(
        self,
        name: TableName,
        columns: Iterable[Column],
        rows: Iterable[Row] = (),
        format_: str = "",
    ) -> None:
        """Create a table without versions, or replace what has the name."""
        self.put(name, UnversionedTable(tuple(columns), tuple(rows), format_))

    def create_view(
        self,
        name: TableName,
        query: str,
        context: QueryContext,
        columns: tuple[str, ...] | None = None,
    ) -> None:
        """Create a view, or replace what has the name."""
        self.put(name, View(query, context, columns))

    def put(self, name: TableName, relation: Relation) -> None:
        """Give a name to a relation."""
        with self._lock:
            self._relations[_key(name)] = relation
            self._names[_key(name)] = name

    def drop(self, name: TableName) -> None:
        """Remove what has the name, if anything has it."""
        with self._lock:
            self._relations.pop(_key(name), None)

    def create_with(self, name: TableName, change: Change, snapshot: Snapshot) -> int:
        """Create a table by a commit of ours and return its version.

        Raises:
            CommitConflictError: Something has the name.
        """
        with self._lock:
            if _key(name) in self._relations:
                raise conditions.CONCURRENT_CHANGE(table=name)
            made = self._new(change, snapshot)
            self.put(name, made)
        return made.log[-1].version

    def commit(
        self, name: TableName, change: Change, update: Callable[[Snapshot], Snapshot]
    ) -> int:
        """Make one commit and return its version.

        Args:
            name: The table.
            change: What the commit says about itself.
            update: The newest state of the table to the next one.

        Raises:
            CommitConflictError: The table is gone, or the change is fenced and comes too late.
            ForbiddenNullError: A row holds NULL in a column in which the table refuses it.
        """
        with self._lock:
            table = self.table(name)
            if table is None:
                raise conditions.CONCURRENT_CHANGE(table=name)
            after = update(table.newest)
            constraints = format_of(name).constraints(dict(after.properties))
            for column in columns_not_null(constraints).values():
                if after.holds_null(column):
                    raise ForbiddenNullError(column)
            committed = table.commit(change, after)
            self.put(name, committed)
        return committed.version

    def table(self, name: TableName) -> VersionedTable | None:
        """Return the table with versions of this name."""
        found = self.get(name)
        return found if isinstance(found, VersionedTable) else None

    def append(self, name: TableName, rows: Iterable[Row]) -> None:
        """Add rows, as a user's INSERT does."""
        added = tuple(rows)
        found = self.get(name)
        if isinstance(found, UnversionedTable):
            self.put(name, replace(found, rows=found.rows + added))
            return
        self.change(name, "WRITE", lambda s: replace(s, rows=s.rows + added))

    def delete(self, name: TableName, condition: Callable[[Row], bool]) -> None:
        """Remove rows, as a user's DELETE does."""
        self.change(
            name,
            "DELETE",
            lambda s: replace(s, rows=tuple(r for r in s.rows if not condition(r))),
        )

    def change(
        self, name: TableName, operation: str, update: Callable[[Snapshot], Snapshot]
    ) -> int:
        """Make a commit that is not ours and return its version."""
        return self.commit(name, Change(operation, self._now_ms()), update)

    def restore(self, name: TableName, version: int) -> None:
        """Bring rows, columns and properties of a version back, as RESTORE TABLE does."""
        with self._lock:
            table = self._existing(name)
            change = Change("RESTORE", self._now_ms(), restored=version)
            self.put(name, table.commit(change, table.at(version)))

    def clone(self, name: TableName, target: TableName) -> None:
        """Make another table of the same rows and properties, as CLONE does."""
        change = Change("CLONE", self._now_ms())
        self.put(target, self._new(change, self._existing(name).newest))

    def clean_log(self, name: TableName, keep: int = 0) -> None:
        """Forget all commits but the newest `keep`, as a format does after some time."""
        with self._lock:
            table = self._existing(name)
            self.put(name, replace(table, log=table.log[len(table.log) - keep :]))

    def _existing(self, name: TableName) -> VersionedTable:
        table = self.table(name)
        if table is None:
            raise KeyError(str(name))
        return table

    def _new(self, change: Change, snapshot: Snapshot) -> VersionedTable:
        return VersionedTable(uuid4().hex).commit(change, snapshot)


def _key(name: TableName) -> str:
    return str(name).lower()
