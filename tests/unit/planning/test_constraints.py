"""Constraints as SQL around a query."""

import sqlglot

from dbt.adapters.spark_mt.definition.columns import Check, Column, ColumnSpec, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.planning.constraints import guarded, violations_query
from tests.unit.builders import resolve

CONTENT = "SELECT `user_id`, `product_id`, `price` FROM o -- rows"


def definition(*constraints, columns=()):
    return resolve(DeclaredDefinition("SELECT 1 FROM orders", columns, constraints))


def test_a_table_without_constraints_is_computed_as_it_is():
    assert guarded(CONTENT, definition()) == CONTENT
    assert violations_query(CONTENT, definition()) is None


def test_each_constraint_has_its_own_violation():
    strict = (
        ColumnSpec("user_id", "INT", not_null=True),
        ColumnSpec("product_id", "INT"),
        ColumnSpec("price", "DECIMAL(10,2)"),
    )
    found = definition(
        PrimaryKey(("user_id",)), Check("price > 0"), Check("price < 9"), columns=strict
    )
    query = violations_query(CONTENT, found)
    assert query.count("LIMIT ") == 5
    assert query.count(CONTENT) == 1
    tree = sqlglot.parse_one(query, read="spark")
    assert len(list(tree.find_all(sqlglot.exp.Union))) == 4


def test_guarded_content_has_the_tables_columns_only():
    query = guarded(CONTENT, definition(PrimaryKey(("user_id",))))
    tree = sqlglot.parse_one(query, read="spark")
    assert tree.named_selects == ["user_id", "product_id", "price"]
    assert "raise_error" in query
    assert "PARTITION BY `user_id`" in query


def test_a_check_holds_where_it_is_unknown():
    assert "NOT coalesce((price > 0), true)" in guarded(CONTENT, definition(Check("price > 0")))


def test_names_and_texts_are_quoted():
    resolved = resolve(
        DeclaredDefinition("SELECT 1 FROM orders", (), (PrimaryKey(("a`b",)), Check("x = 'it'"))),
        "a`b INT; x STRING",
    )
    assert resolved.columns[0] == Column("a`b", "INT")
    query = violations_query("SELECT 1", resolved)
    assert "`a``b` IS NULL" in query
    assert r"check (x = \'it\') fails" in query
