"""What every table format must do: the contract of `execution.table_format`.

A world is one implementation with tables to try it on. A suite derives from `TableFormatContract`
and has a fixture `world`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from dbt.adapters.spark_mt.definition.columns import PrimaryKey, TableName
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    encode_commit,
)
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    ChangeExtent,
    ChangeKind,
    VersionedPosition,
)
from dbt.adapters.spark_mt.definition.table_format import CommitEffect, TableRef
from dbt.adapters.spark_mt.execution.table_format import (
    RowsNotThereError,
    TableColumns,
    VersionRange,
)
from dbt.adapters.spark_mt.planning.properties import properties_of
from tests.unit.builders import QUERY, resolve, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from dbt.adapters.spark_mt.execution.table_format import VersionedTables

Rows = list[tuple[Any, ...]]

DDL = "k INT; v STRING"
TWO = [(1, "a"), (2, "b")]
CONSTRAINT = "materialized-table.not-null.v"
_LATE_MS = 10**14
"""An instant after every commit."""


class FormatWorld(ABC):
    """An implementation, and other programs that use the same tables."""

    tables: VersionedTables[Any, Any]

    @abstractmethod
    def session(self) -> AbstractContextManager[Any]:
        """Open a session of the engine."""

    @abstractmethod
    def name(self, name: str) -> TableName:
        """The full name."""

    @abstractmethod
    def ref(self, name: TableName) -> TableRef:
        """The table as the format finds it."""

    @abstractmethod
    def made(self, rows: Sequence[tuple[Any, ...]], ddl: str = DDL) -> Any:
        """Rows as the engine hands them over."""

    @abstractmethod
    def read(self, rows: Any) -> Rows:
        """Rows that the engine passed, in order."""

    @abstractmethod
    def rows(self, name: TableName, version: int | None = None) -> Rows:
        """The rows of a table, in order; as of a version if one is given."""

    @abstractmethod
    def columns(self, name: TableName) -> list[str]:
        """The columns of a table."""

    @abstractmethod
    def properties(self, name: TableName) -> dict[str, str]:
        """The properties of a table."""

    @abstractmethod
    def condition_of(self, error: BaseException) -> str:
        """The condition of an error of the implementation."""

    @abstractmethod
    def is_missing(self, error: BaseException) -> bool:
        """Whether an error says that there is no such table."""

    @abstractmethod
    def is_unreadable(self, error: BaseException) -> bool:
        """Whether an error says that the commit or the files of a version are gone."""

    @abstractmethod
    def create(self, name: TableName, rows: Rows) -> None:
        """Create a table of the columns `DDL`, as another program does."""

    @abstractmethod
    def update(self, name: TableName, key: int, value: str) -> None:
        """Change the rows of a key, as another program does."""

    @abstractmethod
    def delete(self, name: TableName, key: int) -> None:
        """Delete the rows of a key, as another program does."""

    @abstractmethod
    def drop(self, name: TableName) -> None:
        """Drop a table."""

    @abstractmethod
    def restore(self, name: TableName, version: int) -> None:
        """Bring a version back."""

    @abstractmethod
    def conflict(self, name: TableName, number: int, by: int) -> BaseException:
        """Commit under `number` while another writer commits under `by`; return the error."""

    @abstractmethod
    def forget_commits(self, name: TableName) -> None:
        """Make a commit, and remove all before it from the log, as time does."""

    @abstractmethod
    def violate(self, name: TableName) -> None:
        """Append a row with NULL in the column `v`, as another program does."""

    # What follows from the above

    def table(self, rows: Rows = TWO) -> TableName:
        """A table with rows."""
        name = self.name("t")
        self.create(name, list(rows))
        return name

    def run(self, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a method with a session of its own."""
        with self.session() as session:
            return method(session, *args, **named)

    def commit(
        self,
        number: int | None,
        write: Callable[..., Any],
        target: Any,
        *args: Any,
        commit_metadata: CommitMetadata | None = None,
        **more: Any,
    ) -> int | None:
        """Make a commit to a table, or to that of a definition or of columns."""
        with self.session() as session:
            metadata = encode_commit(commit_metadata or recorded(number))
            made = partial(write, session, target, *args)
            name = target if isinstance(target, TableName) else target.name
            return self.tables.commit(session, name, metadata, number, made, **more)

    def newest(self, name: TableName) -> int:
        return self.tables.history.newest(self.ref(name))

    def position(self, name: TableName) -> VersionedPosition:
        version = self.newest(name)
        commit = self.tables.history.commit(self.ref(name), version)
        assert commit is not None
        return VersionedPosition(version, commit.identity)

    def kind(self, name: TableName, after: VersionedPosition, *columns: str) -> ChangeKind:
        range_ = self._range(name, after, columns or None)
        return self.run(lambda s: self.tables.changes(s).kind(range_, net=True))

    def changes(
        self, name: TableName, after: VersionedPosition, columns: Collection[str] | None = None
    ) -> tuple[Rows, Rows]:
        """The rows that were added and those that were removed."""
        with self.session() as session:
            reader, range_ = self.tables.changes(session), self._range(name, after, columns)
            removed = reader.removed(range_)
            return self.read(reader.added(range_)), [] if removed is None else self.read(removed)

    def extent(self, name: TableName, after: VersionedPosition) -> ChangeExtent:
        return self.run(lambda s: self.tables.changes(s).extent(self._range(name, after)))

    def weighted(
        self, name: TableName, after: VersionedPosition, columns: Collection[str] | None = None
    ) -> Rows:
        """The rows that were added or removed, each with how often; added up."""
        with self.session() as session:
            range_ = self._range(name, after, columns)
            ways = self.tables.changes(session).weighted(range_, "weight")
            first, *others = [_added_up(self.read(rows)) for rows in ways]
            assert all(other == first for other in others)
            return first

    def changed_types(self, name: TableName, after: VersionedPosition, *columns: str) -> Rows:
        range_ = self._range(name, after, columns or None)
        return list(self.run(lambda s: self.tables.changes(s).changed_types(range_)))

    def _range(
        self, name: TableName, after: VersionedPosition, columns: Collection[str] | None = None
    ) -> VersionRange:
        return VersionRange(self.ref(name), after, self.position(name), columns)


