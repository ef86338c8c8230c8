"""The contract of table formats in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import CommitConflictError
from dbt.adapters.spark_mt.definition.table_format import TableRef
from dbt.adapters.spark_mt.execution.table_format import InstalledTables
from tests.behaviour.table_format import DDL, FormatWorld, TableFormatContract
from tests.support.errors import raises
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


class OtherTables(MemoryVersionedTables):
    """Another format in the same process."""

    format = replace(FORMAT, name="other", catalogs=frozenset({"some.Catalog"}))


def test_each_table_is_read_by_its_own_format():
    one, other = MemoryWorld(), MemoryWorld()
    other.tables = OtherTables(other._catalog, other._tick)
    tables = InstalledTables(one.tables, other.tables)
    name = one.table()
    one.delete(name, 1)
    assert other.table() == name, "of two catalogs, so only the format distinguishes them"
    first, second = one.ref(name), replace(one.ref(name), format="other")
    newest = {ref.format: tables.history(ref).newest(ref) for ref in (first, second)}
    assert newest == {FORMAT.name: one.newest(name), "other": other.newest(name)}
    assert newest[FORMAT.name] != newest["other"]
    found = tables.commits([(first, newest[FORMAT.name]), (second, newest["other"])])
    assert {ref.format: commit.version for (ref, _), commit in found.items()} == newest
    assert tables.of(second) is tables.named("other") is other.tables
    assert (tables.default, tables.named("parquet")) == (one.tables, None)


def test_a_format_whose_tables_are_only_read_is_refused_where_one_is_written():
    one, other = MemoryWorld(), MemoryWorld()
    other.tables = OtherTables(other._catalog, other._tick)
    tables = InstalledTables(one.tables, sources=(other.tables,))
    ref = one.ref(one.table())
    only_read = replace(ref, format="other")
    assert tables.written(ref) is one.tables
    assert tables.of(only_read) is other.tables
    with raises(conditions.FORMAT_WITHOUT_TABLES) as raised:
        tables.written(only_read)
    assert raised.value.parameters["table"] == str(ref.name)


def test_a_catalog_has_tables_of_its_format():
    one, other = MemoryWorld(), MemoryWorld()
    other.tables = OtherTables(other._catalog, other._tick)
    tables = InstalledTables(one.tables, sources=(other.tables,))
    assert tables.made_in("some.Catalog") is other.tables
    assert tables.made_in("another.Catalog") is tables.made_in("") is one.tables
    assert tables.written_by(FORMAT, one.name("t")) is one.tables
    with raises(conditions.FORMAT_WITHOUT_TABLES):
        tables.written_by(other.tables.format, one.name("t"))


def test_the_changes_of_all_tables_of_a_format_have_one_reader():
    made = []

    class Counting(MemoryVersionedTables):
        def changes(self, session):
            made.append(session)
            return super().changes(session)

    world = MemoryWorld()
    readers = InstalledTables(Counting(world._catalog, world._tick)).changes(
        MemorySession(world._catalog)
    )
    ref = world.ref(world.table())
    assert readers(ref) is readers(replace(ref, handle="elsewhere"))
    assert len(made) == 1
