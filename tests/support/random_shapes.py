"""Random changes of a source's shape: types, names, order and nesting of its columns.

The model knows which columns a source has, and returns the statements that change it. `replay` on
an engine without SQL changes the model's rows in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


WIDER = {
    "TINYINT": ("SMALLINT", "INT"),
    "INT": ("BIGINT", "DOUBLE", "DECIMAL(12,2)"),
    "FLOAT": ("DOUBLE",),
    "DECIMAL(6,1)": ("DECIMAL(9,2)",),
    "DATE": ("TIMESTAMP_NTZ",),
}
"""What Delta widens in place."""
OTHER = {
    "TINYINT": ("STRING", "INT"),
    "INT": ("DECIMAL(10,2)", "STRING", "DOUBLE"),
    "FLOAT": ("DECIMAL(10,2)", "STRING"),
    "DECIMAL(6,1)": ("DOUBLE", "STRING"),
    "DATE": ("STRING",),
    "STRING": ("VARCHAR(40)",),
    "BIGINT": ("INT", "DECIMAL(20,0)"),
    "DOUBLE": ("FLOAT", "STRING"),
}
"""What a source may be replaced with, by casts that keep every value of the tests."""
FIRST = {"a": "INT", "b": "FLOAT", "c": "DATE", "d": "DECIMAL(6,1)", "e": "STRING"}
VALUES = {
    "a": "CAST({n} % 5 AS INT)",
    "b": "CAST({n} % 4 AS FLOAT) / 10",
    "c": "date_add(DATE'2024-01-01', CAST({n} % 3 AS INT))",
    "d": "CAST({n} % 6 AS DECIMAL(6,1))",
    "e": "CAST({n} % 2 AS STRING)",
}
STRUCT = ("x", "y")

QUERIES = {
    "unread": "SELECT id FROM s WHERE id >= 0",
    "added": "SELECT id, concat('#', a, '/', b) AS v FROM s",
    "dated": "SELECT id, CAST(c AS STRING) AS v, xxhash64(a) AS h FROM s WHERE id < 900",
    "nested": "SELECT id, concat('#', st.x, '/', st.y) AS v FROM s",
    "viewed": "SELECT id, concat('#', d) AS v FROM w",
    "united": "SELECT id, concat('#', d) AS v FROM s UNION ALL SELECT id, name FROM g",
    "grouped": "SELECT concat('#', a) AS v, count(*) AS n FROM s GROUP BY a",
    "distinct": "SELECT DISTINCT concat('#', b) AS v FROM s",
    "joined": "SELECT s.id, concat(s.d, g.name) AS v FROM s JOIN g ON s.id = g.id",
    "missing": "SELECT g.id, concat('#', s.a) AS v FROM g LEFT JOIN s ON s.id = g.id",
    "largest": "SELECT concat(e, '') AS e, concat('#', max(b)) AS v FROM s GROUP BY e",
    "chosen": "SELECT id, concat('#', c) AS v FROM s WHERE id IN (SELECT id FROM g)",
    "placed": "SELECT id, row_number() OVER (PARTITION BY CAST(a AS STRING) ORDER BY id) AS v "
    "FROM s",
}
"""Forms of queries, for all strategies; `s` is the source, `w` a view of it, `g` another table."""


@dataclass
class RandomShape:
    """A source `s(id BIGINT, a, b, c, d, e, st STRUCT<x, y>)` under random changes.

    Args:
        random: Chooses the changes.
        mapped: Whether columns have names of their own in the data files.
        types: The types of the columns, in their order.
        fields: The types of the fields of `st`, in their order.
        rows: How many rows were inserted.
    """

    random: Random
    mapped: bool = False
    types: dict[str, str] = field(default_factory=lambda: dict(FIRST))
    fields: dict[str, str] = field(default_factory=lambda: dict.fromkeys(STRUCT, "INT"))
    rows: int = 40

    def create(self) -> list[str]:
        """Return the statements that make the source, the view and the other table."""
        columns, properties = self._ddl(), self._properties()
        return [
            f"CREATE TABLE s (id BIGINT NOT NULL, {columns}) USING delta {properties}",
            f"INSERT INTO s {self._select(0, self.rows)}",
            "CREATE VIEW w AS SELECT id, d FROM s WHERE id % 3 = 0",
            "CREATE TABLE g USING delta AS SELECT id, concat('n', id) AS name FROM range(15)",
        ]

    def change(self) -> tuple[str, list[str]]:
        """Return the name of a random change and its statements."""
        kinds: list[Callable[[], list[str]]] = [
            *(self.insert, self.delete, self.update, self.widen, self.replace, self.reorder),
            *(self.comment, self.nullable, self.optimize, self.rewrite, self.nest),
        ]
        kinds += [self.swap, self.again, self.field_again] if self.mapped else [self.map_names]
        chosen = self.random.choice(kinds)
        return chosen.__name__, chosen()

    def insert(self) -> list[str]:
        """Add a few rows."""
        first, self.rows = self.rows, self.rows + 3
        return [f"INSERT INTO s {self._select(first, self.rows)}"]

    def delete(self) -> list[str]:
        """Remove a row."""
        return [f"DELETE FROM s WHERE id = {self.random.randrange(self.rows)}"]

    def update(self) -> list[str]:
        """Change a row."""
        return [f"UPDATE s SET e = 'z' WHERE id = {self.random.randrange(self.rows)}"]

    def widen(self) -> list[str]:
        """Widen a column without a changed file."""
        name = self.random.choice(list(self.types))
        if not (wider := WIDER.get(self.types[name])):
            return self.insert()
        self.types[name] = self.random.choice(wider)
        return [f"ALTER TABLE s ALTER COLUMN {name} TYPE {self.types[name]}"]

    def replace(self) -> list[str]:
        """Replace the table by one with another type of a column, and equal values."""
        name = self.random.choice(list(self.types))
        if not (others := OTHER.get(self.types[name])):
            return self.rewrite()
        self.types[name] = self.random.choice(others)
        return [self._replaced({name: f"CAST({name} AS {self.types[name]})"})]

    def rewrite(self) -> list[str]:
        """Write the table again with the same rows."""
        return [self._replaced({})]

    def reorder(self) -> list[str]:
        """Move a column to the first place."""
        name = self.random.choice(list(self.types))
        return [f"ALTER TABLE s ALTER COLUMN {name} FIRST"]

    def nest(self) -> list[str]:
        """Replace the struct by one with its fields in the other order, or of another type."""
        if self.random.random() < 0.5:
            name = self.random.choice(STRUCT)
            self.fields[name] = "BIGINT" if self.fields[name] == "INT" else "INT"
        else:
            self.fields = dict(reversed(self.fields.items()))
        made = ", ".join(f"'{n}', CAST(st.{n} AS {type_})" for n, type_ in self.fields.items())
        return [self._replaced({"st": f"named_struct({made})"})]

    def comment(self) -> list[str]:
        """Describe a column."""
        name = self.random.choice(list(self.types))
        return [f"ALTER TABLE s ALTER COLUMN {name} COMMENT 'no. {self.random.randrange(99)}'"]

    def nullable(self) -> list[str]:
        """Let a column be NULL."""
        return ["ALTER TABLE s ALTER COLUMN id DROP NOT NULL"]

    def optimize(self) -> list[str]:
        """Move rows to other files."""
        return ["OPTIMIZE s"]

    def map_names(self) -> list[str]:
        """Give columns names of their own in the data files."""
        self.mapped = True
        return ["ALTER TABLE s SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"]

    def swap(self) -> list[str]:
        """Let two columns of one type change their names."""
        same = [(p, q) for p in self.types for q in self.types if p < q]
        same = [(p, q) for p, q in same if self.types[p] == self.types[q]]
        if not same:
            return self.again()
        one, other = self.random.choice(same)
        pairs = ((one, "tmp"), (other, one), ("tmp", other))
        return [f"ALTER TABLE s RENAME COLUMN {p} TO {q}" for p, q in pairs]

    def again(self) -> list[str]:
        """Drop a column and add one of its name."""
        name = self.random.choice(list(self.types))
        return [
            f"ALTER TABLE s DROP COLUMN {name}",
            f"ALTER TABLE s ADD COLUMN {name} {self.types[name]}",
        ]

    def field_again(self) -> list[str]:
        """Drop a field of the struct and add one of its name."""
        name = self.random.choice(STRUCT)
        kept = self.fields.pop(name)
        self.fields[name] = kept
        return [
            f"ALTER TABLE s DROP COLUMN st.{name}",
            f"ALTER TABLE s ADD COLUMN st.{name} {kept}",
        ]

    def _ddl(self) -> str:
        fields = ", ".join(f"{name}: {type_}" for name, type_ in self.fields.items())
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.types.items())
        return f"{columns}, st STRUCT<{fields}>"

    def _properties(self) -> str:
        found = {
            "delta.enableTypeWidening": "true",
            "delta.feature.timestampNtz": "supported",
        }
        if self.mapped:
            found["delta.columnMapping.mode"] = "name"
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in found.items())
        return f"TBLPROPERTIES ({listed})"

    def _replaced(self, changed: dict[str, str]) -> str:
        named = ", ".join(f"{changed.get(n, n)} AS {n}" for n in ("id", *self.types, "st"))
        return (
            f"CREATE OR REPLACE TABLE s USING delta {self._properties()} AS SELECT {named} FROM s"
        )

    def _select(self, first: int, end: int) -> str:
        columns = ", ".join(
            f"CAST({VALUES[name].format(n='id')} AS {type_}) AS {name}"
            for name, type_ in self.types.items()
        )
        made = ", ".join(f"'{n}', CAST(id AS {type_})" for n, type_ in self.fields.items())
        names = ", ".join(("id", *self.types, "st"))
        listed = f"id, {columns}, named_struct({made}) AS st"
        return f"({names}) SELECT {listed} FROM range({first}, {end})"
