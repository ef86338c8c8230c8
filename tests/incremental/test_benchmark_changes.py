"""Changes of the results of TPC-H and Nexmark, compared with a recompute in DuckDB."""

from __future__ import annotations

import random
import re

import pytest

from dbt.adapters.spark_mt.query.differential import ChangeNotSupported, obstacles
from tests.support.differential_cases import Case, Comparison
from tests.support.query_corpus import NEXMARK, NEXMARK_TABLES, TPCH, TPCH_TABLES

ROUNDS = 5
VALUES = {
    "r_name": ("EUROPE", "ASIA", "AMERICA"),
    "n_name": ("FRANCE", "GERMANY", "BRAZIL", "CANADA", "SAUDI ARABIA"),
    "p_brand": ("Brand#12", "Brand#23", "Brand#45"),
    "p_type": ("ECONOMY ANODIZED STEEL", "PROMO BRASS", "MEDIUM POLISHED TIN"),
    "p_name": ("forest green", "green", "blue"),
    "p_container": ("MED BOX", "SM CASE", "MED BAG"),
    "p_size": (3, 9, 14, 15),
    "ps_availqty": (1, 400),
    "c_mktsegment": ("BUILDING", "MACHINERY"),
    "c_phone": ("13-1", "31-2", "99-3"),
    "o_orderstatus": ("F", "F", "O"),
    "o_orderpriority": ("1-URGENT", "2-HIGH", "5-LOW"),
    "o_comment": ("special big requests", "none"),
    "s_comment": ("Customer loud Complaints", "none", "none"),
    "l_returnflag": ("R", "N"),
    "l_shipmode": ("MAIL", "SHIP", "AIR"),
    "l_shipinstruct": ("DELIVER IN PERSON", "NONE"),
    "l_discount": ("0.05", "0.06"),
    "l_quantity": ("5.00", "20.00", "170.00", "200.00"),
    "l_shipdate": ("1993-10-05", "1994-02-01", "1995-04-01", "1995-09-10", "1996-02-02"),
    "l_commitdate": ("1994-03-01", "1993-10-01", "1996-03-01"),
    "l_receiptdate": ("1994-04-01", "1993-10-10", "1996-04-01"),
    "o_orderdate": ("1993-07-10", "1993-10-10", "1994-05-05", "1995-03-01", "1996-01-01"),
    "state": ("OR", "ID", "NY"),
    "category": (10, 11),
    "channel": ("apple", "Google", "other"),
    "url": ("https://a/b/c/d?x&channel_id=7", "https://a/b"),
    "price": (5, 20_000, 3_000_000),
    "auction": (1, 2, 123),
}
"""Values that the conditions of the queries distinguish."""


class Choice(random.Random):
    """Chooses rows, mostly with values that a query names."""

    query = ""

    def favours(self, value):
        return any(word in self.query for word in (*str(value).split(), str(value)[:4]))


def value(chosen, column, type_):
    if column in VALUES:
        favoured = [each for each in VALUES[column] if chosen.favours(each)]
        return chosen.choice(favoured if favoured and chosen.random() < 0.6 else VALUES[column])
    if type_.startswith("DECIMAL"):
        return f"{chosen.choice((1, 10, 250))}.{chosen.choice(('00', '25'))}"
    if type_ == "TIMESTAMP":
        day = 2 if column == "expires" else 1
        return f"2024-01-0{day} 10:00:{chosen.randrange(10, 40)}"
    return chosen.randint(1, 3) if type_ in {"BIGINT", "INT"} else chosen.choice("ab")


def row(chosen, columns):
    return tuple(value(chosen, column, type_) for column, type_ in columns.items())


def numbered(rows):
    """Dimensions have a key."""
    return [(number, *each[1:]) for number, each in enumerate(rows, 1)]


def typed(tables):
    return {
        name: dict(re.findall(r"(\w+) (\w+(?:\(\d+,\d+\))?)", ddl)) for name, ddl in tables.items()
    }


