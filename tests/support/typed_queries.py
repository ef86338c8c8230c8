"""Random queries, rows and changes over three tables whose columns have many types."""

from __future__ import annotations

import random
from dataclasses import dataclass

TABLES = {
    "t1": {
        "a": "INT",
        "b": "BIGINT",
        "c": "STRING",
        "d": "DECIMAL(10,2)",
        "e": "DATE",
        "p": "CHAR(3)",
    },
    "t2": {
        "a": "INT",
        "k": "BIGINT",
        "s": "STRING",
        "x": "DECIMAL(12,3)",
        "y": "DATE",
        "q": "VARCHAR(4)",
    },
    "t3": {"k": "INT", "s": "STRING", "v": "BIGINT", "g": "BOOLEAN", "ts": "TIMESTAMP"},
}
"""The columns of the tables, with their types."""
_KINDS = {
    "INT": "number",
    "BIGINT": "number",
    "DECIMAL(10,2)": "number",
    "DECIMAL(12,3)": "number",
    "STRING": "text",
    "CHAR(3)": "text",
    "VARCHAR(4)": "text",
    "DATE": "date",
    "TIMESTAMP": "time",
    "BOOLEAN": "boolean",
}
_VALUES = {
    "INT": ("-2", "0", "1", "2", "3", "4", "5", "6", "9"),
    "BIGINT": ("-1", "0", "1", "2", "3", "4", "9"),
    "DECIMAL(10,2)": ("-3.50", "0.00", "1.25", "2.00", "21.47"),
    "DECIMAL(12,3)": ("-19.480", "0.000", "2.000", "7.125"),
    "STRING": ("''", "'a'", "'A'", "'dd'", "'Ee'", "'é'"),
    "CHAR(3)": ("''", "'a'", "'ab'", "'dd'"),
    "VARCHAR(4)": ("''", "'a'", "'dd'", "'Ee '"),
    "DATE": ("DATE'2024-01-01'", "DATE'2024-01-28'", "DATE'2024-02-15'", "DATE'2024-03-31'"),
    "TIMESTAMP": ("TIMESTAMP'2024-01-02 06:00:00'", "TIMESTAMP'2024-01-03 00:00:00'"),
    "BOOLEAN": ("true", "false"),
}


@dataclass(frozen=True)
class _Source:
    """A relation of a FROM clause: a table under an alias."""

    table: str
    alias: str

    def columns(self, *kinds: str) -> list[str]:
        """Return its columns of some kinds, or all of them."""
        types = TABLES[self.table]
        return [f"{self.alias}.{c}" for c, t in types.items() if not kinds or _KINDS[t] in kinds]


