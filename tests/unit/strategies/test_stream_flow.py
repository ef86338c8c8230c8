"""Lists of a plan's operators, which are text for people."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.strategies.stream_flow import (
    Item,
    attribute_id,
    attribute_name,
    ids_in,
    items_of,
    lists_of,
    names,
)


@pytest.mark.parametrize(
    ("detail", "lists"),
    [
        ("[a#1], [a#1, count(1) AS n#2L]", (("a#1",), ("a#1", "count(1) AS n#2L"))),
        ("[count(1) AS n#2L]", (("count(1) AS n#2L",),)),
        ("c.s.t[id#1L,c#2] parquet", (("id#1L", "c#2"),)),
        ("[split(c#1, ,, -1) AS x#2]", (("split(c#1, ,, -1) AS x#2",),)),
        ("[[a#1, 0], [a#1, 1]], [a#2, g#3]", (("[a#1, 0]", "[a#1, 1]"), ("a#2", "g#3"))),
        ("Inner, (a#1 = b#2)", ()),
        ("", ()),
        ("[) AS t#1]", ()),
        ("[( AS t#1]", ()),
        ("[a#1", ()),
    ],
)
def test_lists_in_brackets(detail, lists):
    assert lists_of(detail) == lists


def test_items_are_passed_on_or_computed_columns():
    items = items_of(("a#1", "a#1-T10000ms AS b#2", "(a#1 + 1) AS c#3L", "x AS y AS z#4"))
    assert items == (
        Item("a#1", "a", 1),
        Item("a#1", "b", 2),
        Item("(a#1 + 1)", "c", 3),
        Item("x AS y", "z", 4),
    )
    assert [item.attribute for item in items] == [1, 1, 0, 0]


@pytest.mark.parametrize("texts", [("a",), ("a#1", "count(1)"), ("a#1 + b",)])
def test_an_item_that_is_unclear_makes_the_list_unclear(texts):
    assert items_of(texts) == ()


def test_fields_that_the_plan_left_out_are_not_known():
    items = items_of(("a#1", "... 2 more fields"))
    assert [item.id for item in items] == [1, 0, 0]
    assert names(items, ("a", "b", "c"))
    assert not names(items, ("b", "b", "c"))
    assert not names(items, ("a", "b"))


@pytest.mark.parametrize(
    ("expression", "found"),
    [("a b#12L", 12), ("a#1 AS b#2", 0), ("-a#1", 0), ("NOT a#1", 0), ("~a#1", 0), ("f(a#1)", 0)],
)
def test_only_an_attribute_itself_is_passed_on(expression, found):
    assert attribute_id(expression) == found
    assert bool(attribute_name(expression)) == bool(found)


def test_attributes_in_a_text():
    assert ids_in("((a#1L = b#22) AND between(ts#3-T10000ms, x#4, y))") == {1, 22, 3, 4}