def tpch_rows(chosen, tables):
    sizes = {"lineitem": 40, "orders": 9, "partsupp": 8, "customer": 7, "region": 3}
    rows = {
        name: [row(chosen, columns) for _ in range(sizes.get(name, 4))]
        for name, columns in tables.items()
    }
    for name in set(rows) - {"lineitem", "partsupp"}:
        rows[name] = numbered(rows[name])
    orders = len(rows["orders"])
    rows["lineitem"] = [(chosen.randint(1, orders), *each[1:]) for each in rows["lineitem"]]
    return rows


def refreshed(chosen, rows, tables):
    """RF1 adds orders with their lines, RF2 removes some; a third one changes any table."""
    after = {name: list(each) for name, each in rows.items()}
    new = len(rows["orders"]) + 1
    after["orders"].append((new, *row(chosen, tables["orders"])[1:]))
    after["lineitem"] += [(new, *row(chosen, tables["lineitem"])[1:]) for _ in range(4)]
    if chosen.random() < 0.6:
        gone = chosen.choice(rows["orders"])[0]
        after["orders"] = [each for each in after["orders"] if each[0] != gone]
        after["lineitem"] = [each for each in after["lineitem"] if each[0] != gone]
    if chosen.random() < 0.5:
        after |= {name: changed(chosen, after[name], tables[name]) for name in tables}
    return after


def changed(chosen, rows, columns):
    """Return rows of which some were changed, with their keys kept, and some removed."""
    if chosen.random() < 0.5:
        return rows
    kept = [each for each in rows if chosen.random() < 0.95]
    return [
        (each[0], *row(chosen, columns)[1:]) if chosen.random() < 0.15 else each for each in kept
    ]


def events(chosen, tables):
    return {name: [row(chosen, columns) for _ in range(12)] for name, columns in tables.items()}


def next_events(chosen, rows, tables):
    after = {name: [*each, row(chosen, tables[name])] for name, each in rows.items()}
    if chosen.random() < 0.5:
        after = {name: changed(chosen, each, tables[name]) for name, each in after.items()}
    return after


def tree_of(query, tables):
    return Case(query, {}, {}, tables).tree


def compared(name, query, tables, rows, after):
    comparison = Comparison()
    some = 0
    for seed in range(ROUNDS):
        chosen = Choice(f"{name}{seed}")
        chosen.query = query
        before = rows(chosen, tables)
        case = Case(query, before, after(chosen, before, tables), tables)
        assert obstacles(case.tree) == ()
        try:
            change = comparison.change(case)
        except ChangeNotSupported as refused:
            pytest.fail(f"{name}: {refused.reason}")
        problem = comparison.problem_of(case, change)
        assert not problem, f"{name}, round {seed}: {problem}"
        if not comparison.is_unknown(change):
            some += bool(comparison.run(query, "new")) if "window(" not in query else 1
    assert some


@pytest.mark.parametrize("name", TPCH)
def test_tpch(name):
    """With a LIMIT that cuts, and an order without equal rows."""
    tables = typed(TPCH_TABLES)
    query = TPCH[name].replace("sum(l_quantity)\nFROM", "sum(l_quantity) AS q\nFROM")
    places = ", ".join(str(place) for place, _ in enumerate(tree_of(query, tables).columns, 1))
    query = re.sub(r" LIMIT \d+$", f", {places} LIMIT 3", query)
    compared(name, query, tables, tpch_rows, refreshed)


@pytest.mark.parametrize("name", sorted(NEXMARK.keys() - {"q11"}))
def test_nexmark(name):
    """DuckDB has no session windows (q11)."""
    compared(name, NEXMARK[name], typed(NEXMARK_TABLES), events, next_events)


def test_no_query_has_an_obstacle():
    for ddl, queries in ((TPCH_TABLES, TPCH), (NEXMARK_TABLES, NEXMARK)):
        tables = typed(ddl)
        assert not [name for name, q in queries.items() if obstacles(tree_of(q, tables))]
