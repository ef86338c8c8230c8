"""Random queries, tables and changes, and a comparison of a query's change with a recompute.

The SQL for Spark runs in DuckDB, after sqlglot's translation.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot

from dbt.adapters.spark_mt.definition.columns import FieldName, QueryContext, SourceColumns
from dbt.adapters.spark_mt.query.columns_read import columns_read
from dbt.adapters.spark_mt.query.differential import ChangeQueries, obstacles, result_change
from dbt.adapters.spark_mt.query.operator_builder import operator_tree
from dbt.adapters.spark_mt.query.operator_sql import render_query
from dbt.adapters.spark_mt.query.operators import scans
from dbt.adapters.spark_mt.query.relation_states import WEIGHT, RelationStates, SourceChange
from dbt.adapters.spark_mt.query.subqueries import fresh_ids, without_subqueries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dbt.adapters.spark_mt.query.operators import Tree

Row = tuple[Any, ...]
Rows = list[Row]

TABLES: Mapping[str, Mapping[str, str]] = {
    "t": {"a": "INT", "b": "INT", "m": "DECIMAL(9,2)", "d": "DATE", "s": "STRING"},
    "u": {"k": "INT", "a": "INT", "v": "INT", "e": "DATE"},
    "w": {"k": "INT", "z": "INT", "n": "STRING"},
}
"""The columns and types of the tables."""

_CONTEXT = QueryContext("c", "s", ())
_TIME_WINDOW = """
CREATE MACRO time_window(ts, size) AS struct_pack(
  "start" := time_bucket(CAST(size AS INTERVAL), ts),
  "end" := time_bucket(CAST(size AS INTERVAL), ts) + CAST(size AS INTERVAL)),
(ts, size, slide) AS unnest([
  struct_pack("start" := x, "end" := x + CAST(size AS INTERVAL)) FOR x IN generate_series(
    time_bucket(CAST(slide AS INTERVAL), ts) - CAST(size AS INTERVAL) + CAST(slide AS INTERVAL),
    time_bucket(CAST(slide AS INTERVAL), ts),
    CAST(slide AS INTERVAL))])
