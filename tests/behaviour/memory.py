"""The behaviour suite's tables in memory."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.execution.memory.environment import MemoryEnvironment
from dbt.adapters.spark_mt.execution.memory.tables import View
from dbt.adapters.spark_mt.execution.recent import Recent
from tests.behaviour.harness import Metadata, Tables
from tests.unit.builders import columns


class MemoryTables(Tables):
    """A schema in memory."""

    def __init__(self, clock=None) -> None:
        self.memory = MemoryEnvironment(**({} if clock is None else {"clock": clock}))
        self.catalog = self.memory.catalog
        self.environment = replace(self.memory.value, recent=Recent())

    def forget(self) -> None:
        pass

    def learn(self, query, ddl, evaluate) -> None:
        self.memory.register(query, columns(ddl), evaluate)

    def learn_check(self, expression, holds) -> None:
        self.memory.register_check(expression, holds)

    def source(self, name, ddl, rows) -> None:
        self.catalog.create(self.name(name), columns(ddl), rows)

    def view(self, name, query) -> None:
        self.catalog.create_view(self.name(name), query, self.memory.context)

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

    def restore(self, name, version) -> None:
        self.catalog.restore(self.name(name), version)

    def clone(self, name, target) -> None:
        self.catalog.clone(self.name(name), self.name(target))

    def rows(self, name) -> list[tuple]:
        relation = self.catalog.get(self.name(name))
        if isinstance(relation, View):
            analyzed = self.environment.analyzer.analyze(relation.query)
            return [tuple(str(source) for source in analyzed.sources)]
        return sorted(relation.newest.rows)

    def identity(self, name) -> str:
        return self._table(name).identity

    def metadata(self, name) -> Metadata:
        newest = self._table(name).newest
        comments = {c.name: c.comment for c in newest.columns if c.comment}
        options = self.options(dict(newest.properties))
        return Metadata(newest.comment, comments, options, newest.clustered_by)

    def _table(self, name):
        table = self.catalog.table(self.name(name))
        assert table is not None
        return table


def _without(items, place):
    return (*items[:place], *items[place + 1 :])