def nowhere(table: TableRef) -> TableRef:
    """A table that is not there."""
    name = replace(table.name, name=f"{table.name.name}_nowhere")
    return TableRef(name, table.format, f"{table.handle}_nowhere")


def _added_up(rows: Rows) -> Rows:
    counts: Counter[tuple[Any, ...]] = Counter()
    for *row, weight in rows:
        counts[tuple(row)] += weight
    return sorted(((*row, n) for row, n in counts.items()), key=repr)


def recorded(number: int | None) -> CommitMetadata:
    return CommitMetadata("id", CommitKind.CONTENT, number or 0, 1)


def definition(name: TableName, **clauses: Any):
    declared = DeclaredDefinition(QUERY, constraints=(PrimaryKey(("k",), None),), **clauses)
    return stored(resolve(declared, DDL), name)


def changed(name: TableName) -> TableColumns:
    return TableColumns.of(definition(name))


class TableFormatContract:
    """The contract, over one world."""

    # The fence

    def test_a_commit_says_which_version_it_made_and_carries_its_metadata(self, world):
        t, tables = world.table(), world.tables
        version = world.commit(1, tables.append, t, world.made([(3, "c")]))
        assert version == world.newest(t)
        found = tables.history.commit(world.ref(t), version)
        assert (found.metadata, found.effect, found.problem) == (recorded(1), CommitEffect.ROWS, "")
        assert world.rows(t) == [*TWO, (3, "c")]

    @pytest.mark.parametrize("number", [5, 4])
    def test_a_number_that_was_committed_and_lower_ones_are_skipped(self, world, number):
        t, tables = world.table(), world.tables
        assert world.commit(5, tables.append, t, world.made([(3, "c")])) is not None
        before = world.newest(t)
        assert world.commit(number, tables.append, t, world.made([(4, "d")])) is None
        assert (world.newest(t), world.rows(t)) == (before, [*TWO, (3, "c")])
        last = world.commit(6, tables.append, t, world.made([(4, "d")]))
        assert last == world.newest(t) > before

    def test_commits_without_a_fence_and_of_other_fences_pass(self, world):
        t, tables = world.table(), world.tables
        world.commit(5, tables.append, t, world.made([(3, "c")]))
        assert world.commit(None, tables.append, t, world.made([(4, "d")])) is not None
        one = world.made([(5, "e")])
        assert world.commit(5, tables.append, t, one, fence="another") is not None
        assert world.commit(5, tables.append, t, one, fence="another") is None
        assert world.rows(t) == [*TWO, (3, "c"), (4, "d"), (5, "e")]

    def test_a_restore_does_not_lower_the_fence(self, world):
        t, tables = world.table(), world.tables
        before = world.newest(t)
        world.commit(5, tables.append, t, world.made([(3, "c")]))
        world.restore(t, before)
        assert world.commit(5, tables.append, t, world.made([(3, "c")])) is None
        assert world.rows(t) == TWO

    def test_a_writer_after_another_one_gets_a_conflict(self, world):
        t = world.table()
        error = world.conflict(t, number=1, by=2)
        assert world.condition_of(error) in world.tables.format.conditions.conflict
        assert (9, "late") not in world.rows(t)

    # History

    def test_history_is_read_from_the_newest_commit(self, world):
        t, history = world.table(), world.tables.history
        where = world.ref(t)
        appended = world.commit(1, world.tables.append, t, world.made([(3, "c")]))
        world.run(world.tables.set_properties, t, {"note": "x"})
        of_properties = [CommitEffect.NO_ROWS] * (world.newest(t) != appended)
        world.delete(t, 1)
        commits = list(history.backwards(where))
        assert history.oldest(where) == commits[-1]
        effects = [CommitEffect.ROWS, *of_properties, CommitEffect.ROWS]
        ours = [*(False for _ in effects[1:]), True]
        assert [c.metadata is not None for c in commits][: len(ours)] == ours
        assert [c.effect for c in commits][: len(effects)] == effects
        newest, before, *_ = [c.version for c in commits]
        assert next(iter(history.backwards(where, before))).version == before
        assert [c.previous for c in commits] == [*(c.version for c in commits[1:]), -1]
        later = 2 * newest + 1
        assert history.is_there(where)
        assert not history.is_there(nowhere(where))
        assert history.is_newest(where, newest)
        assert not history.is_newest(where, before)
        assert history.commit(where, later) is None
        both = history.commits([(where, newest), (where, before), (where, later)])
        assert set(both) == {(where, newest), (where, before)}

    def test_the_size_is_that_of_the_data_files_where_the_log_has_it(self, world):
        t, history = world.table(), world.tables.history
        where = world.ref(t)
        before = history.size(where, history.newest(where))
        world.commit(1, world.tables.append, t, world.made([(3, "c")]))
        after = history.size(where, history.newest(where))
        if before is None:
            assert after is None
        else:
            assert (after[0] > before[0], after[1] > before[1]) == (True, True)
        assert history.size(nowhere(where), 0) is None

    def test_a_table_is_described_where_the_log_has_its_properties(self, world):
        t, history = world.table(), world.tables.history
        where, first = world.ref(t), world.newest(t)
        world.run(world.tables.set_properties, t, {"note": "x"})
        found = history.description(where, world.newest(t))
        if found is not None:
            assert found.properties == world.properties(t)
            assert found.properties["note"] == "x"
            is_commit = world.newest(t) != first
            assert not is_commit or "note" not in history.description(where, first).properties
        assert history.description(nowhere(where), 0) is None

    def test_an_instant_is_after_the_version_that_was_committed_before_it(self, world):
        t, history = world.table(), world.tables.history
        world.delete(t, 1)
        where, newest = world.ref(t), world.newest(t)
        before = history.at(where, 0)
        assert before is None or world.rows(t, before) == []
        assert history.at(where, _LATE_MS) == newest
        world.forget_commits(t)
        assert history.at(where, _LATE_MS) == world.newest(t)

    def test_a_commit_of_rows_keeps_the_columns_and_one_of_properties_may_not(self, world):
        t, history = world.table(), world.tables.history
        where, first = world.ref(t), world.newest(t)
        assert history.keeps_columns(where, first, first)
        world.delete(t, 1)
        world.commit(1, world.tables.append, t, world.made([(3, "c")]))
        rows = world.newest(t)
        assert history.keeps_columns(where, first, rows)
        world.run(world.tables.set_properties, t, {"note": "x"})
        newest = world.newest(t)
        assert history.keeps_columns(where, first, newest) == (rows == newest)
        assert history.keeps_columns(where, rows, newest) == (rows == newest)
        assert history.keeps_columns(where, newest, newest)

    def test_columns_are_not_known_where_the_log_lacks_a_commit(self, world):
        t, history = world.table(), world.tables.history
        where, first = world.ref(t), world.newest(t)
        world.delete(t, 1)
        world.forget_commits(t)
        assert not history.keeps_columns(where, first, world.newest(t))

    def test_a_restore_names_the_version_that_it_brought_back(self, world):
        t = world.table()
        before = world.newest(t)
        world.delete(t, 1)
        world.restore(t, before)
        assert world.rows(t) == TWO
        if world.newest(t) == before:  # the format goes back, and makes no commit
            return
        found = world.tables.history.commit(world.ref(t), world.newest(t))
        assert (found.effect, found.restored) == (CommitEffect.RESTORE, before)

    def test_the_first_commit_that_changes_rows_is_found(self, world):
        t, history = world.table(), world.tables.history
        before, where = world.newest(t), world.ref(t)
        world.run(world.tables.set_properties, t, {"note": "x"})
        assert history.first_row_change(where, before, world.newest(t)) is None
        world.delete(t, 1)
        deleted = world.newest(t)
        world.delete(t, 2)
        assert history.first_row_change(where, before, world.newest(t)).version == deleted
        assert history.first_row_change(where, deleted, deleted) is None

    def test_commits_that_were_removed_are_gone_and_the_rest_is_there(self, world):
        t, history = world.table(), world.tables.history
        where, earlier = world.ref(t), world.newest(t)
        world.forget_commits(t)
        newest = history.newest(where)
        assert newest > earlier
        assert history.oldest(where).version == newest
        assert history.commit(where, earlier) is None
        assert [c.version for c in history.backwards(where)] == [newest]
        assert history.stamp(where, earlier) == ""

    def test_another_table_of_the_name_has_another_identity_and_another_stamp(self, world):
        t, history = world.table(), world.tables.history
        where, position = world.ref(t), world.position(t)
        first = history.newest(where)
        stamp = history.stamp(where, first)
        identity = world.run(world.tables.identity, where)
        assert identity == world.run(world.tables.identity, where) != ""
        world.drop(t)
        world.create(t, TWO)
        assert world.run(world.tables.identity, world.ref(t)) != identity
        assert history.stamp(world.ref(t), first) != stamp
        assert world.position(t) != position

    # Reading versions, and changes between them

    def test_a_version_is_read_as_it_was(self, world):
        t = world.table()
        before = world.newest(t)
        world.delete(t, 1)
        assert (world.rows(t, before), world.rows(t)) == (TWO, [(2, "b")])

    def test_what_was_appended_was_added(self, world):
        t = world.table()
        start = world.position(t)
        assert world.kind(t, start) is ChangeKind.NONE
        world.commit(1, world.tables.append, t, world.made([(1, "a"), (3, "c")]))
        assert world.kind(t, start) is ChangeKind.ADDED
        assert world.changes(t, start) == ([(1, "a"), (3, "c")], [])
        assert world.changes(t, world.position(t)) == ([], [])

    def test_what_was_updated_was_removed_and_added(self, world):
        t = world.table()
        start = world.position(t)
        world.update(t, 1, "new")
        assert world.kind(t, start) is ChangeKind.REMOVED
        assert world.changes(t, start) == ([(1, "new")], [(1, "a")])

    def test_what_was_deleted_was_removed(self, world):
        t = world.table([*TWO, (2, "b")])
        start = world.position(t)
        world.delete(t, 2)
        assert world.kind(t, start) is ChangeKind.REMOVED
        assert world.changes(t, start) == ([], [(2, "b"), (2, "b")])

    def test_rows_are_compared_as_bags(self, world):
        t = world.table()
        start = world.position(t)
        world.commit(1, world.tables.overwrite, t, world.made(TWO[::-1]))
        assert world.kind(t, start) is ChangeKind.NONE
        assert world.changes(t, start) == ([], [])
        world.commit(2, world.tables.overwrite, t, world.made([(1, "a"), (1, "a")]))
        assert world.changes(t, start) == ([(1, "a")], [(2, "b")])

    def test_a_change_is_read_with_weights(self, world):
        t = world.table([*TWO, (2, "b"), (3, "c")])
        start = world.position(t)
        world.commit(1, world.tables.append, t, world.made([(4, "d"), (4, "d")]))
        assert world.weighted(t, start) == [(4, "d", 2)]
        world.delete(t, 2)
        world.update(t, 3, "new")
        world.update(t, 1, "b")
        world.update(t, 1, "a")
        found = [(2, "b", -2), (3, "c", -1), (3, "new", 1), (4, "d", 2)]
        assert world.weighted(t, start) == found
        assert world.weighted(t, world.position(t)) == []

    def test_the_extent_of_a_change_is_read_from_the_log(self, world):
        t = world.table([(k, "x") for k in range(8)])
        start = world.position(t)
        assert world.extent(t, start).kind is ChangeKind.NONE
        world.commit(1, world.tables.append, t, world.made([(8, "y"), (9, "y")]))
        assert world.extent(t, start) == ChangeExtent(ChangeKind.ADDED, 2, 10)
        world.delete(t, 0)
        found = world.extent(t, start)
        assert (found.kind, found.rows) == (ChangeKind.REMOVED, 9)
        assert found.changed >= 3, "a format may count the rows of the files that it wrote again"
        behind = world.position(t)
        world.run(world.tables.compact, t)
        if world.position(t) != behind:  # a format may leave a few small files alone
            assert world.extent(t, behind) == ChangeExtent(ChangeKind.NONE, 0, 9)

    def test_all_rows_were_added_since_before_all(self, world):
        t = world.table()
        assert world.kind(t, BEFORE_ALL) is ChangeKind.ADDED
        assert world.changes(t, BEFORE_ALL) == (TWO, [])

    def test_compaction_and_properties_change_no_row(self, world):
        t = world.table()
        start = world.position(t)
        world.commit(1, world.tables.append, t, world.made([(3, "c")]))
        behind = world.position(t)
        world.run(world.tables.compact, t)
        world.run(world.tables.set_properties, t, {"note": "x"})
        assert world.kind(t, behind) is ChangeKind.NONE
        assert world.changes(t, start) == ([(3, "c")], [])

    def test_columns_of_other_types_are_named(self, world):
        t = world.table()
        start = world.position(t)
        world.commit(1, world.tables.append, t, world.made([(3, "c")]))
        world.run(world.tables.set_properties, t, {"note": "x"})
        assert world.changed_types(t, start) == []
        world.commit(2, world.tables.replace, t, world.made(TWO, "k BIGINT; v STRING"))
        (found,) = world.changed_types(t, start)
        assert found.startswith("k was ")
        assert world.changed_types(t, start, "k") == [found]
        assert world.changed_types(t, start, "v") == []
        assert world.changed_types(t, world.position(t)) == []
        assert world.changed_types(t, BEFORE_ALL) == []

    def test_columns_that_are_not_read_are_null_and_not_compared(self, world):
        t = world.table()
        start = world.position(t)
        world.update(t, 1, "new")
        assert world.kind(t, start, "k") is ChangeKind.NONE
        assert world.changes(t, start, ("k",)) == ([], [])
        world.commit(1, world.tables.append, t, world.made([(3, "c")]))
        assert world.kind(t, start, "k") is ChangeKind.ADDED
        assert world.changes(t, start, ("k",)) == ([(3, None)], [])
        assert world.changes(t, start, ()) == ([(None, None)], [])
        world.delete(t, 2)
        assert world.weighted(t, start, ("k",)) == [(2, None, -1), (3, None, 1)]
        assert world.weighted(t, start, ()) == []

    def test_a_column_that_is_not_read_may_get_a_type_that_cannot_be_united(self, world):
        t = world.table()
        start = world.position(t)
        rows = world.made([(1, ["a"]), (3, ["c"])], "k INT; v ARRAY<STRING>")
        world.commit(1, world.tables.replace, t, rows)
        assert world.changed_types(t, start, "k") == []
        assert world.kind(t, start, "k") is ChangeKind.REMOVED
        assert world.changes(t, start, ("k",)) == ([(3, None)], [(2, None)])
        assert world.weighted(t, start, ("k",)) == [(2, None, -1), (3, None, 1)]

    # Writes

    def test_a_table_is_created_with_what_follows_from_its_definition(self, world):
        found = definition(world.name("t"), comment="sums", partitioned_by=("v",))
        t, tables = found.name, world.tables
        assert world.commit(1, tables.create, found, world.made(TWO)) == world.newest(t)
        assert world.rows(t) == TWO
        assert world.run(tables.partition_columns, t) == ("v",)
        wanted = properties_of(found, tables.format)
        assert {key: world.properties(t).get(key) for key in wanted} == wanted
        with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever the engine raises
            world.commit(2, tables.create, found, world.made(TWO))
        assert world.condition_of(failed.value)

    def test_a_replacement_brings_its_own_columns_and_keeps_the_identity(self, world):
        t, tables = world.table(), world.tables
        identity = world.run(tables.identity, world.ref(t))
        world.commit(1, tables.replace, t, world.made([("x", 1)], "a STRING; b INT"), ("a",))
        assert (world.rows(t), world.columns(t)) == ([("x", 1)], ["a", "b"])
        assert world.run(tables.partition_columns, t) == ("a",)
        assert world.run(tables.identity, world.ref(t)) == identity

    @pytest.mark.parametrize("method", ["overwrite", "append"])
    def test_a_write_may_add_columns(self, world, method):
        t, ddl = world.table(), f"{DDL}; w INT"
        write = partial(getattr(world.tables, method), adds_columns=True)
        world.commit(1, write, t, world.made([(3, "c", 7)], ddl))
        kept = [] if method == "overwrite" else [(*row, None) for row in TWO]
        assert (world.rows(t), world.columns(t)) == ([*kept, (3, "c", 7)], ["k", "v", "w"])

    def test_rows_of_a_condition_are_replaced(self, world):
        t = world.table()
        world.commit(1, world.tables.overwrite_where, t, "`k` = 2", world.made([(2, "new")]))
        assert world.rows(t) == [(1, "a"), (2, "new")]

    def test_rows_of_keys_are_replaced(self, world):
        t = world.table([*TWO, (3, "c")])
        keys = world.made([(1,), (2,), (4,)], "k INT")
        rows = world.made([(1, "new"), (4, "d")])
        world.commit(1, world.tables.replace_keys, changed(t), ("k",), rows, keys)
        assert world.rows(t) == [(1, "new"), (3, "c"), (4, "d")]

    def test_rows_take_the_place_of_those_of_the_same_key(self, world):
        t = world.table()
        rows = world.made([(2, "new"), (3, "c")])
        world.commit(1, world.tables.upsert, definition(t), rows, ("k",))
        assert world.rows(t) == [(1, "a"), (2, "new"), (3, "c")]

    def test_rows_are_removed_and_added_while_all_others_stay(self, world):
        t = world.table([*TWO, (3, "c")])
        added, removed = world.made([(1, "new"), (4, None)]), world.made([(1, "a"), (3, "c")])
        world.commit(1, world.tables.apply_changes, changed(t), added, removed)
        assert world.rows(t) == [(1, "new"), (2, "b"), (4, None)]

    def test_of_equal_rows_as_many_are_removed_as_are_to_be(self, world):
        t = world.table([*TWO, (2, "b"), (2, "b"), (3, None), (3, None)])
        added, removed = world.made([(2, "c"), (2, "c")]), world.made([(2, "b"), (3, None)])
        world.commit(1, world.tables.apply_changes, changed(t), added, removed)
        assert world.rows(t) == [(1, "a"), (2, "b"), (2, "b"), (2, "c"), (2, "c"), (3, None)]

    @pytest.mark.parametrize(
        ("added", "removed"), [((9, "x"), [(2, "b"), (2, "b")]), ((9, "x"), [(1, "b")])]
    )
    def test_a_change_of_rows_that_are_not_there_changes_nothing(self, world, added, removed):
        t = world.table()
        made = world.made([added]), world.made(removed)
        with pytest.raises(RowsNotThereError):
            world.commit(1, world.tables.apply_changes, changed(t), *made)
        assert world.rows(t) == TWO
        assert world.commit(1, world.tables.overwrite, t, world.made([(1, "z")])) is not None
        assert world.rows(t) == [(1, "z")]

    def test_changes_of_rows_are_fenced(self, world):
        t = world.table()
        world.commit(2, world.tables.append, t, world.made([(3, "c")]))
        change = (changed(t), world.made([(1, "new")]), world.made([(1, "a")]))
        assert world.commit(2, world.tables.apply_changes, *change) is None
        assert world.rows(t) == [*TWO, (3, "c")]

    # Properties and constraints

    def test_properties_are_set_and_removed(self, world):
        t, tables = world.table(), world.tables
        world.run(tables.set_properties, t, {"one": "it's", "two": "2"})
        assert {k: world.properties(t)[k] for k in ("one", "two")} == {"one": "it's", "two": "2"}
        world.run(tables.unset_properties, t, ["one", "never there"])
        assert "one" not in world.properties(t)

    def test_a_constraint_refuses_null_until_it_is_dropped(self, world):
        t, tables = world.table(), world.tables
        world.run(tables.add_not_null, t, CONSTRAINT, "v")
        assert CONSTRAINT in tables.format.constraints(world.properties(t))
        with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever the engine raises
            world.violate(t)
        assert world.condition_of(failed.value) in tables.format.conditions.constraint
        with pytest.raises(Exception) as failed:  # noqa: PT011
            world.run(tables.add_not_null, t, CONSTRAINT, "v")
        assert world.condition_of(failed.value) in tables.format.conditions.constraint_exists
        world.run(tables.drop_constraint, t, CONSTRAINT)
        world.run(tables.drop_constraint, t, CONSTRAINT)
        world.violate(t)
        assert (9, None) in world.rows(t)
        with pytest.raises(Exception) as failed:  # noqa: PT011
            world.run(tables.add_not_null, t, CONSTRAINT, "v")
        assert world.condition_of(failed.value) in tables.format.conditions.rows_break_constraint

    def test_properties_of_the_format_are_separate_from_those_of_users(self, world):
        t, format_ = world.table(), world.tables.format
        world.run(world.tables.set_properties, t, {"note": "x", **format_.name_mapping})
        assert all(map(format_.is_maintained, format_.name_mapping))
        assert not format_.is_maintained("note")

    # Maintenance

    def test_what_vacuum_removed_cannot_be_read_any_more(self, world):
        t, tables = world.table(), world.tables
        before = world.newest(t)
        world.commit(1, tables.overwrite, t, world.made([(3, "c")]))
        world.run(tables.vacuum, t, 7 * 24 * 3600 * 1000)
        assert world.rows(t, before) == TWO
        world.run(tables.vacuum, t, 0)
        with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever the engine raises
            world.rows(t, before)
        assert world.is_unreadable(failed.value)
        assert world.rows(t) == [(3, "c")]

    def test_what_is_not_there_is_known_by_its_condition(self, world):
        with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever the engine raises
            world.run(world.tables.compact, world.name("nowhere"))
        assert world.is_missing(failed.value)
        history, gone = world.tables.history, nowhere(world.ref(world.table()))
        assert history.newest(gone) == -1
        assert history.oldest(gone) is None
        assert history.at(gone, _LATE_MS) is None
        assert list(history.backwards(gone)) == []
