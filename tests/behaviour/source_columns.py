"""Results are taken by the names of the columns that the sources had, whatever became of these.

Sources are moved, extended, renamed and dropped at random below queries with stars. What a table
must hold then is computed by names from the columns that the definition saw, on a way that neither
engine uses: no name, no value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError, RefreshSchemaError
from dbt.adapters.spark_mt.execution.checks import difference
from dbt.adapters.spark_mt.execution.results import Action, RefreshResult
from tests.behaviour.harness import Rel, sortable
from tests.support.errors import raises

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.behaviour.harness import Tables

Names = tuple[str, ...]


@dataclass(frozen=True)
class Shape:
    """A query over `s (a, b, c)`, `u (a, d)` and `w (x, y, z)`.

    Args:
        text: The query.
        made: Its result from the relations that it reads.
        needs: The columns of sources without which it has no result; all of them by default.
        clauses: The text before AS.
        grows: Whether the next CREATE OR ALTER appends what `s` gained.
    """

    text: str
    made: Callable[[dict[str, Rel]], Rel]
    needs: dict[str, Names] | None = None
    clauses: str = "REFRESH_MODE = FULL"
    grows: bool = False


SOURCES: dict[str, Names] = {"s": ("a", "b", "c"), "u": ("a", "d"), "w": ("x", "y", "z")}
APPEND = "FRESHNESS = INTERVAL '1' MINUTE"
VIEWS = {"v": "SELECT * FROM s", "vv": "SELECT * FROM v"}
SHAPES = {
    "top": Shape("SELECT * FROM s", lambda r: r["s"], grows=True),
    "append": Shape("SELECT * FROM s", lambda r: r["s"], clauses=APPEND, grows=True),
    "qualified": Shape("SELECT q.* FROM s AS q", lambda r: r["s"], clauses=APPEND, grows=True),
    "listed": Shape("SELECT * FROM s", lambda r: r["s"], clauses="(p, q, r) REFRESH_MODE = FULL"),
    "cte": Shape(
        "WITH q AS (SELECT * FROM s) SELECT * FROM q", lambda r: r["s"], clauses=APPEND, grows=True
    ),
    "passed_on": Shape(
        "WITH q AS (SELECT * FROM s) SELECT c, a FROM q",
        lambda r: r["s"].pick("c", "a"),
        {"s": ("c", "a")},
    ),
    "cte_names": Shape(
        "WITH q (p, o, r) AS (SELECT * FROM s) SELECT r, p FROM q",
        lambda r: r["s"].named("p", "o", "r").pick("r", "p"),
    ),
    "subquery": Shape(
        "SELECT o, p FROM (SELECT * FROM s) AS q (p, o, r)",
        lambda r: r["s"].named("p", "o", "r").pick("o", "p"),
        clauses=APPEND,
    ),
    "relation_names": Shape(
        "SELECT q.o FROM s AS q (p, o, r)", lambda r: r["s"].named("p", "o", "r").pick("o")
    ),
    "join": Shape(
        "SELECT s.*, u.d FROM s JOIN u ON s.a = u.a",
        lambda r: Rel(
            (*r["s"].names, "d"),
            r["s"].join(r["u"].pick("a", "d"), "a").pick(*r["s"].names, "d").rows,
        ),
        {"s": SOURCES["s"], "u": ("a", "d")},
        grows=True,
    ),
    "using": Shape("SELECT * FROM s JOIN u USING (a)", lambda r: r["s"].join(r["u"], "a")),
    "natural": Shape(
        "SELECT * FROM s NATURAL JOIN u",
        lambda r: r["s"].join(r["u"], *(n for n in r["s"].names if n in r["u"].names)),
    ),
    "union_second": Shape(
        "SELECT a, b, c FROM s UNION ALL SELECT * FROM w",
        lambda r: r["s"].pick("a", "b", "c").union(r["w"]),
        clauses=APPEND,
    ),
    "union_both": Shape(
        "SELECT * FROM s UNION ALL SELECT * FROM w", lambda r: r["s"].union(r["w"])
    ),
    "union_inside": Shape(
        "WITH q AS (SELECT * FROM s UNION ALL SELECT * FROM w) SELECT b FROM q",
        lambda r: r["s"].union(r["w"]).pick("b"),
    ),
    "view": Shape("SELECT * FROM v", lambda r: r["v"]),
    "nested_view": Shape("SELECT * FROM vv", lambda r: r["vv"]),
    "view_names": Shape(
        "SELECT p FROM v AS q (p, o, r)", lambda r: r["v"].named("p", "o", "r").pick("p")
    ),
    "explicit": Shape("SELECT b FROM s", lambda r: r["s"].pick("b"), {"s": ("b",)}, APPEND),
    "count": Shape(
        "SELECT count(*) AS n FROM s", lambda r: Rel(("n",), [(len(r["s"].rows),)]), {"s": ()}
    ),
    "exists": Shape(
        "SELECT d FROM u WHERE EXISTS (SELECT * FROM s WHERE s.a = u.a)",
        lambda r: Rel(("d",), _known(r["u"].pick("a", "d"), r["s"].pick("a"))),
        {"s": ("a",), "u": ("a", "d")},
    ),
}


def _known(pairs: Rel, keys: Rel) -> list[tuple]:
    known = {key for (key,) in keys.rows}
    return [(d,) for a, d in pairs.rows if a in known]


class Sources:
    """The sources of a case, and what was done to them."""

    def __init__(self, tables: Tables, random: Random) -> None:
        self.tables = tables
        self.random = random
        self.now = dict.fromkeys(SOURCES, ())
        self.rows: dict[str, list[dict[str, int]]] = {name: [] for name in SOURCES}
        self.done: list[str] = []
        self.count = 0
        for name, columns in SOURCES.items():
            self.replace(name, columns)

    def replace(self, name: str, columns: Names) -> None:
        """Make a source again: other columns, other rows."""
        self.now[name] = columns
        self.rows[name] = [self._row(name) for _ in range(3)]
        self.tables.source(
            name, _ddl(columns), [self._values(name, row) for row in self.rows[name]]
        )

    def insert(self, name: str) -> None:
        row = self._row(name)
        self.rows[name].append(row)
        self.tables.append(name, [self._values(name, row)])

    def move(self, name: str) -> None:
        columns = [*self.now[name]]
        column = self.random.choice(columns)
        columns.remove(column)
        after = self.random.choice([None, *columns])
        columns.insert(0 if after is None else columns.index(after) + 1, column)
        self.tables.move_column(name, column, after)
        self.now[name] = tuple(columns)

    def add(self, name: str) -> None:
        columns = [*self.now[name]]
        column, after = self._new(), self.random.choice([None, *columns])
        columns.insert(0 if after is None else columns.index(after) + 1, column)
        self.tables.add_column(name, column, after)
        self.now[name] = tuple(columns)

    def rename(self, name: str) -> None:
        columns = self.now[name]
        column, other = self.random.choice(columns), self._new()
        self.tables.rename_column(name, column, other)
        self.now[name] = tuple(other if each == column else each for each in columns)
        for row in self.rows[name]:
            row[other] = row.pop(column, None)

    def drop(self, name: str) -> None:
        columns = self.now[name]
        column = self.random.choice(columns)
        self.tables.drop_column(name, column)
        self.now[name] = tuple(each for each in columns if each != column)
        for row in self.rows[name]:
            row.pop(column, None)

    def shuffle(self, name: str) -> None:
        columns = [*self.now[name]]
        self.random.shuffle(columns)
        self.replace(name, tuple(columns))

    def change(self, kinds: Names) -> None:
        """Do something to a source, and give every source a row."""
        kind, name = self.random.choice(kinds), self.random.choice([*SOURCES])
        if kind == "drop" and len(self.now[name]) == 1:
            kind = "add"
        getattr(self, kind)(name)
        self.done.append(f"{kind} {name}: {self.now[name]}")
        for each in SOURCES:
            self.insert(each)

    def as_recorded(self, names: dict[str, Names]) -> dict[str, Rel]:
        """The relations in the columns that a definition saw, as far as these are there."""
        found = {}
        for name, columns in names.items():
            there = tuple(c for c in columns if c in self.now[name])
            found[name] = Rel(there, [tuple(r.get(c) for c in there) for r in self.rows[name]])
        return found | {"v": found["s"], "vv": found["s"]}

    def merged(self, recorded: dict[str, Names]) -> dict[str, Names]:
        """The columns that a new definition sees: the old ones first."""
        return {
            name: (
                *(c for c in columns if c in self.now[name]),
                *(c for c in self.now[name] if c not in columns),
            )
            for name, columns in recorded.items()
        }

    def _new(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def _row(self, name: str) -> dict[str, int]:
        """A row in which each value shows where it belongs."""
        self.count += 1
        return {
            column: self.random.randint(1, 3) if column == "a" else self.count * 100 + at
            for at, column in enumerate(sorted(self.now[name]))
        }

    def _values(self, name: str, row: dict[str, int]) -> tuple:
        return tuple(row.get(column) for column in self.now[name])


def _ddl(columns: Names) -> str:
    return "; ".join(f"{column} INT" for column in columns)


def prepare(tables: Tables, random: Random) -> Sources:
    """Make the sources, and say what the queries return."""
    sources = Sources(tables, random)
    for view, query in VIEWS.items():
        below = "s" if view == "v" else "v"
        tables.learn_star(query, lambda r, below=below: r[below])
        tables.view(view, query)
    for shape in SHAPES.values():
        tables.learn_star(shape.text, shape.made)
    return sources


def statement(name: str, form: str = "CREATE") -> str:
    shape = SHAPES[name]
    return f"{form} MATERIALIZED TABLE t_{name} {shape.clauses} AS {shape.text}"


def check(sources: Sources, name: str) -> bool:
    """Refresh a table and compare it with the oracle; return whether it continues."""
    shape, tables = SHAPES[name], sources.tables
    needs = SOURCES if shape.needs is None else shape.needs
    read = {
        "s" if found in VIEWS else found for found in re.findall(r"(?:FROM|JOIN) (\w+)", shape.text)
    }
    gone = {(s, c) for s in read for c in needs.get(s, ()) if c not in sources.now[s]}
    before = tables.rows(f"t_{name}")
    try:
        tables.execute(f"ALTER MATERIALIZED TABLE t_{name} REFRESH")
    except MaterializedTableError:
        assert gone, (name, sources.done)
        assert tables.rows(f"t_{name}") == before, (name, sources.done)
        return False
    assert not gone, (name, sources.done)
    expected = shape.made(sources.as_recorded(SOURCES)).rows
    assert tables.rows(f"t_{name}") == _sorted(expected), (name, sources.done)
    tables.forget()
    assert difference(tables.environment, TableName(f"t_{name}"), 5).is_equal, (name, sources.done)
    return True


def _sorted(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=sortable)


def check_grown(sources: Sources, name: str) -> None:
    """The next CREATE OR ALTER appends what the source gained, wherever it gained it."""
    tables, shape = sources.tables, SHAPES[name]
    relations = sources.as_recorded(sources.merged(SOURCES))
    wanted = shape.made(relations)
    old = shape.made(sources.as_recorded(SOURCES)).names
    columns = (*old, *(n for n in wanted.names if n not in old))
    tables.execute(statement(name, "CREATE OR ALTER"))
    assert tables.columns(f"t_{name}") == columns, (name, sources.done)
    assert tables.rows(f"t_{name}") == _sorted(wanted.pick(*columns).rows), (name, sources.done)
    again = tables.execute(statement(name, "CREATE OR ALTER")).outcome
    assert again.action is Action.UNCHANGED, (name, sources.done)


def run_case(tables: Tables, seed: int, count: int, changes: int = 2) -> None:
    """Change the sources at random, and hold every table against the oracle after each change."""
    random = Random(seed)  # noqa: S311 - a sample, no secret
    names = random.sample([*SHAPES], count)
    sources = prepare(tables, random)
    for name in names:
        tables.execute(statement(name))
    going = list(names)
    harmless, all_kinds = ("move", "add", "shuffle"), ("move", "add", "rename", "drop", "shuffle")
    kinds = harmless if seed % 2 else all_kinds
    for _ in range(changes):
        sources.change(kinds)
        going = [name for name in going if check(sources, name)]
    for name in going:
        if SHAPES[name].grows:
            check_grown(sources, name)


STAR = "SELECT * FROM star"
AB = "a INT; b INT"


class SourceColumns:
    """The same guarantees on every engine; a subclass gives `tables`."""

    def star(self, tables: Tables, query: str = STAR, made: Callable | None = None) -> None:
        tables.source("star", AB, [(1, 2), (3, 4)])
        tables.learn_star(query, made or (lambda r: r["star"]))

    def test_a_moved_column_stays_in_its_column(self, tables):
        self.star(tables)
        tables.execute(f"CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS {STAR}")
        tables.move_column("star", "b", None)
        tables.append("star", [(6, 5)])
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert tables.rows("m") == [(1, 2), (3, 4), (5, 6)]
        assert equals_query(tables)

    def test_a_source_that_was_made_in_another_order(self, tables):
        self.star(tables)
        tables.execute(f"CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS {STAR}")
        tables.source("star", "b INT; a INT", [(20, 10)])
        refresh(tables)
        assert tables.rows("m") == [(10, 20)]
        assert equals_query(tables)

    def test_a_view_that_was_replaced_in_another_order(self, tables):
        tables.source("star", AB, [(1, 2)])
        for order in ("a, b", "b, a"):
            names = order.split(", ")
            tables.learn_star(f"SELECT {order} FROM star", lambda r, n=names: r["star"].pick(*n))
        tables.learn_star("SELECT * FROM lens", lambda r: r["lens"])
        tables.view("lens", "SELECT a, b FROM star")
        tables.execute("CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS SELECT * FROM lens")
        tables.view("lens", "SELECT b, a FROM star")
        refresh(tables)
        assert tables.rows("m") == [(1, 2)]
        assert equals_query(tables)

    def test_appended_rows_are_not_swapped(self, tables):
        self.star(tables)
        tables.execute(f"CREATE MATERIALIZED TABLE m {APPEND} AS {STAR}")
        tables.move_column("star", "b", None)
        tables.append("star", [(6, 5)])
        found = refresh(tables)
        assert (found.strategy, found.rows) == ("append", 1)
        assert tables.rows("m") == [(1, 2), (3, 4), (5, 6)]
        assert equals_query(tables)

    def test_a_renamed_column_is_refused_by_name(self, tables):
        self.star(tables)
        tables.execute(f"CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS {STAR}")
        tables.rename_column("star", "b", "z")
        tables.append("star", [(5, 6)])
        with pytest.raises(RefreshSchemaError) as refused:
            refresh(tables)
        assert any("`b`" in violation for violation in refused.value.violations)
        assert any("star" in violation for violation in refused.value.violations)
        assert tables.rows("m") == [(1, 2), (3, 4)]

    def test_every_column_that_is_gone_is_named(self, tables):
        query = "SELECT b AS x, a FROM star"
        self.star(tables, query, lambda r: r["star"].pick("b", "a").named("x", "a"))
        tables.execute(f"CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS {query}")
        tables.source("star", "c INT", [(1,)])
        with raises(conditions.SOURCE_COLUMNS_CHANGED) as refused:
            refresh(tables)
        (violation,) = refused.value.violations
        assert "`a`" in violation
        assert "`b`" in violation
        assert tables.rows("m") == [(2, 1), (4, 3)]

    @pytest.mark.parametrize("after", [None, "a", "b"])
    def test_a_new_column_waits_for_the_next_definition(self, tables, after):
        self.star(tables)
        create = f"MATERIALIZED TABLE m REFRESH_MODE = FULL AS {STAR}"
        tables.execute(f"CREATE {create}")
        tables.add_column("star", "c", after)
        refresh(tables)
        assert tables.columns("m") == ("a", "b")
        assert equals_query(tables)
        described = dict(
            row[:2] for row in tables.execute("DESC EXTENDED MATERIALIZED TABLE m").rows
        )
        assert "`c`" in described["New source columns"]
        plan = tables.execute(f"EXPLAIN CREATE OR ALTER {create}").rows
        assert any("star has new columns: `c`" in str(row) for row in plan)
        assert tables.execute(f"CREATE OR ALTER {create}").outcome.action is Action.ALTERED
        assert tables.columns("m") == ("a", "b", "c")
        assert tables.rows("m") == [(1, 2, None), (3, 4, None)]
        described = dict(
            row[:2] for row in tables.execute("DESC EXTENDED MATERIALIZED TABLE m").rows
        )
        assert "New source columns" not in described
        before = tables.stored("m")
        assert tables.execute(f"CREATE OR ALTER {create}").outcome.action is Action.UNCHANGED
        assert tables.stored("m") == before

    def test_a_new_column_that_reaches_nothing_changes_nothing(self, tables):
        query = "WITH q AS (SELECT * FROM star) SELECT a FROM q"
        self.star(tables, query, lambda r: r["star"].pick("a"))
        create = f"MATERIALIZED TABLE m REFRESH_MODE = FULL AS {query}"
        tables.execute(f"CREATE {create}")
        tables.add_column("star", "c", None)
        before = tables.stored("m")
        assert tables.execute(f"CREATE OR ALTER {create}").outcome.action is Action.UNCHANGED
        assert tables.stored("m") == before


def refresh(tables: Tables):
    outcome = tables.execute("ALTER MATERIALIZED TABLE m REFRESH").outcome
    assert outcome is not None
    return outcome.refresh


def described(tables: Tables) -> dict[str, str]:
    rows = tables.execute("DESC EXTENDED MATERIALIZED TABLE m").rows
    return {label: text for label, text, _ in rows}


def equals_query(tables: Tables) -> bool:
    tables.forget()
    return difference(tables.environment, TableName("m"), 5).is_equal
