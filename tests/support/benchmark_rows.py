"""Rows for the tables of TPC-H and Nexmark, with values that the conditions of queries name."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

Row = tuple[Any, ...]
Columns = Mapping[str, str]
"""The types of a table's columns by name."""

VALUES: Mapping[str, Sequence[object]] = {
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
    "url": ("https://a/b/c/d?x&channel_id=7", "https://a/b/c/d"),
    "price": (5, 20_000, 3_000_000),
    "auction": (1, 2, 123),
}
"""Values that the conditions of the queries distinguish."""
SIZES = {
    "lineitem": 40,
    "orders": 9,
    "partsupp": 8,
    "customer": 7,
    "region": 3,
    **dict.fromkeys(("part", "supplier", "nation"), 4),
}
"""Numbers of rows with which one query of TPC-H returns some."""


class Choice(random.Random):
    """Chooses rows, mostly with values that a query names.

    Attributes:
        query: The query.
        largest: The largest number in a column that VALUES does not name, where it is not 3.
        has_fractions: Whether times have fractions of a second, which hardly ever are equal.
    """

    query = ""
    has_fractions = False
    largest: Mapping[str, int] = {}

    def favours(self, value: object) -> bool:
        """Whether the query names a part of a value."""
        return any(word in self.query for word in (*str(value).split(), str(value)[:4]))


def value(chosen: Choice, column: str, type_: str) -> object:
    """Return a value for a column."""
    if column in VALUES:
        favoured = [each for each in VALUES[column] if chosen.favours(each)]
        return chosen.choice(favoured if favoured and chosen.random() < 0.6 else VALUES[column])
    if type_.startswith("DECIMAL"):
        return f"{chosen.choice((1, 10, 250))}.{chosen.choice(('00', '25'))}"
    if type_ == "TIMESTAMP":
        day = 2 if column == "expires" else 1
        second = f"2024-01-0{day} 10:00:{chosen.randrange(10, 40)}"
        return f"{second}.{chosen.randrange(10**6):06}" if chosen.has_fractions else second
    largest = chosen.largest.get(column, 3)
    return chosen.randint(1, largest) if type_ in {"BIGINT", "INT"} else chosen.choice("ab")


def row(chosen: Choice, columns: Columns) -> Row:
    """Return a row of a table."""
    return tuple(value(chosen, column, type_) for column, type_ in columns.items())


def numbered(rows: Sequence[Row], first: int = 1) -> list[Row]:
    """Return rows of a dimension, which has a key."""
    return [(number, *each[1:]) for number, each in enumerate(rows, first)]


def typed(tables: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the types of the columns of tables that are given as DDL."""
    return {
        name: dict(re.findall(r"(\w+) (\w+(?:\(\d+,\d+\))?)", ddl)) for name, ddl in tables.items()
    }


def tpch_rows(
    chosen: Choice, tables: Mapping[str, Columns], sizes: Mapping[str, int] = SIZES
) -> dict[str, list[Row]]:
    """Return rows for the tables of TPC-H, where lines belong to orders."""
    rows = {
        name: [row(chosen, columns) for _ in range(sizes[name])] for name, columns in tables.items()
    }
    for name in set(rows) - {"lineitem", "partsupp"}:
        rows[name] = numbered(rows[name])
    orders = len(rows["orders"])
    rows["lineitem"] = [(chosen.randint(1, orders), *each[1:]) for each in rows["lineitem"]]
    return rows


def new_order(chosen: Choice, number: int, tables: Mapping[str, Columns]) -> tuple[Row, list[Row]]:
    """Return an order of a number, and its four lines."""
    order = (number, *row(chosen, tables["orders"])[1:])
    return order, [(number, *row(chosen, tables["lineitem"])[1:]) for _ in range(4)]


def events(chosen: Choice, tables: Mapping[str, Columns], number: int = 12) -> dict[str, list[Row]]:
    """Return a number of rows for each of the tables of Nexmark."""
    return {name: [row(chosen, columns) for _ in range(number)] for name, columns in tables.items()}


def totally_ordered(query: str, width: int, limit: int | None = None) -> str:
    """Return a query of TPC-H whose LIMIT cuts an order without equal rows.

    Args:
        query: The query.
        width: How many columns it has.
        limit: The number of rows in place of its own.
    """
    places = ", ".join(str(place) for place in range(1, width + 1))
    return re.sub(r" LIMIT (\d+)$", lambda own: f", {places} LIMIT {limit or own[1]}", query)


def with_names(query: str) -> str:
    """Return a query of TPC-H whose columns all have names; that of q18's sum is left out there."""
    return query.replace("sum(l_quantity)\nFROM", "sum(l_quantity) AS q\nFROM")