class TypedQueries:
    """Writes queries, rows and statements that change rows; the same seed gives the same ones."""

    def __init__(self, choices: random.Random) -> None:
        self._random = choices
        self._names = 0

    @classmethod
    def of(cls, seed: int) -> TypedQueries:
        """Return the ones of a seed."""
        return cls(random.Random(seed))  # noqa: S311 - not for secrets

    def query(self) -> str:
        """Return a query."""
        forms = (self._rows, self._grouped, self._grouped, self._grouped, self._distinct)
        more = (self._windowed, self._union, self._nested, self._sets, self._top, self._ranked)
        return self._random.choice((*forms, *more))()

    def values(self, table: str) -> str:
        """Return a row of a table, as VALUES takes it."""
        return f"({', '.join(self._value(type_) for type_ in TABLES[table].values())})"

    def change(self, table: str) -> str:
        """Return a statement that changes rows of a table."""
        name, type_ = self._random.choice(list(TABLES[table].items()))
        where = f"{name} <=> {self._value(type_)}"
        column, own = self._random.choice(list(TABLES[table].items()))
        return self._one_of(
            f"INSERT INTO {table} VALUES {', '.join(self.values(table) for _ in range(4))}",
            f"DELETE FROM {table} WHERE {where}",
            f"UPDATE {table} SET {column} = {self._value(own)} WHERE {where}",
        )

    def _value(self, type_: str) -> str:
        return "NULL" if self._random.random() < 0.2 else self._random.choice(_VALUES[type_])

    def _one_of(self, *texts: str) -> str:
        return self._random.choice(texts)

    def _source(self) -> _Source:
        self._names += 1
        return _Source(self._one_of(*TABLES), f"x{self._names}")

    def _from(self) -> tuple[str, list[_Source]]:
        """Return the relations with their joins, and which ones they are."""
        one = self._source()
        text, sources = f"{one.table} {one.alias}", [one]
        while self._random.random() < 0.5 and len(sources) < 3:
            other = self._source()
            kind = self._one_of("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
            text += f" {kind} {other.table} {other.alias} ON {self._same(sources, other)}"
            sources.append(other)
        return text, sources

    def _same(self, sources: list[_Source], other: _Source) -> str:
        pairs = [
            f"{a} = {b}"
            for kind in ("number", "text", "date")
            for source in sources
            for a in source.columns(kind)
            for b in other.columns(kind)
        ]
        return self._random.choice(pairs)

    def _all(self, sources: list[_Source], *kinds: str) -> list[str]:
        return [column for source in sources for column in source.columns(*kinds)]

    def _condition(self, sources: list[_Source]) -> str:
        number, text = self._all(sources, "number"), self._all(sources, "text")
        one, other = self._random.choice(number), self._random.choice(number)
        first, second = self._random.choice(text), self._random.choice(text)
        inner = self._source()
        key = self._random.choice(inner.columns("text"))
        return self._one_of(
            f"{one} < {other}",
            f"{one} > 1 OR {first} IS NULL",
            f"{first} <= 'dd'",
            f"{first} = {second}",
            f"{first} LIKE 'd%'",
            f"NOT ({one} <=> {other})",
            f"{first} IN (SELECT {key} FROM {inner.table} {inner.alias})",
            f"EXISTS (SELECT 1 FROM {inner.table} {inner.alias} WHERE {key} = {first})",
            f"{first} >= (SELECT DISTINCT {key} FROM {inner.table} {inner.alias} "
            f"WHERE {key} = 'a')",
        )

    def _where(self, sources: list[_Source]) -> str:
        if self._random.random() < 0.5:
            return ""
        more = f" AND {self._condition(sources)}" if self._random.random() < 0.3 else ""
        return f" WHERE {self._condition(sources)}{more}"

    def _key(self, sources: list[_Source]) -> str:
        column = self._random.choice(self._all(sources))
        number, text = self._all(sources, "number"), self._all(sources, "text")
        dates = self._all(sources, "date")
        keys = [
            column,
            column,
            f"CAST({self._random.choice(number)} AS DECIMAL(20,2))",
            f"upper({self._random.choice(text)})",
            f"{self._random.choice(text)} || '.'",
            f"coalesce({self._random.choice(text)}, 'none')",
            f"struct({column} AS u, {self._random.choice(number)} AS w)",
        ]
        keys += [f"datediff({d}, DATE'2024-01-01')" for d in dates[:1]]
        return self._random.choice(keys)

    def _aggregate(self, sources: list[_Source]) -> str:
        column = self._random.choice(self._all(sources))
        number = self._random.choice(self._all(sources, "number"))
        text = self._random.choice(self._all(sources, "text"))
        call = self._one_of(
            "count(*)",
            f"count({column})",
            f"count(DISTINCT {column})",
            f"sum({number})",
            f"avg({number})",
            f"min({column})",
            f"max({column})",
            f"max({text})",
            f"min({text})",
            f"sort_array(collect_list({text}))",
            f"sort_array(collect_set({column}))",
            f"bool_or({number} > 1)",
            f"max(struct({number} AS u, {text} AS w))",
        )
        if self._random.random() < 0.2 and "sort_array" not in call:
            call += f" FILTER (WHERE {self._condition(sources[:1])})" * ("IN (S" not in call)
        return call

    def _rows(self) -> str:
        from_, sources = self._from()
        items = [self._key(sources) for _ in range(self._random.randint(1, 4))]
        return f"SELECT {_named(items)} FROM {from_}{self._where(sources)}"

    def _distinct(self) -> str:
        return self._rows().replace("SELECT", "SELECT DISTINCT", 1)

    def _grouped(self) -> str:
        from_, sources = self._from()
        keys = [self._key(sources) for _ in range(self._random.randint(0, 3))]
        calls = [self._aggregate(sources) for _ in range(self._random.randint(1, 3))]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = self._one_of("", "", " HAVING count(*) > 1", f" HAVING {calls[0]} IS NOT NULL")
        return f"SELECT {_named([*keys, *calls])} FROM {from_}{self._where(sources)}{by}{having}"

    def _windowed(self) -> str:
        from_, sources = self._from()
        columns = self._all(sources)
        over = f"PARTITION BY {self._key(sources)}"
        order = f"ORDER BY {', '.join(columns)}"
        call = self._one_of(
            f"rank() OVER ({over} {order})",
            f"dense_rank() OVER ({over} {order} DESC)",
            f"count(*) OVER ({over})",
            f"max({self._random.choice(columns)}) OVER ({over})",
        )
        return f"SELECT {_named([*columns[:3], call])} FROM {from_}{self._where(sources)}"

    def _sets(self) -> str:
        from_, sources = self._from()
        keys = list(dict.fromkeys(self._key(sources) for _ in range(3)))
        calls = [self._aggregate(sources) for _ in range(2)]
        listed, few = ", ".join(keys), ", ".join(keys[:2])
        by = self._one_of(
            f"ROLLUP ({listed})",
            f"CUBE ({few})",
            f"GROUPING SETS (({few}), ({keys[0]}), ())",
            f"GROUPING SETS (({keys[0]}), ({keys[-1]}), ({listed}))",
            f"{keys[0]}, ROLLUP ({listed})",
            f"{few} WITH ROLLUP",
        )
        bits = [f"grouping({keys[0]})", "grouping_id()"][: self._random.randint(0, 2)]
        shown = _named([*(keys[:2] if few in by else keys[:1]), *calls, *bits])
        return f"SELECT {shown} FROM {from_}{self._where(sources)} GROUP BY {by}"

    def _top(self) -> str:
        """Return first rows in an order that distinguishes them, not all of which is shown."""
        inner = self._random.choice((self._rows, self._grouped, self._sets, self._windowed))()
        columns = [f"c{n}" for n in range(inner.count(" AS c")) if f" AS c{n}" in inner]
        shown = self._random.sample(columns, self._random.randint(1, len(columns)))
        items = [self._one_of(c, c, f"coalesce(CAST({c} AS STRING), '')") for c in shown]
        order = [f"{c} {self._one_of('', 'DESC')}" for c in (*shown, *columns)]
        if self._random.random() < 0.5:
            self._random.shuffle(order)
        named = ", ".join(f"{item} AS o{n}" for n, item in enumerate(items))
        limit = self._one_of("1", "3", "10", "500")
        return f"SELECT {named} FROM ({inner}) AS y ORDER BY {', '.join(order)} LIMIT {limit}"

    def _ranked(self) -> str:
        from_, sources = self._from()
        columns = self._random.sample(self._all(sources), 2)
        ranks = [f"rank() OVER (ORDER BY {c} {self._one_of('', 'DESC')})" for c in columns]
        inner = f"SELECT {_named([*columns, *ranks])} FROM {from_}{self._where(sources)}"
        return f"SELECT * FROM ({inner}) AS y WHERE {self._one_of('c2 <= 3', 'c2 < 3 OR c3 = 1')}"

    def _union(self) -> str:
        one, other = self._source(), self._source()
        kind = self._one_of("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL")
        texts = [
            f"SELECT CAST({self._random.choice(each.columns('text'))} AS STRING) AS c0, "
            f"{self._random.choice(each.columns('number'))} AS c1 FROM {each.table} {each.alias}"
            for each in (one, other)
        ]
        return f" {kind} ".join(texts)

    def _nested(self) -> str:
        inner = self._grouped()
        return self._one_of(
            f"SELECT c0, count(*) AS n FROM ({inner}) AS y GROUP BY c0",
            f"SELECT y.c0, x.a FROM ({inner}) AS y JOIN t1 x ON y.c0 <=> x.a"
            if " AS c1" in inner
            else f"SELECT max(c0) AS m FROM ({inner}) AS y",
            f"SELECT * FROM ({inner}) AS y WHERE c0 IS NOT NULL",
        )


def _named(items: list[str]) -> str:
    return ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
