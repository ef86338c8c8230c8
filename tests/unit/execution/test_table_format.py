"""The contract of table formats in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.ports import CommitConflictError
from tests.behaviour.table_format import DDL, FormatWorld, TableFormatContract
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.table_format import FORMAT
from tests.support.memory.tables import ForbiddenNullError, NamedRows, UnreadableVersionError
from tests.support.memory.versioned import (
    MemoryFormatError,
    MemorySession,
    MemoryVersionedTables,
)
from tests.unit.builders import columns


class MemoryWorld(FormatWorld):
    """A catalog of its own."""

    def __init__(self):
        self._now = 0
        self._catalog = MemoryCatalog(self._tick)
        self.tables = MemoryVersionedTables(self._catalog, self._tick)

    def _tick(self):
        self._now += 1
        return self._now

    @contextmanager
    def session(self):
        yield MemorySession(self._catalog)

    def name(self, name):
        return TableName(name, "s", "c")

    def ref(self, name):
        return TableRef(name, FORMAT.name, str(name))

    def made(self, rows, ddl=DDL):
        return NamedRows.of(columns(ddl), rows)

    def read(self, rows):
        return sorted(rows, key=repr)

    def rows(self, name, version=None):
        table = self._catalog.table(name)
        return self.read(table.rows_at(table.version if version is None else version))

    def columns(self, name):
        return [column.name for column in self._catalog.table(name).newest.columns]

    def properties(self, name):
        return dict(self._catalog.table(name).newest.properties)

    def condition_of(self, error):
        match error:
            case MemoryFormatError():
                return error.condition
            case ForbiddenNullError():
                return "MEMORY_NULL"
            case UnreadableVersionError():
                return "MEMORY_NO_VERSION"
            case CommitConflictError():
                return "MEMORY_CONFLICT"
        raise error

    def is_missing(self, error):
        return self.condition_of(error) in self.tables.format.conditions.no_table

    def is_unreadable(self, error):
        return self.condition_of(error) in self.tables.format.conditions.unreadable_version

    def create(self, name, rows):
        self._catalog.create(name, columns(DDL), rows)

    def update(self, name, key, value):
        def updated(snapshot):
            rows = tuple((k, value if k == key else v) for k, v in snapshot.rows)
            return replace(snapshot, rows=rows)

        self._catalog.change(name, "UPDATE", updated)

    def delete(self, name, key):
        self._catalog.delete(name, lambda row: row[0] == key)

    def drop(self, name):
        self._catalog.drop(name)

    def restore(self, name, version):
        self._catalog.restore(name, version)

    def violate(self, name):
        self._catalog.append(name, [(9, None)])

    def conflict(self, name, number, by):
        """The second writer commits between the first one's look at the fence and its commit."""
        commit = self._catalog.commit

        def late(name, change, update):
            self._catalog.commit = commit
            assert self.commit(by, self.tables.append, name, self.made([(3, "c")])) is not None
            return commit(name, change, update)

        self._catalog.commit = late
        with pytest.raises(MemoryFormatError) as failed:
            self.commit(number, self.tables.overwrite, name, self.made([(9, "late")]))
        return failed.value

    def forget_commits(self, name):
        self._catalog.append(name, [])
        self._catalog.clean_log(name, keep=1)


@pytest.fixture
def world():
    return MemoryWorld()


class TestMemory(TableFormatContract):
    """The tables with which the engine is tested."""
