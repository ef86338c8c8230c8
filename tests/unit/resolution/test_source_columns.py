"""Columns of sources by name, and texts that read only some of them."""

import pytest

from dbt.adapters.spark_mt.definition.columns import FieldName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.source_columns import (
    UnboundColumnsError,
    bind,
    changed_columns,
    field_names,
    has_outer_star,
    has_star,
    hides_order,
    in_stored_order,
    merged,
    missing,
    selection,
    takes_all_columns,
)
from tests.unit.builders import columns, context, resolve, stored

NAMES = Names()
BOUND = "(SELECT `a`, `b` FROM orders)"
DELAYED = "STREAM orders WATERMARK t DELAY OF INTERVAL 1 HOUR"
ARRAY = "CASE WHEN _0 IS NOT NULL THEN named_struct('x', _0.`x`) END"


def names(ddl):
    return field_names(columns(ddl))


def selected(now, then, fold=NAMES):
    return selection(columns(now), names(then), fold)


@pytest.mark.parametrize(
    ("now", "then", "items"),
    [
        ("a INT; b INT", "a INT; b INT", None),
        ("A INT; b BIGINT", "a INT; B INT", None),
        ("b INT; a INT", "a INT; b INT", ("`a`", "`b`")),
        ("a INT; c INT; b INT", "a INT; b INT", ("`a`", "`b`")),
        ("b INT", "a INT; b INT", ("`b`",)),
        (
            "s STRUCT<y: INT, x: INT>",
            "s STRUCT<x: INT, y: INT>",
            ("CASE WHEN `s` IS NOT NULL THEN named_struct('x', `s`.`x`, 'y', `s`.`y`) END AS `s`",),
        ),
        (
            "l ARRAY<STRUCT<y: INT, x: INT>>",
            "l ARRAY<STRUCT<x: INT>>",
            (f"transform(`l`, _0 -> {ARRAY}) AS `l`",),
        ),
        ("m MAP<STRING, INT>", "m MAP<INT, INT>", None),
    ],
)
def test_what_is_selected_of_a_relation(now, then, items):
    assert selected(now, then) == items


def test_case_counts_where_the_session_is_case_sensitive():
    assert selected("A INT; a INT", "a INT; A INT", Names(case_sensitive=True)) == ("`a`", "`A`")


def test_a_type_that_lost_its_fields_cannot_be_selected():
    with pytest.raises(UnboundColumnsError):
        selected("s INT", "s STRUCT<x: INT>")


def test_old_columns_come_first_and_new_ones_last():
    found = merged(
        names("a INT; s STRUCT<x: INT>; z INT"),
        names("n INT; s STRUCT<y: INT, x: INT>; a INT"),
        NAMES,
    )
    assert found == (
        FieldName("a"),
        FieldName("s", (FieldName("x"), FieldName("y"))),
        FieldName("n"),
    )


def test_a_missing_file_is_named_with_its_path():
    then, now = names("a INT; s STRUCT<x: INT, y: INT>"), names("s STRUCT<y: INT>; c INT")
    assert [*missing(then, now, NAMES)] == ["`a`", "`s`.`x`"]
    (text,) = changed_columns("c.s.t", then, now, NAMES)
    assert text == "c.s.t no longer has `a`, `s`.`x` and has new columns: `c`"
    assert [*changed_columns("t", then, then, NAMES)] == []


ORDERS = "spark_catalog.sales.orders"


@pytest.mark.parametrize(
    ("query", "bound"),
    [
        ("SELECT * FROM orders", "SELECT * FROM (SELECT `a`, `b` FROM orders) AS `orders`"),
        ("SELECT o.* FROM orders AS o", "SELECT o.* FROM (SELECT `a`, `b` FROM orders) AS o"),
        (
            "SELECT sales.orders.a, orders.* FROM sales.orders",
            "SELECT orders.a, orders.* FROM (SELECT `a`, `b` FROM sales.orders) AS `orders`",
        ),
        (
            f"SELECT * FROM {DELAYED}",
            f"SELECT * FROM (SELECT `a`, `b` FROM {DELAYED}) AS `orders`",
        ),
        (
            "SELECT * FROM STREAM(orders) AS o",
            "SELECT * FROM (SELECT `a`, `b` FROM STREAM(orders)) AS o",
        ),
        (
            "SELECT * FROM orders TABLESAMPLE (5 PERCENT) AS o",
            "SELECT * FROM (SELECT `a`, `b` FROM orders) TABLESAMPLE (5 PERCENT) AS o",
        ),
        ("SELECT * FROM orders VERSION AS OF 3", "SELECT * FROM orders VERSION AS OF 3"),
        (
            "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders -- end",
            f"WITH orders AS (SELECT * FROM {BOUND} AS `orders`) SELECT * FROM orders -- end",
        ),
    ],
)
def test_a_relation_becomes_a_subquery(query, bound):
    assert bind(query, context(), {ORDERS: ("`a`", "`b`")}) == bound


@pytest.mark.parametrize("query", ["TABLE orders", "SELECT * FROM other"])
def test_what_is_not_in_the_text_cannot_be_bound(query):
    with pytest.raises(UnboundColumnsError):
        bind(query, context(), {ORDERS: ("`a`",)})
    assert bind(query, context(), {}) == query


@pytest.mark.parametrize(
    ("query", "star", "outer", "whole", "hides"),
    [
        ("SELECT a FROM t", False, False, False, False),
        ("SELECT count(*) FROM t", False, False, False, False),
        ("SELECT * FROM t", True, True, False, False),
        ("SELECT t.*, 1 AS x FROM t", True, True, False, False),
        ("WITH q AS (SELECT * FROM t) SELECT a FROM q", True, False, False, True),
        ("SELECT * FROM t UNION ALL SELECT a, b FROM u", True, True, True, True),
        ("SELECT a FROM t UNION ALL SELECT b FROM u", False, False, False, False),
        ("SELECT DISTINCT * FROM t", True, True, True, True),
        ("SELECT a FROM t NATURAL JOIN u", False, False, True, True),
        ("SELECT x FROM t AS q (x, y)", False, False, True, True),
        ("SELECT x FROM (SELECT * FROM t) AS q (x, y)", True, False, True, True),
        ("WITH q (x) AS (SELECT a FROM t) SELECT x FROM q", False, False, False, False),
        ("SELECT to_json(struct(*)) AS j FROM t", True, False, True, True),
        ("SELECT e FROM t LATERAL VIEW explode(l) v AS e", False, False, False, False),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))", True, True, True, True),
        ("SELECT a FROM t WHERE EXISTS (SELECT * FROM u)", True, False, False, True),
        ("TABLE t", True, False, True, True),
    ],
)
def test_what_a_text_takes_without_naming_it(query, star, outer, whole, hides):
    found = (has_star(query), has_outer_star(query), takes_all_columns(query), hides_order(query))
    assert found == (star, outer, whole, hides)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("id INT; x INT; b INT", "id x b"),
        ("b INT; id INT; x INT", "id x b"),
        ("id INT; b INT; a INT; c INT", "id a b c"),
        ("x INT; y INT; z INT", "x y z"),
        ("c INT; id INT; x INT; b INT", "id c b x"),
        ("b INT; id INT", "id b"),
    ],
)
def test_a_column_in_the_place_of_one_that_is_gone_is_at_its_place(now, expected):
    declared = DeclaredDefinition("SELECT * FROM renamed")
    before = stored(resolve(declared, "id INT; a INT; b INT"))
    found = in_stored_order(columns(now), declared, before, context())
    assert [column.name for column in found] == expected.split()
