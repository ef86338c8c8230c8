"""Random changes of a source's shape, for forms of queries and strategies, in memory.

Each value of a result names the type of its column, as a text made of it does.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.columns import Column
from dbt.adapters.spark_mt.definition.errors import BaselineBrokenError, RefreshNotIncrementalError
from dbt.adapters.spark_mt.definition.modes import RefreshStatus
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.execution.results import RefreshResult
from dbt.adapters.spark_mt.strategies import differential
from tests.behaviour.harness import sortable
from tests.behaviour.memory import MemoryTables

if TYPE_CHECKING:
    from tests.support.memory.tables import NamedRows

TYPES = ("INT", "BIGINT", "STRING", "STRUCT<x: INT, y: INT>", "STRUCT<y: INT, x: INT>")
TYPES += ("ARRAY<INT>", "ARRAY<BIGINT>", "MAP<STRING, INT>", "VARCHAR(9)", "CHAR(3)")
DDL = "id INT; a INT; b INT; c STRING"
SEEDS, CHANGES = 8, 8


def typed(rows: NamedRows, column: str):
    """The values of a column, as a text made of each would be."""
    (at,) = [place for place, each in enumerate(rows.columns) if each.name == column]
    return [f"{rows.columns[at].type}:{row[at]}" for row in rows]


def plain(rows: NamedRows, column: str):
    (at,) = [place for place, each in enumerate(rows.columns) if each.name == column]
    return [row[at] for row in rows]


def added(found):
    return list(zip(plain(found["s"], "id"), typed(found["s"], "a"), strict=True))


def grouped(found):
    values = typed(found["s"], "b")
    return [(value, values.count(value)) for value in dict.fromkeys(values)]


def joined(found):
    names = dict(found["g"])
    return [(key, f"{value}{names[key]}") for key, value in added(found) if key in names]


def united(found):
    return [*zip(plain(found["s"], "id"), typed(found["s"], "b"), strict=True), *found["g"]]


QUERIES = {
    "unread": ("SELECT id FROM s", "id INT", lambda r: [(i,) for i in plain(r["s"], "id")]),
    "added": ("SELECT id, concat('#', a) AS v FROM s", "id INT; v STRING", added),
    "grouped": (
        "SELECT concat('#', b) AS v, count(*) AS n FROM s GROUP BY b",
        "v STRING; n BIGINT",
        grouped,
    ),
    "joined": (
        "SELECT s.id, concat(s.a, g.name) AS v FROM s JOIN g ON s.id = g.id",
        "id INT; v STRING",
        joined,
    ),
    "united": (
        "SELECT id, concat('#', b) AS v FROM s UNION ALL SELECT id, name FROM g",
        "id INT; v STRING",
        united,
    ),
}


class Case:
    """A source `s` under random changes, and tables over it."""

    def __init__(self, seed):
        self.random = Random(seed)  # noqa: S311 - no secret
        self.tables = MemoryTables()
        self.next = 6
        self.tables.source("s", DDL, [(n, n % 3, n % 2, f"t{n}") for n in range(self.next)])
        self.tables.source("g", "id INT; name STRING", [(n, f"n{n}") for n in range(0, 20, 2)])
        self.done = []
        for name, (query, ddl, evaluate) in QUERIES.items():
            self.tables.learn(query, ddl, evaluate)
            option = self.random.choice(["auto", "strict", "off"])
            option = "auto" if name == "grouped" and option == "off" else option
            self.create(name, f"WITH ('incremental' = '{option}')")
        query = QUERIES["added"][0]
        self.create("started", "START_MODE = FROM_NOW", query)
        self.create("merged", "(PRIMARY KEY (id) NOT ENFORCED) START_MODE = FROM_NOW", query)
        self.first = self.next
        self.following = ["started", "merged"]

    def create(self, name, clauses, query=None):
        listed, _, rest = clauses.partition(") NOT ENFORCED) ")
        listed, rest = (f"{listed}) NOT ENFORCED)", rest) if rest else ("", clauses)
        options = rest if rest.startswith("WITH") else ""
        start = "" if options else rest
        self.tables.execute(
            f"CREATE MATERIALIZED TABLE {name} {listed} {options} FRESHNESS = INTERVAL '1' MINUTE "
            f"REFRESH_MODE = CONTINUOUS {start} AS {query or QUERIES[name][0]}"
        )

    def columns(self, change, operation="CHANGE COLUMN"):
        """Change the columns of the source, and its rows with them."""
        name = self.tables.name("s")
        self.tables.catalog.change(name, operation, change)

    def change(self):
        kinds = (self.insert, self.delete, self.retype, self.retype, self.reorder, self.swap)
        kinds += (self.comment, self.property, self.add)
        chosen = self.random.choice(kinds)
        self.done.append(chosen.__name__)
        chosen()

    def insert(self):
        width = len(self.tables.columns("s"))
        self.tables.append("s", [(self.next, *[self.next % 3] * (width - 1))])
        self.next += 1

    def delete(self):
        self.tables.delete("s", "id", self.random.randrange(self.next))

    def retype(self):
        name, type_ = self.random.choice("abc"), self.random.choice(TYPES)
        self.done.append(f"{name} {type_}")

        def retyped(s):
            return replace(
                s,
                columns=tuple(replace(c, type=type_) if c.name == name else c for c in s.columns),
            )

        self.columns(retyped)

    def reorder(self):
        name = self.random.choice("abc")
        self.tables.move_column("s", name, self.random.choice(["id", None]))
        if self.tables.columns("s")[0] != "id":
            self.tables.move_column("s", "id", None)

    def swap(self):
        """Let two columns change their names, as two renames do."""
        names = {"a": "b", "b": "a"}
        self.columns(
            lambda s: replace(
                s, columns=tuple(replace(c, name=names.get(c.name, c.name)) for c in s.columns)
            ),
            "RENAME COLUMN",
        )

    def comment(self):
        self.columns(lambda s: s.with_comments({"a": str(self.random.random())}))

    def property(self):
        self.tables.set_property("s", "note", str(self.random.random()))

    def add(self):
        name = f"x{len(self.tables.columns('s'))}"
        self.columns(
            lambda s: replace(
                s,
                columns=(*s.columns, Column(name, "INT")),
                rows=tuple((*row, None) for row in s.rows),
            )
        )

    def expected(self, name):
        found = {each: self.tables._table(each).rows_at for each in ("s", "g")}
        rows = {each: read(self.tables._table(each).version) for each, read in found.items()}
        return sorted(map(tuple, QUERIES[name][2](rows)), key=sortable)

    def refresh(self, name):
        return self.tables.execute(f"ALTER MATERIALIZED TABLE {name} REFRESH").outcome

    def check(self):
        for name in QUERIES:
            try:
                self.refresh(name)
            except RefreshNotIncrementalError:
                self.forced(name)
            assert self.tables.rows(name) == self.expected(name), (name, self.done)
            found = self.refresh(name).refresh
            assert found.status is RefreshResult.UP_TO_DATE, (name, self.done)
        for name in tuple(self.following):
            self.follow(name)

    def forced(self, name):
        forced = RequestedRefresh(force=True)
        Refreshes(self.tables.environment).carry_out(self.tables.name(name), forced)

    def follow(self, name):
        before = self.tables.rows(name)
        try:
            self.refresh(name)
        except BaselineBrokenError:
            assert self.tables.rows(name) == before
            stored = self.tables.stored(name).definition
            assert stored.status is RefreshStatus.SUSPENDED
            self.following.remove(name)
            return
        rows, now = self.tables.rows(name), self.expected("added")
        touched = {row[0] for row in rows if name == "merged"}  # a changed row counts by its key
        wanted = [row for row in now if row[0] >= self.first or row[0] in touched]
        assert rows == wanted, (name, self.done)


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(differential, "SMALLEST_SOURCES", 0)
    monkeypatch.setattr(differential, "LARGEST_SHARE", 1)
    monkeypatch.setattr(differential, "slower", lambda *_: None)
    monkeypatch.setattr(differential, "SHORTEST_RECOMPUTE_S", 0)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_tables_equal_their_queries_whatever_shape_the_source_gets(seed):
    case = Case(seed)
    for _ in range(CHANGES):
        for _ in range(case.random.choice([1, 1, 2])):
            case.change()
        case.check()
