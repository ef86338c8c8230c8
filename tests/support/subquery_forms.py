"""Queries with every form of subquery in every place of an expression."""

from __future__ import annotations

TABLES = {"p": "a INT, b INT", "q": "k INT, v INT"}
"""The tables, with their columns; all have NULLs and duplicates."""

PREDICATES = {
    "in": "a IN (SELECT k FROM q)",
    "not in": "a NOT IN (SELECT k FROM q)",
    "in nothing": "a IN (SELECT k FROM q WHERE k > 100)",
    "in without nulls": "a IN (SELECT k FROM q WHERE k IS NOT NULL)",
    "not in without nulls": "a NOT IN (SELECT k FROM q WHERE k IS NOT NULL)",
    "correlated in": "a IN (SELECT k FROM q WHERE q.v = p.b)",
    "correlated not in": "a NOT IN (SELECT k FROM q WHERE q.v = p.b)",
    "correlated in by order": "a IN (SELECT k FROM q WHERE q.v < p.b)",
    "pair in": "(a, b) IN (SELECT k, v FROM q)",
    "pair not in": "(a, b) NOT IN (SELECT k, v FROM q)",
    "computed in": "a + b IN (SELECT k + 1 FROM q)",
    "null in": "CAST(NULL AS INT) IN (SELECT k FROM q)",
    "literal not in": "1 NOT IN (SELECT k FROM q)",
    "exists": "EXISTS (SELECT 1 FROM q WHERE q.k = p.a)",
    "not exists": "NOT EXISTS (SELECT 1 FROM q WHERE q.k = p.a AND q.v <> p.b)",
    "exists anything": "EXISTS (SELECT 1 FROM q WHERE v > 2)",
    "scalar": "a > (SELECT min(k) FROM q)",
    "scalar of nothing": "a > (SELECT min(k) FROM q WHERE k > 100)",
    "correlated scalar": "b >= (SELECT max(v) FROM q WHERE q.k = p.a)",
    "correlated count": "b > (SELECT count(*) FROM q WHERE q.k = p.a)",
}
"""Conditions over a row of `p`."""

PLACES = {
    "value": "SELECT a, {} AS x FROM p",
    "not": "SELECT a, NOT ({}) AS x FROM p",
    "not not": "SELECT a, NOT (b > 1 AND NOT ({})) AS x FROM p",
    "is null": "SELECT a, ({}) IS NULL AS x FROM p",
    "is not true": "SELECT a, ({}) IS NOT TRUE AS x FROM p",
    "or": "SELECT a, b > 2 OR {} AS x FROM p",
    "not or": "SELECT a, NOT (b > 2 OR {}) AS x FROM p",
    "case": "SELECT a, CASE WHEN {} THEN 'y' ELSE 'n' END AS x FROM p",
    "case not": "SELECT a, CASE WHEN b > 2 THEN 'b' WHEN NOT ({}) THEN 'y' END AS x FROM p",
    "case value": "SELECT a, CASE WHEN b > 1 THEN {} ELSE false END = false AS x FROM p",
    "case of": "SELECT a, CASE {} WHEN false THEN 'n' ELSE 'y' END AS x FROM p",
    "if": "SELECT a, if({}, false, true) AS x FROM p",
    "coalesce": "SELECT a, NOT coalesce({}, true) AS x FROM p",
    "cast": "SELECT a, CAST({} AS INT) AS x FROM p",
    "is false": "SELECT a, ({}) = false AS x FROM p",
    "equal": "SELECT a, ({}) = (b > 1) AS x FROM p",
    "null safe": "SELECT a, ({}) <=> false AS x FROM p",
    "nullif": "SELECT a, nullif({}, false) AS x FROM p",
    "listed": "SELECT a, ({}) IN (false) AS x FROM p",
    "max": "SELECT b, max({}) AS x FROM p GROUP BY b",
    "count_if": "SELECT b, count_if({}) AS x FROM p GROUP BY b",
    "sum": "SELECT b, sum(CASE WHEN {} THEN 1 ELSE 0 END) AS x FROM p GROUP BY b",
    "group": "SELECT {} AS x, count(*) AS n FROM p GROUP BY 1",
    "not below": "SELECT a, NOT x AS y FROM (SELECT a, {} AS x FROM p) s",
    "null below": "SELECT a, x IS NULL AS y FROM (SELECT a, {} AS x FROM p) s",
    "where below": "SELECT a, x FROM (SELECT a, {} AS x FROM p) s WHERE x",
    "where not below": "SELECT a, x FROM (SELECT a, {} AS x FROM p) s WHERE NOT x",
    "united below": "SELECT a, NOT x AS y FROM (SELECT a, {} AS x FROM p UNION ALL SELECT 7, true)",
    "distinct": "SELECT DISTINCT {} AS x, b FROM p",
    "where": "SELECT a, b FROM p WHERE {}",
    "where not": "SELECT a, b FROM p WHERE NOT ({})",
    "where and": "SELECT a, b FROM p WHERE b < 3 AND {} AND a > 0",
    "where or": "SELECT a, b FROM p WHERE b > 2 OR {}",
    "where not or": "SELECT a, b FROM p WHERE NOT (b > 2 OR {})",
    "where is null": "SELECT a, b FROM p WHERE ({}) IS NULL",
    "where case": "SELECT a, b FROM p WHERE CASE WHEN {} THEN b > 1 ELSE b < 3 END",
    "where false": "SELECT a, b FROM p WHERE ({}) = false",
    "having": "SELECT a, b, count(*) AS n FROM p GROUP BY a, b HAVING {}",
    "having or": "SELECT a, b, count(*) AS n FROM p GROUP BY a, b HAVING count(*) > 1 OR NOT ({})",
    "on": "SELECT p.a, r.k FROM p JOIN q r ON p.a = r.k AND {}",
}
"""Queries with a place for a condition."""

QUERIES = {
    f"{condition} / {place}": text.format(predicate)
    for condition, predicate in PREDICATES.items()
    for place, text in PLACES.items()
}
