"""Random queries over three small tables, of every form that the operator tree knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

TABLES = {
    "t": "a INT, b INT, c STRING, d DECIMAL(9,2), ys ARRAY<INT>, s STRUCT<f: INT, g: STRING>",
    "u": "a INT, k INT, v INT, c STRING",
    "w": "k INT, z INT, name STRING",
}
"""The tables, with their columns."""

_NUMBERS = {"t": ("a", "b", "s.f"), "u": ("a", "k", "v"), "w": ("k", "z")}
_ALL = {
    "t": ("a", "b", "c", "d", "ys", "s"),
    "u": ("a", "k", "v", "c"),
    "w": ("k", "z", "name"),
}


class RandomQueries:
    """Writes queries; the same seed gives the same ones."""

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._names = 0

    def query(self) -> str:
        """Return a query."""
        forms = (
            *(self._rows, self._rows, self._joined, self._joined, self._grouped, self._grouped),
            *(self._windowed, self._set_operation, self._derived, self._with, self._subquery),
            *(self._exploded, self._sets, self._using, self._subquery, self._aliases),
        )
        return self._random.choice(forms)()

    def _one_of(self, *texts: str) -> str:
        return self._random.choice(texts)

    def _alias(self) -> str:
        self._names += 1
        return f"r{self._names}"

    def _number(self, table: str, alias: str, depth: int = 2) -> str:
        """An expression over numbers."""
        column = self._random.choice(_NUMBERS[table])
        if depth == 0 or self._random.random() < 0.4:
            return self._one_of(f"{alias}.{column}", f"`{alias}`.{column}", "1", "-2", "NULL", "3L")
        one, other = (self._number(table, alias, depth - 1) for _ in range(2))
        return self._one_of(
            f"{one} + {other}",
            f"({one} - {other}) * 2",
            f"{one} % 3",
            f"coalesce({one}, {other}, 0)",
            f"CASE WHEN {self._condition(table, alias, 0)} THEN {one} ELSE {other} END",
            f"CASE {one} WHEN 1 THEN {other} END",
            f"CAST({one} AS BIGINT)",
            f"if({one} > 1, {other}, 0)",
            f"nullif({one}, {other})",
            f"-{alias}.{column}",
            f"greatest({one}, {other})",
            f"size(array({one}, {other}))",
            f"array({one}, {other})[0]",
            f"{one}::int",
        )

    def _condition(self, table: str, alias: str, depth: int = 2) -> str:
        if depth == 0 or self._random.random() < 0.4:
            one, other = (self._number(table, alias, 0) for _ in range(2))
            return self._one_of(
                f"{one} < {other}",
                f"{one} <=> {other}",
                f"{one} IN (1, 2, {other})",
                f"{one} NOT IN (1, 3)",
                f"{one} BETWEEN 1 AND {other}",
                f"{one} IS NOT NULL",
                f"{one} IS NULL",
                f"{one} != {other}",
                "'a' 'b' LIKE r'a%'",
                "date '2020-01-01' + interval '1' day > date '2020-01-01'",
            )
        one, other = (self._condition(table, alias, depth - 1) for _ in range(2))
        return self._one_of(
            f"{one} AND {other}", f"({one} OR {other})", f"NOT ({one})", f"{one} OR {other}"
        )

    def _items(self, table: str, alias: str) -> str:
        if self._random.random() < 0.2:
            return self._one_of("*", f"{alias}.*", f"{alias}.*, 1 AS one")
        columns = self._random.sample(_ALL[table], self._random.randint(1, 3))
        items = [f"{alias}.{column}" for column in columns]
        items.append(f"{self._number(table, alias)} AS n{self._random.randint(1, 3)}")
        if self._random.random() < 0.3:
            items.append(
                f"struct({alias}.{columns[0]}, {self._number(table, alias, 0)} AS q) AS st"
            )
        if self._random.random() < 0.2:
            items.append(self._number(table, alias))
        return ", ".join(items)

    def _where(self, table: str, alias: str) -> str:
        return f" WHERE {self._condition(table, alias)}" if self._random.random() < 0.6 else ""

    def _rows(self) -> str:
        table, alias = self._one_of(*TABLES), self._alias()
        distinct = self._one_of("", "", "DISTINCT ")
        items = self._items(table, alias)
        return f"SELECT {distinct}{items} FROM {table} {alias}{self._where(table, alias)}"

    def _joined(self) -> str:
        left, right, third = (self._one_of("t", "u", "w") for _ in range(3))
        one, two, three = (self._alias() for _ in range(3))
        kind = self._one_of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL OUTER JOIN", "CROSS JOIN")
        lkey, rkey = self._random.choice(_NUMBERS[left]), self._random.choice(_NUMBERS[right])
        on = f" ON {one}.{lkey} = {two}.{rkey}"
        if self._random.random() < 0.3:
            on += f" AND {self._condition(right, two, 1)}"
        if kind == "CROSS JOIN":
            on = ""
        items = f"{one}.{lkey} AS x, {self._number(right, two)} AS y"
        query = f"SELECT {items} FROM {left} {one} {kind} {right} {two}{on}"
        if self._random.random() < 0.3:
            query = (
                f"SELECT {items} FROM {left} {one}, {right} {two}, {third} {three} WHERE "
                f"{one}.{lkey} = {two}.{rkey} AND {three}.{_NUMBERS[third][0]} = {one}.{lkey}"
            )
            return f"{query} AND {self._condition(right, two, 1)}"
        if self._random.random() < 0.2:
            semi = self._one_of("LEFT SEMI JOIN", "LEFT ANTI JOIN", "ANTI JOIN")
            on = f"{one}.{lkey} = {two}.{rkey}"
            return f"SELECT {one}.* FROM {left} {one} {semi} {right} {two} ON {on}"
        return query + self._where(left, one)

    def _using(self) -> str:
        kind = self._one_of("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        return self._one_of(
            f"SELECT * FROM t {kind} u USING (a)",
            f"SELECT a, t.a AS ta, u.a AS ua, v FROM t {kind} u USING (a)",
            f"SELECT * FROM u NATURAL {kind} w",
            f"SELECT u.*, z FROM t {kind} u USING (a, c) JOIN w USING (k)",
            f"SELECT a, count(*) AS n FROM t {kind} u USING (a) GROUP BY a",
            f"SELECT * FROM t x {kind} t y ON x.a = y.b NATURAL {kind} (SELECT a, v AS z FROM u)",
            f"SELECT x.*, y.*, z.* FROM t x {kind} u y USING (c, a) {kind} u z USING (a)",
            f"SELECT x.a, y.a, name FROM t x {kind} u y USING (a) {kind} w USING (k)",
            f"SELECT * FROM t LEFT {self._one_of('SEMI', 'ANTI')} JOIN u USING (c, a)",
        )

    def _aggregate(self, table: str, alias: str) -> str:
        number = self._number(table, alias, 1)
        return self._one_of(
            "count(*)",
            f"count({number})",
            f"sum({number})",
            f"avg({number})",
            f"min({number})",
            f"max({number}) + 1",
            f"count(DISTINCT {number})",
            f"sum({number}) FILTER (WHERE {self._condition(table, alias, 1)})",
            f"sum({number}) / count(*)",
            f"bool_or({self._condition(table, alias, 0)})",
            f"sort_array(collect_list({number}))",
            f"any(1 = {number})",
        )

    def _grouped(self) -> str:
        table, alias = self._one_of(*TABLES), self._alias()
        key = self._number(table, alias, 1)
        column = f"{alias}.{_NUMBERS[table][0]}"
        aggregates = ", ".join(
            f"{self._aggregate(table, alias)} AS m{n}" for n in range(self._random.randint(1, 3))
        )
        having = self._one_of(
            "",
            "",
            " HAVING count(*) > 1",
            f" HAVING x > 0 AND max({column}) > 1",
            " HAVING m0 IS NOT NULL",
        )
        from_ = f"FROM {table} {alias}{self._where(table, alias)}"
        return self._one_of(
            f"SELECT {aggregates} {from_}",
            f"SELECT {column} AS x, {aggregates} {from_} GROUP BY {column}{having}",
            f"SELECT ({key}) + 0 AS x, {aggregates} {from_} GROUP BY x{having}",
            f"SELECT {column} + 1 AS x, {aggregates} {from_} GROUP BY 1",
            f"SELECT {column} AS x, {aggregates} {from_} GROUP BY ALL ORDER BY x, count(*)",
        )

    def _sets(self) -> str:
        by = self._one_of(
            "ROLLUP (a, b)", "CUBE (a, b)", "GROUPING SETS ((a, b), (a), ())", "a, ROLLUP (b)"
        )
        call = self._one_of("count(*)", "sum(b)", "grouping_id()")
        return f"SELECT a, b, {call} AS n FROM t GROUP BY {by}"

    def _windowed(self) -> str:
        table, alias = self._one_of(*TABLES), self._alias()
        keys = ", ".join(f"{alias}.{column}" for column in _ALL[table][:3])
        over = f"PARTITION BY {alias}.{_NUMBERS[table][0]}"
        frame = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        call = self._one_of(
            f"rank() OVER ({over} ORDER BY {keys})",
            f"sum({alias}.{_NUMBERS[table][1]}) OVER ({over})",
            f"count(*) OVER ({over} ORDER BY {keys} {frame})",
            f"max({alias}.{_NUMBERS[table][1]}) OVER w",
            f"dense_rank() OVER ({over} ORDER BY {keys} DESC NULLS LAST) + 1",
        )
        window = f" WINDOW w AS ({over})" if " OVER w" in call else ""
        query = (
            f"SELECT {keys}, {call} AS r FROM {table} {alias}{self._where(table, alias)}{window}"
        )
        return self._one_of(query, f"SELECT * FROM ({query}) WHERE r <= 2")

    def _set_operation(self) -> str:
        one, two, three = (
            f"SELECT {n} AS x, {m} AS y FROM {t}"
            for n, m, t in (("a", "b", "t"), ("k", "v", "u"), ("k", "z", "w"))
        )
        kinds = (
            "UNION ALL",
            "UNION",
            "INTERSECT",
            "INTERSECT ALL",
            "EXCEPT",
            "EXCEPT ALL",
            "MINUS",
        )
        first, second = self._one_of(*kinds), self._one_of(*kinds)
        return self._one_of(
            f"{one} {first} {two}",
            f"{one} {first} {two} {second} {three}",
            f"({one} {first} {two}) {second} {three}",
            f"SELECT y, count(*) AS n FROM ({one} {first} {three}) GROUP BY y",
        )

    def _derived(self) -> str:
        inner, alias = self._grouped(), self._alias()
        return f"SELECT {alias}.*, 1 AS one FROM ({inner}) AS {alias}"

    def _with(self) -> str:
        return self._one_of(
            "WITH p AS (SELECT a, sum(b) AS n FROM t GROUP BY a), q (x, y) AS (SELECT * FROM p) "
            "SELECT p.a, q.y FROM p JOIN q ON p.a = q.x",
            "WITH t AS (SELECT * FROM u) SELECT * FROM t",
            "SELECT * FROM (WITH p AS (SELECT k FROM w) SELECT k, k AS k2 FROM p) d",
            "WITH p AS (SELECT k, max(z) AS m FROM w GROUP BY k) SELECT a.k, b.m FROM p a, p b "
            "WHERE a.m = b.m",
        )

    def _subquery(self) -> str:
        exists = self._one_of("EXISTS", "NOT EXISTS")
        in_ = self._one_of("IN", "NOT IN")
        return self._one_of(
            f"SELECT a, b FROM t WHERE {exists} (SELECT 1 FROM u WHERE u.a = t.a)",
            f"SELECT a FROM t WHERE {exists} (SELECT * FROM u WHERE u.a = t.a AND v < b) OR a > 1",
            f"SELECT a FROM t WHERE b > 0 AND {exists} (SELECT k FROM u WHERE a = t.a AND v <> b)",
            f"SELECT * FROM u WHERE k {in_} (SELECT k FROM w)",
            f"SELECT * FROM u WHERE k {in_} (SELECT k FROM w WHERE w.z = u.v)",
            f"SELECT * FROM u WHERE (k, v) {in_} (SELECT k, z FROM w WHERE k IS NOT NULL)",
            "SELECT * FROM u WHERE v > (SELECT avg(z) FROM w)",
            "SELECT * FROM u WHERE v >= (SELECT min(z) FROM w WHERE w.k = u.k)",
            "SELECT a, (SELECT max(z) FROM w WHERE w.k = u.k) AS m FROM u",
            "SELECT a, (SELECT count(*) FROM w WHERE w.k = u.k) AS m FROM u",
            f"SELECT a, sum(v) AS s FROM u WHERE k {in_} (SELECT k FROM w) GROUP BY a "
            "HAVING sum(v) > (SELECT min(z) FROM w)",
            f"SELECT a, {exists} (SELECT 1 FROM w WHERE w.k = u.k) AS e FROM u",
            "SELECT a, v IN (SELECT z FROM w) AS e FROM u",
            f"SELECT a, (v {in_} (SELECT z FROM w)) IS NULL AS e FROM u",
            f"SELECT a, CASE WHEN v {in_} (SELECT z FROM w) THEN v ELSE 0 END AS e FROM u",
            f"SELECT a, v > 1 OR v {in_} (SELECT z FROM w) AS e FROM u",
            f"SELECT a, max(v {in_} (SELECT z FROM w WHERE w.k = u.k)) AS e FROM u GROUP BY a",
            "SELECT a FROM t WHERE b IN (SELECT k FROM u GROUP BY k HAVING count(*) > 1)",
            "SELECT a FROM u WHERE k IN (SELECT k FROM w WHERE z > (SELECT min(b) FROM t))",
            "SELECT a FROM u WHERE EXISTS (SELECT 1 FROM (SELECT k + 0 AS q, z FROM w) d "
            "WHERE d.q = u.k AND d.z > 0)",
        )

    def _exploded(self) -> str:
        return self._one_of(
            "SELECT a, explode(ys) AS y FROM t",
            "SELECT a, y + 1 AS y FROM t LATERAL VIEW explode(ys) e AS y",
            "SELECT a, p, y FROM t LATERAL VIEW OUTER posexplode(ys) e AS p, y WHERE b > 0",
            "SELECT a, posexplode(ys) AS (p, y), b FROM t",
            "SELECT a, m.y FROM t, LATERAL explode(ys) AS m(y)",
            "SELECT a, x, y FROM t LATERAL VIEW stack(2, a, b, b, a) AS x, y",
            "SELECT transform(ys, y -> y + a) AS z, exists(ys, y -> y > b) AS e FROM t",
            "SELECT k, explode_outer(array(k, z)) AS q FROM w WHERE z > 1",
            "SELECT col1, col2 FROM VALUES (1, 'x'), (2, 'y') WHERE col1 > 1",
            "SELECT v.p, t.a FROM VALUES (1, 'x'), (2, 'y') AS v(p, q) JOIN t ON v.p = t.a",
        )

    def _aliases(self) -> str:
        return self._one_of(
            "SELECT a + 1 AS x, x * 2 AS y, y + b AS zz FROM t",
            "SELECT a AS b, b AS a FROM t ORDER BY a, b, d",
            "SELECT s.f, t.s.g, named_struct('p', s.f).p AS p FROM t",
            "SELECT *, a AS again FROM u",
            "SELECT A, `B` FROM T WHERE C IS NOT NULL",
            "SELECT * EXCEPT (ys, s) FROM t",
            "SELECT count(t.c), count(DISTINCT a, b), hash(k, v) AS h FROM t JOIN u USING (a) "
            "GROUP BY k, v",
            "SELECT 1 AS one, 'x' AS x",
            "SELECT a, sum(b) AS b FROM t GROUP BY a HAVING sum(b) > 1 ORDER BY sum(b) DESC, a",
            "SELECT 'k' AS k, 2 AS n, sum(v) AS s FROM u GROUP BY k, n",
        )
