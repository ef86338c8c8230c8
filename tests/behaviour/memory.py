"""The behaviour suite's tables in memory."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.errors import QueryError
from tests.behaviour.harness import Metadata, Rel, Tables, sortable
from tests.support.memory.environment import MemoryEnvironment
from tests.support.memory.table_format import format_of
from tests.support.memory.tables import NamedRows, View
from tests.unit.builders import columns


class MemoryTables(Tables):
    """A schema in memory."""

    def __init__(self, clock=None) -> None:
        self.memory = MemoryEnvironment(**({} if clock is None else {"clock": clock}))
        self.catalog = self.memory.catalog
        self.environment = self.memory.value

    def forget(self) -> None:
        pass

    def learn(self, query, ddl, evaluate) -> None:
        self.memory.register(query, columns(ddl), evaluate)

    def learn_star(self, query, made) -> None:
        def rel(relations):
            found = {
                name: Rel(tuple(c.name for c in rows.columns), list(rows))
                for name, rows in relations.items()
            }
            return made(found)

        self.memory.register(
            query,
            lambda relations: tuple(Column(n, "INT") for n in rel(relations).names),
            lambda relations: rel(relations).rows,
        )

    def move_column(self, name, column, after) -> None:
        self._reshape(name, lambda names: _placed([n for n in names if n != column], column, after))

    def add_column(self, name, column, after) -> None:
        self._reshape(name, lambda names: _placed(list(names), column, after))

    def rename_column(self, name, column, other) -> None:
        def renamed(snapshot):
            columns_ = (
                replace(c, name=other if c.name == column else c.name) for c in snapshot.columns
            )
            return replace(snapshot, columns=tuple(columns_))

        self.catalog.change(self.name(name), "RENAME COLUMN", renamed)

    def columns(self, name) -> tuple[str, ...]:
        return tuple(c.name for c in self._table(name).newest.columns)

    def _reshape(self, name, order) -> None:
        def reshaped(snapshot):
            rows = NamedRows.of(snapshot.columns, snapshot.rows)
            there = {c.name: c for c in snapshot.columns}
            names = order(tuple(there))
            columns_ = tuple(there.get(n, Column(n, "INT")) for n in names)
            return replace(snapshot, columns=columns_, rows=tuple(rows.selecting(names)))

        self.catalog.change(self.name(name), "CHANGE COLUMN", reshaped)

    def learn_check(self, expression, holds) -> None:
        self.memory.register_check(expression, holds)

    def source(self, name, ddl, rows) -> None:
        self.catalog.create(self.name(name), columns(ddl), rows)

    def view(self, name, query) -> None:
        try:
            columns_ = tuple(c.name for c in self.environment.analyzer.analyze(query).columns)
        except QueryError:
            columns_ = None
        self.catalog.create_view(self.name(name), query, self.memory.context, columns_)

    def append(self, name, rows) -> None:
        self.catalog.append(self.name(name), rows)

    def delete(self, name, column, value) -> None:
        names = [c.name for c in self._table(name).newest.columns]
        place = names.index(column)
        self.catalog.delete(self.name(name), lambda row: row[place] == value)

    def drop(self, name) -> None:
        self.catalog.drop(self.name(name))

    def drop_column(self, name, column) -> None:
        def without(snapshot):
            place = [c.name for c in snapshot.columns].index(column)
            return replace(
                snapshot,
                columns=_without(snapshot.columns, place),
                rows=tuple(_without(row, place) for row in snapshot.rows),
            )

        self.catalog.change(self.name(name), "DROP COLUMNS", without)

    def set_property(self, name, key, value) -> None:
        self.catalog.change(
            self.name(name), "SET TBLPROPERTIES", lambda s: s.with_properties({key: value})
        )

    def drop_not_null(self, name, column) -> None:
        prefix = format_of(self.name(name)).constraint_prefix
        key = f"{prefix}materialized-table.not-null.{column}"
        assert key in dict(self._table(name).newest.properties)
        self.catalog.change(
            self.name(name), "DROP CONSTRAINT", lambda s: s.with_properties({key: None})
        )

    def versions(self, name) -> list[int]:
        return [*self._table(name).versions]

    def restore(self, name, version) -> None:
        self.catalog.restore(self.name(name), version)

    def clone(self, name, target) -> None:
        self.catalog.clone(self.name(name), self.name(target))

    def rows(self, name) -> list[tuple]:
        relation = self.catalog.get(self.name(name))
        if isinstance(relation, View):
            analyzed = self.environment.analyzer.analyze(relation.query)
            return [tuple(str(source) for source in analyzed.sources)]
        return sorted(relation.newest.rows, key=sortable)

    def identity(self, name) -> str:
        return self._table(name).identity

    def metadata(self, name) -> Metadata:
        newest = self._table(name).newest
        comments = {c.name: c.comment for c in newest.columns if c.comment}
        properties = dict(newest.properties)
        options, not_null = self.options(properties), self.not_null(properties)
        return Metadata(newest.comment, comments, options, newest.clustered_by, not_null)

    def _table(self, name):
        table = self.catalog.table(self.name(name))
        assert table is not None
        return table


def _placed(names, column, after):
    names.insert(0 if after is None else names.index(after) + 1, column)
    return names


def _without(items, place):
    return (*items[:place], *items[place + 1 :])