"""
_SPARK_TYPES = {"INTEGER": "INT", "HUGEINT": "BIGINT", "VARCHAR": "STRING"}


@dataclass(frozen=True)
class Case:
    """A query, and the rows of each table before and after."""

    query: str
    before: Mapping[str, Rows]
    after: Mapping[str, Rows]
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: TABLES)

    @cached_property
    def tree(self) -> Tree:
        """The operator tree of the query."""
        sources = tuple(
            SourceColumns(f"c.s.{name}", tuple(map(FieldName, columns)))
            for name, columns in self.tables.items()
        )
        types = tuple((f"c.s.{name}", tuple(each.items())) for name, each in self.tables.items())
        return operator_tree(self.query, _CONTEXT, sources=sources, types=types)

    @property
    def oracle(self) -> str:
        """The query whose result is compared; DuckDB groups by a time window as by a column."""
        if "window(" not in self.query or " OVER " in self.query:
            return self.query
        root = without_subqueries(self.tree.root, fresh_ids(self.tree.root))
        names = {scan.occurrence: f"`{scan.relation.name}`" for scan in scans(root)}
        return render_query(replace(self.tree, root=root), names)

    @property
    def script(self) -> str:
        """The case as a test."""
        return (
            "def test_case(comparison):\n"
            f"    case = Case(\n        {self.query!r},\n        {dict(self.before)!r},\n"
            f"        {dict(self.after)!r},\n    )\n    assert not comparison.problem(case)"
        )


def changes_of(states: Mapping[str, RelationStates]) -> dict[str, SourceChange]:
    """Return what happened to relations."""
    return {n: SourceChange(bool(s.added), bool(s.removed), s.cancels) for n, s in states.items()}


@dataclass(frozen=True)
class DerivedChange:
    """The change of a result: the rules that were used, and its queries."""

    rules: tuple[str, ...]
    queries: ChangeQueries


class Comparison:
    """Runs cases in one database."""

    def __init__(self) -> None:
        self._duckdb = duckdb.connect()
        for schema in ("old", "new", "states"):
            self._duckdb.execute(f"CREATE SCHEMA {schema}")
        self._duckdb.execute(_TIME_WINDOW)
        self._duckdb.execute("CREATE MACRO raise_error(message) AS error(message)")
        self._made: set[str] = set()
        self._shared: list[str] = []

    def run(self, text: str, schema: str) -> Rows:
        """Return the rows of a query of Spark."""
        self._duckdb.execute(f"SET schema = '{schema}'")
        return self._duckdb.execute(translated(text)).fetchall()

    def problem(self, case: Case) -> str:
        """Return what is wrong with the change of a case; empty where it is right."""
        return self.problem_of(case, self.change(case))

    def is_unknown(self, change: DerivedChange) -> bool:
        """Whether a change, the last one that `change` gave, needs a recompute by its rows."""
        return bool(self._rows(change.queries.unknown))

    def problem_of(self, case: Case, derived: DerivedChange) -> str:
        """Return what is wrong with a change, the last one that `change` gave."""
        if self.is_unknown(derived):
            return ""
        change = derived.queries
        stored = Counter(self.run(case.oracle, "old"))
        expected = Counter(self.run(case.oracle, "new"))
        added, removed = self._rows(change.added), self._rows(change.removed)
        for (*row, weight), times in self._rows(change.both).items():
            bag = added if weight > 0 else removed
            bag[tuple(row)] += times
        gained, lost = added - removed, removed - added
        result = stored - lost + gained
        names = list(case.tree.columns)
        places = [names.index(name) for name in change.unique_by]
        keys = {tuple(row[i] for i in places) for row in result}
        problems = {
            "removes rows that are not there": lost - stored,
            "has too many rows": result - expected,
            "lacks rows": expected - result,
            f"is not unique by {change.unique_by}": places and len(keys) < result.total(),
        }
        if change.keys:
            touched = self._rows(change.keys)
            others = Counter(r for r in stored if tuple(r[i] for i in places) not in touched)
            problems |= {
                "names a key twice": touched - Counter(set(touched)),
                "has other rows by key": (others + added) - expected,
                "lacks rows by key": expected - (others + added),
            }
        return "; ".join(f"{problem}: {found}" for problem, found in problems.items() if found)

    def _rows(self, query: str) -> Counter[Row]:
        return Counter(self.run(query, "states")) if query else Counter()

    def _new_name(self) -> str:
        self._shared.append(f"shared_{len(self._shared)}")
        return self._shared[-1]

    def shrunk(self, case: Case) -> Case:
        """Return a wrong case without the rows that it does not need."""
        for name in case.tables:
            for row in sorted({*case.before[name], *case.after[name]}, key=repr):
                smaller = replace(
                    case,
                    before={**case.before, name: [r for r in case.before[name] if r != row]},
                    after={**case.after, name: [r for r in case.after[name] if r != row]},
                )
                case = smaller if self.problem(smaller) else case
        return case

    def change(self, case: Case) -> DerivedChange:
        """Store the result of a case before its change, and return the SQL of the change."""
        for name in self._shared:
            self._duckdb.execute(f"DROP TABLE IF EXISTS states.{name}")
        self._shared.clear()
        states = {f"c.s.{name}": self._stored(name, case) for name in case.tables}
        self._duckdb.execute("SET schema = 'old'")
        query = translated(case.oracle)
        self._duckdb.execute(f"CREATE OR REPLACE TABLE states.result AS {query}")
        names = ", ".join(f'"{name}"' for name in case.tree.columns)
        self._duckdb.execute(
            f"CREATE OR REPLACE VIEW states.named AS SELECT * FROM states.result AS _({names})"
        )
        described = self._duckdb.execute("DESCRIBE states.result").fetchall()
        types = [_SPARK_TYPES.get(row[1], row[1]) for row in described]
        found = result_change(case.tree, changes_of(states), types)
        queries = found.queries(states, "`named`", self._new_name)
        self._duckdb.execute("SET schema = 'states'")
        for each in queries.shared:
            self._duckdb.execute(f"CREATE TABLE {each.name} AS {translated(each.query)}")
        return DerivedChange(found.rules, queries)

    def _stored(self, name: str, case: Case) -> RelationStates:
        before, after = case.before[name], case.after[name]
        passing = self._passing(name, case)
        added = Counter(after) - Counter(before) + passing
        removed = Counter(before) - Counter(after) + passing
        self._store(f"old.{name}", name, case, before)
        self._store(f"new.{name}", name, case, after)
        self._store(f"states.{name}_before", name, case, before)
        self._store(f"states.{name}_after", name, case, after)
        self._store(f"states.{name}_added", name, case, list(added.elements()))
        self._store(f"states.{name}_removed", name, case, list(removed.elements()))
        gained = f"(SELECT * FROM `{name}_added`)" if added else ""
        lost = f"(SELECT * FROM `{name}_removed`)" if removed else ""
        both = (
            f"(SELECT *, 1 AS {WEIGHT} FROM {gained} UNION ALL SELECT *, -1 FROM {lost})"
            if gained and lost
            else ""
        )
        states = RelationStates(f"`{name}_before`", f"`{name}_after`", gained, lost, both)
        return replace(states, cancels=bool(passing))

    def _passing(self, _name: str, _case: Case) -> Counter[Row]:
        """Return the rows that one commit adds and a later one removes."""
        return Counter()

    def rows_by_columns_read(self, case: Case) -> tuple[Rows, Rows]:
        """Return the rows of a query, and those over NULL in place of what it does not read."""
        for name in case.tables:
            self._store(f"old.{name}", name, case, case.before[name])
            self._store(f"new.{name}", name, case, read_of(name, case, case.before[name]))
        return self.run(case.oracle, "old"), self.run(case.oracle, "new")

    def _store(self, table: str, name: str, case: Case, rows: Sequence[Row]) -> None:
        columns = case.tables[name]
        if table not in self._made:
            ddl = ", ".join(f'"{c}" {_duckdb_type(t)}' for c, t in columns.items())
            self._duckdb.execute(f"CREATE OR REPLACE TABLE {table} ({ddl})")
            self._made.add(table)
        self._duckdb.execute(f"DELETE FROM {table}")
        if rows:
            values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
            self._duckdb.execute(f"INSERT INTO {table} VALUES {values}")


def read_of(name: str, case: Case, rows: Sequence[Row]) -> Rows:
    """Return rows of a table with NULL in the columns that the query of a case does not read."""
    read = columns_read(case.tree).get(f"c.s.{name}")
    kept = [read is None or column.lower() in read for column in case.tables[name]]
    return [
        tuple(value if is_read else None for value, is_read in zip(row, kept, strict=True))
        for row in rows
    ]


class ComparisonOfRead(Comparison):
    """Runs cases as a refresh does: earlier and changed rows have only the columns that are read.

    The later state of a table has all of its columns.
    """

    def _stored(self, name: str, case: Case) -> RelationStates:
        before, after = (read_of(name, case, rows[name]) for rows in (case.before, case.after))
        masked = replace(
            case, before={**case.before, name: before}, after={**case.after, name: after}
        )
        found = super()._stored(name, masked)
        self._store(f"old.{name}", name, case, case.before[name])
        self._store(f"new.{name}", name, case, case.after[name])
        self._store(f"states.{name}_after", name, case, case.after[name])
        return found


class ComparisonOfCommits(Comparison):
    """Runs cases as a refresh does over rows that cannot be compared: they do not cancel out.

    A table that changed has rows, too, that came and went.
    """

    def _passing(self, name: str, case: Case) -> Counter[Row]:
        before, after = Counter(case.before[name]), Counter(case.after[name])
        if before == after:
            return Counter()
        columns = case.tables[name]
        cases = RandomCases(f"{name} {case.script}", nulls=0.5)
        return Counter([*cases.rows(columns), *cases.changed(case.after[name], columns)])


def translated(text: str) -> str:
    """Return a query of Spark as one of DuckDB."""
    renamed = re.sub(r"\bwindow\(", "time_window(", text)
    (query,) = sqlglot.transpile(renamed, read="spark", write="duckdb")
    return query


def _duckdb_type(spark: str) -> str:
    return "VARCHAR" if spark == "STRING" else spark


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + str(value) + "'"


@dataclass(frozen=True)
class Relation:
    """A query, with the names and types of its columns."""

    sql: str
    columns: tuple[tuple[str, str], ...]

    def of(self, *types: str) -> list[str]:
        """Return the names of the columns of some types."""
        return [name for name, type_ in self.columns if type_ in types]


class RandomCases:
    """Makes cases; the same seed makes the same ones.

    Args:
        seed: Chooses the cases.
        nulls: The share of values that are NULL.
        sums: The share of queries that are groups with sums, whose NULL is the hardest to keep.
    """

    def __init__(self, seed: int | str, *, nulls: float = 0.12, sums: float = 0.12) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same cases each time
        self._nulls, self._sums = nulls, sums
        self._names = 0

    def case(self, depth: int = 3) -> Case:
        """Return a case."""
        form = self._summed if self._random.random() < self._sums else self.relation
        query = form(self._random.randint(1, depth)).sql
        before = {name: self.rows(columns) for name, columns in TABLES.items()}
        after = dict(before)
        used = [name for name in TABLES if f"FROM {name}" in query]
        chosen = {name for name in used if self._random.random() < 0.5}
        for name in chosen | {self._random.choice(used)}:
            after[name] = self.changed(before[name], TABLES[name])
        return Case(query, before, after)

    def top(self, case: Case) -> Case:
        """Return a case with the first rows of its result, by all of its columns."""
        places = [*range(1, len(case.tree.columns) + 1)]
        self._random.shuffle(places)
        order = ", ".join(f"{place} {self._random.choice(('', 'DESC'))}" for place in places)
        limit = self._random.choice((1, 2, 3, 5, 20))
        return replace(case, query=f"{case.query} ORDER BY {order} LIMIT {limit}")

    def hidden_top(self, case: Case) -> Case:
        """Return a case with the first rows of some columns, by all columns and by expressions."""
        names = list(case.tree.columns)
        shown = self._random.sample(names, self._random.randint(1, len(names)))
        computed = {name: f"coalesce(CAST({name} AS STRING), '')" for name in names}
        items, order = [], []
        for name in shown:
            text = self._random.choice((name, name, computed[name]))
            items.append(f"{text} AS {self._name()}")
        self._random.shuffle(names)
        for name in names:
            order.append(f"{computed[name]} {self._random.choice(('', 'DESC'))}")
            order.append(f"{name} {self._random.choice(('', 'DESC'))}")
        if self._random.random() < 0.5:  # what the result shows comes first
            order = [*(item.rpartition(" AS ")[0] for item in items), *order]
        limit = self._random.choice((1, 2, 3, 5, 20))
        query = f"SELECT {', '.join(items)} FROM ({case.query}) AS top_rows "
        return replace(case, query=f"{query}ORDER BY {', '.join(order)} LIMIT {limit}")

    def rows(self, columns: Mapping[str, str]) -> Rows:
        """Return random rows, with duplicates and values that are frequent."""
        rows = [self._row(columns) for _ in range(self._random.choice((0, 2, 5, 9, 14)))]
        return rows + [row for row in rows if self._random.random() < 0.2]

    def _row(self, columns: Mapping[str, str]) -> Row:
        return tuple(self._value(type_) for type_ in columns.values())

    def _value(self, type_: str) -> object:
        if self._random.random() < self._nulls:
            return None
        number = self._random.choice((1, 1, 1, 2, 2, 3, 4))
        if type_.startswith("DECIMAL"):
            return f"{number * 10 - 20}.{self._random.choice(('00', '25', '99'))}"
        if type_ == "DATE":
            return f"202{number}-0{self._random.choice((1, 2))}-15"
        return "abcde"[number] if type_ == "STRING" else number

    def changed(self, rows: Rows, columns: Mapping[str, str]) -> Rows:
        """Return rows after an insert, a delete, an update, all of them, or an overwrite."""
        kind = self._random.choice(("insert", "delete", "update", "mixed", "overwrite", "empty"))
        if kind == "overwrite":
            return self.rows(columns)
        if kind == "empty":
            return []
        result: Rows = []
        for row in rows:
            if kind in {"delete", "mixed"} and self._random.random() < 0.25:
                continue
            if kind in {"update", "mixed"} and self._random.random() < 0.3:
                place = self._random.randrange(len(row))
                value = self._value(list(columns.values())[place])
                row = (*row[:place], value, *row[place + 1 :])  # noqa: PLW2901
            result.append(row)
        if kind in {"insert", "mixed"}:
            result += [self._row(columns) for _ in range(self._random.randint(1, 3))]
        return result

    def relation(self, depth: int) -> Relation:
        """Return a random query with operators in so many levels."""
        if depth == 0:
            return self._table()
        forms: tuple[Callable[[int], Relation], ...] = (
            self._rows,
            self._rows,
            self._inner,
            self._inner,
            self._joined_groups,
            self._outer,
            self._outer,
            self._semi,
            self._grouped,
            self._grouped,
            self._grouped,
            self._global,
            self._distinct,
            self._set_operation,
            self._set_operation,
            self._windowed,
            self._windowed,
            self._ranked,
            self._subquery,
            self._subquery,
            self._sets,
            self._report,
        )
        return self._random.choice(forms)(depth - 1)

    def _one_of(self, *texts: str) -> str:
        return self._random.choice(texts)

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    def _from(self, relation: Relation) -> tuple[str, str]:
        alias = self._name()
        return f"({relation.sql}) AS {alias}", alias

    def _table(self) -> Relation:
        name = self._one_of(*TABLES)
        alias = self._name()
        columns = [(f"{alias}_{column}", type_) for column, type_ in TABLES[name].items()]
        items = ", ".join(
            f"{column} AS {new}" for column, (new, _) in zip(TABLES[name], columns, strict=True)
        )
        return Relation(f"SELECT {items} FROM {name}", tuple(columns))

    def _number(self, relation: Relation) -> str:
        names = relation.of("INT", "BIGINT")
        if not names or self._random.random() < 0.1:
            return self._one_of("1", "2")
        return self._random.choice(names)

    def _condition(self, relation: Relation) -> str:
        one, other = self._number(relation), self._number(relation)
        texts = [
            f"{one} < {other}",
            f"{one} > 1",
            f"{one} IS NOT NULL",
            f"{one} IS NULL OR {other} = 2",
            f"{one} <=> {other}",
            f"{one} IN (1, 3)",
            f"NOT ({one} > {other} AND {other} > 1)",
        ]
        texts += [f"{name} < '2023-01-01'" for name in relation.of("DATE")]
        texts += [f"{name} > 'b'" for name in relation.of("STRING")]
        texts += [f"{name} >= 0.25" for name in relation.of("DECIMAL(9,2)")]
        return self._random.choice(texts)

    def _rows(self, depth: int) -> Relation:
        relation = self.relation(depth)
        from_, _ = self._from(relation)
        kept = [column for column in relation.columns if self._random.random() < 0.7]
        columns = [(self._name(), type_) for _, type_ in kept]
        items = [f"{old} AS {new}" for (old, _), (new, _) in zip(kept, columns, strict=True)]
        if not items or self._random.random() < 0.4:
            one, other = self._number(relation), self._number(relation)
            name = self._name()
            items.append(
                self._one_of(
                    f"{one} + {other} AS {name}",
                    f"CASE WHEN {self._condition(relation)} THEN {one} ELSE {other} END AS {name}",
                    f"coalesce({one}, 7) AS {name}",
                    f"{one} % 2 AS {name}",
                )
            )
            columns.append((name, "INT"))
        where = f" WHERE {self._condition(relation)}" if self._random.random() < 0.6 else ""
        return Relation(f"SELECT {', '.join(items)} FROM {from_}{where}", tuple(columns))

    def _key(self, left: Relation, right: Relation) -> str:
        one, other = self._number(left), self._number(right)
        text = f"{one} {self._one_of('=', '=', '=', '<=>')} {other}"
        dates = left.of("DATE"), right.of("DATE")
        if all(dates) and self._random.random() < 0.3:
            text += f" AND {self._random.choice(dates[0])} = {self._random.choice(dates[1])}"
        return text

    def _sides(self, depth: int) -> tuple[Relation, Relation]:
        other = self.relation(self._random.randint(0, min(depth, 1)))
        sides = [self.relation(depth), other]
        self._random.shuffle(sides)
        return sides[0], sides[1]

    def _paired(self, left: Relation, right: Relation, on: str) -> Relation:
        (one, _), (other, _) = self._from(left), self._from(right)
        columns = list(left.columns + right.columns)
        self._random.shuffle(columns)
        columns = columns[: self._random.randint(1, len(columns))]
        items = ", ".join(name for name, _ in columns)
        kind, condition = on.split("|")
        return Relation(f"SELECT {items} FROM {one} {kind} {other}{condition}", tuple(columns))

    def _inner(self, depth: int) -> Relation:
        left, right = self._sides(depth)
        on = f" ON {self._key(left, right)}"
        if self._random.random() < 0.3:
            on += f" AND {self._number(left)} <= {self._number(right)}"
        return self._paired(left, right, self._one_of(f"JOIN|{on}", f"JOIN|{on}", "CROSS JOIN|"))

    def _joined_groups(self, depth: int) -> Relation:
        """Return groups that are joined to groups by one of their columns, as parts of a report."""
        left, right = (self._some_groups(min(depth, 1)) for _ in range(2))
        types = dict(right.columns[:2])
        equal = [(a, b) for a, type_ in left.columns[:2] for b in types if types[b] == type_]
        on = "{} = {}".format(*self._random.choice(equal)) if equal else self._key(left, right)
        kind = self._one_of("JOIN", "JOIN", "JOIN", "LEFT JOIN")
        return self._paired(left, right, f"{kind}| ON {on}")

    def _some_groups(self, depth: int) -> Relation:
        """Return groups, all or some of them, which may be joined to a table."""
        groups = self._grouped(depth)
        if self._random.random() < 0.3:
            table = self._table()
            names = [name for name, _ in (*groups.columns, *table.columns)]
            (one, _), (other, _) = self._from(groups), self._from(table)
            text = f"SELECT {', '.join(names)} FROM {one} JOIN {other} ON "
            groups = Relation(text + self._key(groups, table), (*groups.columns, *table.columns))
        if self._random.random() < 0.3:
            from_, _ = self._from(groups)
            text = f"SELECT * FROM {from_} WHERE {self._condition(groups)}"
            groups = Relation(text, groups.columns)
        return groups

    def _outer(self, depth: int) -> Relation:
        left, right = self._sides(depth)
        kind = self._one_of("LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL OUTER JOIN")
        on = f" ON {self._equality(left, right)}"
        if self._random.random() < 0.3 and kind != "FULL OUTER JOIN":
            on += f" AND {self._number(left)} <= {self._number(right)}"
        return self._paired(left, right, f"{kind}|{on}")

    def _equality(self, left: Relation, right: Relation) -> str:
        """Return an equality of columns, where both sides have numbers."""
        ours, theirs = left.of("INT", "BIGINT"), right.of("INT", "BIGINT")
        if not (ours and theirs):
            return self._key(left, right)
        sign = self._one_of("=", "=", "<=>")
        return f"{self._random.choice(ours)} {sign} {self._random.choice(theirs)}"

    def _semi(self, depth: int) -> Relation:
        left, right = self._sides(depth)
        (one, _), (other, _) = self._from(left), self._from(right)
        on = self._equality(left, right)
        if self._random.random() < 0.3:
            on += f" AND {self._number(left)} <> {self._number(right)}"
        kind = self._one_of("LEFT SEMI JOIN", "LEFT ANTI JOIN")
        names = ", ".join(name for name, _ in left.columns)
        return Relation(f"SELECT {names} FROM {one} {kind} {other} ON {on}", left.columns)

    def _calls(self, relation: Relation) -> list[tuple[str, str]]:
        calls = [
            ("count(*)", "BIGINT"),
            (f"count({self._number(relation)})", "BIGINT"),
            (f"sum({self._number(relation)})", "BIGINT"),
            (f"min({self._number(relation)})", "INT"),
            (f"max({self._number(relation)})", "INT"),
            (f"count(DISTINCT {self._number(relation)})", "BIGINT"),
            (f"avg({self._number(relation)})", "DOUBLE"),
            (
                f"sum({self._number(relation)}) FILTER (WHERE {self._condition(relation)})",
                "BIGINT",
            ),
            (f"sum(CASE WHEN {self._condition(relation)} THEN 1 ELSE 0 END)", "BIGINT"),
            (f"max({self._number(relation)}) + 1", "INT"),
        ]
        calls += [(f"sum({name})", "DECIMAL") for name in relation.of("DECIMAL(9,2)")]
        calls += [(f"min({name})", "DATE") for name in relation.of("DATE")]
        calls += [(f"max({name})", "STRING") for name in relation.of("STRING")]
        calls += [(f"bool_or({self._condition(relation)})", "BOOLEAN")]
        chosen = self._random.sample(calls, self._random.randint(1, 3))
        if self._random.random() < 0.6:
            chosen += calls[:1]
        numbers = [c for c in chosen if c[0].startswith("sum(")]
        if numbers and self._random.random() < 0.6:
            chosen.append((numbers[0][0].replace("sum(", "count(", 1), "BIGINT"))
        return chosen

    def _grouped(self, depth: int) -> Relation:
        relation = self.relation(depth)
        from_, _ = self._from(relation)
        number = self._random.choice((1, 1, 1, 2))
        by = [
            name
            for name, _ in self._random.sample(relation.columns, min(number, len(relation.columns)))
        ]
        types = dict(relation.columns)
        groups = [(name, types[name]) for name in by]
        if self._random.random() < 0.2:
            groups = [(f"({self._number(relation)} + 0)", "INT")]
        calls = self._calls(relation)
        columns = [(text, self._name(), type_) for text, type_ in groups + calls]
        having = self._one_of("", "", "", " HAVING count(*) > 1", " HAVING max(1) = 1")
        shown = columns
        if self._random.random() < 0.2 and len(columns) > 1:
            shown = columns[1:]
        items = ", ".join(f"{text} AS {name}" for text, name, _ in shown)
        keys = ", ".join(text for text, _ in groups)
        return Relation(
            f"SELECT {items} FROM {from_} GROUP BY {keys}{having}",
            tuple((name, type_) for _, name, type_ in shown),
        )

    def _summed(self, depth: int) -> Relation:
        """Return groups with counts, sums and extremes of rows that are filtered and joined."""
        relation = self._table()
        for _ in range(depth - 1):
            other = self._table()
            condition = f" ON {self._key(relation, other)} WHERE {self._condition(relation)}"
            (one, _), (two, _) = self._from(relation), self._from(other)
            columns = (*relation.columns, *other.columns)
            names = ", ".join(name for name, _ in columns)
            relation = Relation(f"SELECT {names} FROM {one} JOIN {two}{condition}", columns)
        from_, _ = self._from(relation)
        summed = self._random.choice(
            [*relation.of("INT", "DECIMAL(9,2)"), f"coalesce({self._number(relation)}, 0)"]
        )
        where = f"FILTER (WHERE {self._condition(relation)})"
        calls = [f"sum({summed})", f"count({summed})", "count(*)"]
        calls += [f"sum({summed}) {where}", f"count({summed}) {where}"]
        calls += [f"max({summed})"] if self._random.random() < 0.3 else []
        chosen = [call for call in calls if self._random.random() < 0.8] or ["count(*)"]
        items = [f"{call} AS {self._name()}" for call in chosen]
        if self._random.random() < 0.2:
            return Relation(f"SELECT {', '.join(items)} FROM {from_}", ())
        by = [name for name, _ in self._random.sample(relation.columns, 2)]
        items += [f"{name} AS {self._name()}" for name in by]
        self._random.shuffle(items)
        return Relation(f"SELECT {', '.join(items)} FROM {from_} GROUP BY {', '.join(by)}", ())

    def _global(self, depth: int) -> Relation:
        relation = self.relation(depth)
        from_, _ = self._from(relation)
        columns = [(text, self._name(), type_) for text, type_ in self._calls(relation)]
        items = ", ".join(f"{text} AS {name}" for text, name, _ in columns)
        return Relation(
            f"SELECT {items} FROM {from_}", tuple((name, type_) for _, name, type_ in columns)
        )

    def _sets(self, depth: int) -> Relation:
        relation = self.relation(depth)
        return self._in_sets(relation) if len(relation.columns) > 1 else self._grouped(depth)

    def _report(self, depth: int) -> Relation:
        """Return totals of several parts, of which each may be groups that are joined to groups."""
        label, key, value = (self._name() for _ in range(3))
        parts = []
        for number in range(self._random.randint(1, 3)):
            form = self._random.choice((self._joined_groups, self._joined_groups, self._outer))
            part = form(min(depth, 1))
            from_, _ = self._from(part)
            items = f"'part {number}' AS {label}, {self._number(part)} AS {key}"
            parts.append(f"SELECT {items}, {self._number(part)} AS {value} FROM {from_}")
        columns = ((label, "STRING"), (key, "INT"), (value, "INT"))
        return self._in_sets(Relation(" UNION ALL ".join(parts), columns))

    def _in_sets(self, relation: Relation) -> Relation:
        """Return groups of rows with two columns at least, by several grouping sets."""
        from_, _ = self._from(relation)
        (a, one), (b, other) = self._random.sample(relation.columns, 2)
        by = self._one_of(
            f"GROUPING SETS (({a}, {b}), ({a}))",
            f"GROUPING SETS (({a}), ({a}, {b}))",
            f"GROUPING SETS (({a}), ({b}))",
            f"GROUPING SETS (({b}), (), ({a}, {b}), ({a}))",
            f"ROLLUP ({a}, {b})",
            f"CUBE ({a}, {b})",
            f"{a}, ROLLUP ({b})",
        )
        columns = [(a, one), (b, other), *self._random.sample(self._calls(relation), 1)]
        columns += [(f"count({b})", "BIGINT")]
        columns += [(f"CAST(grouping({a}) AS INT)", "INT")] if self._random.random() < 0.5 else []
        columns += [(f"grouping_id({b}, {a})", "BIGINT")] if self._random.random() < 0.3 else []
        named = [(text, self._name(), type_) for text, type_ in columns]
        items = ", ".join(f"{text} AS {name}" for text, name, _ in named)
        # without rows Spark has no groups, where others have the one of all rows
        text = f"SELECT {items} FROM {from_} GROUP BY {by} HAVING count(*) > 0"
        return Relation(text, tuple((name, type_) for _, name, type_ in named))

    def _distinct(self, depth: int) -> Relation:
        relation = self.relation(depth)
        from_, _ = self._from(relation)
        columns = tuple(self._random.sample(relation.columns, min(2, len(relation.columns))))
        names = ", ".join(name for name, _ in columns)
        return Relation(f"SELECT DISTINCT {names} FROM {from_}", columns)

    def _set_operation(self, depth: int) -> Relation:
        left, right = self._sides(depth)
        width = self._random.choice((1, 1, 2))
        (one, _), (other, _) = self._from(left), self._from(right)
        names = [self._name() for _ in range(width)]
        ours = ", ".join(f"{self._number(left)} AS {name}" for name in names)
        theirs = ", ".join(f"{self._number(right)}" for _ in names)
        kind = self._one_of(
            *("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "INTERSECT ALL"),
            *("EXCEPT", "EXCEPT ALL"),
        )
        text = f"SELECT {ours} FROM {one} {kind} SELECT {theirs} FROM {other}"
        return Relation(text, tuple((name, "INT") for name in names))

    def _windowed(self, depth: int) -> Relation:
        relation = self.relation(depth)
        from_, _ = self._from(relation)
        by = self._random.choice(relation.columns)[0]
        order = ", ".join(name for name, _ in relation.columns)
        number = self._number(relation)
        over = f"PARTITION BY {by}"
        calls = [
            self._one_of(
                f"sum({number}) OVER ({over})",
                f"count(*) OVER ({over})",
                f"rank() OVER ({over} ORDER BY {order})",
                f"dense_rank() OVER ({over} ORDER BY {number} DESC)",
                f"max({number}) OVER ({over} ORDER BY {number})",
            )
        ]
        if self._random.random() < 0.3:
            second = self._random.choice(relation.columns)[0]
            more = self._one_of(f", {by}", "")
            calls.append(f"count({number}) OVER (PARTITION BY {second}{more})")
        kept = [c for c in relation.columns if self._random.random() < 0.8]
        columns = [*kept, *((self._name(), "BIGINT") for _ in calls)]
        items = [name for name, _ in kept]
        items += [f"{call} AS {columns[len(kept) + i][0]}" for i, call in enumerate(calls)]
        return Relation(f"SELECT {', '.join(items)} FROM {from_}", tuple(columns))

    def _ranked(self, depth: int) -> Relation:
        relation = self.relation(depth)
        from_, _ = self._from(relation)
        by = self._random.choice(relation.columns)[0]
        order = ", ".join(name for name, _ in relation.columns)
        names = ", ".join(name for name, _ in relation.columns)
        name = self._name()
        if self._random.random() < 0.3:
            over = self._one_of(order, f"{by} DESC", f"{self._number(relation)}")
            ranks = f"rank() OVER (ORDER BY {over}) AS {name}, dense_rank() OVER (ORDER BY {order})"
            rows = f"SELECT *, {ranks} AS {name}_2 FROM {from_}"
            condition = self._one_of(f"{name} < 3", f"2 >= {name}_2 OR {name} = 1")
            return Relation(f"SELECT {names} FROM ({rows}) WHERE {condition}", relation.columns)
        rank = f"row_number() OVER (PARTITION BY {by} ORDER BY {order})"
        text = f"SELECT {names} FROM (SELECT *, {rank} AS {name} FROM {from_}) WHERE {name} <= 2"
        return Relation(text, relation.columns)

    def _subquery(self, depth: int) -> Relation:
        left, right = self._sides(depth)
        (one, _), (other, _) = self._from(left), self._from(right)
        names = ", ".join(name for name, _ in left.columns)
        on = self._equality(left, right)
        x, y = self._number(left), self._number(right)
        exists, in_ = self._one_of("EXISTS", "NOT EXISTS"), self._one_of("IN", "NOT IN")
        call = self._one_of(f"max({y})", f"count({y})", "count(*)", f"sum({y}) + 1")
        select = f"SELECT {names} FROM {one} WHERE"
        conditions = [
            f"{x} {in_} (SELECT {y} FROM {other})",
            f"{exists} (SELECT 1 FROM {other} WHERE {on})",
            f"{exists} (SELECT 1 FROM {other} WHERE {on} AND {x} <> {y})",
            f"{exists} (SELECT 1 FROM {other} WHERE {on}) OR {self._condition(left)}",
            f"{x} {in_} (SELECT {y} FROM {other}) OR {self._condition(left)}",
            f"{x} > (SELECT {call} FROM {other})",
            f"{x} <= (SELECT {call} FROM {other} WHERE {on})",
            f"{x} >= (SELECT DISTINCT {y} FROM {other} WHERE {y} = 2)",
            f"{x} <= (SELECT q FROM (SELECT DISTINCT {y} AS q FROM {other}) AS d WHERE q = {x})",
            f"{exists} (SELECT 1 FROM {other} WHERE ({on} AND {y} > 1) OR ({on} AND {y} < {x}))",
        ]
        if self._random.random() < 0.3:
            name = self._name()
            contained = f"coalesce({x} {in_} (SELECT {y} FROM {other}), false)"  # as in Spark
            value = self._one_of(
                f"(SELECT {call} FROM {other} WHERE {on})",
                f"(SELECT {call} FROM {other})",
                f"CAST(CASE WHEN {contained} THEN 1 ELSE 0 END AS BIGINT)",
            )
            columns = (*left.columns, (name, "BIGINT"))
            return Relation(f"SELECT {names}, {value} AS {name} FROM {one}", columns)
        return Relation(f"{select} {self._random.choice(conditions)}", left.columns)


__all__ = ["TABLES", "Case", "Comparison", "RandomCases", "obstacles", "translated"]
