from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.alterations import with_added_query
from dbt.adapters.spark_mt.definition.columns import ColumnSpec, PrimaryKey
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.query.syntax import parse
from tests.unit.builders import analyzed, conditions_of, context, resolve, stored

KEY = (PrimaryKey(("id", "Day")),)
FIRST = DeclaredDefinition("SELECT id, day, a FROM x -- all of it", constraints=KEY)
COLUMNS = "id INT; day STRING; a INT"
SECOND = "SELECT day, id, b FROM y"


def merged(first=FIRST, second=SECOND, ddl="day STRING; id INT; b BIGINT", **facts):
    before = stored(resolve(first, COLUMNS))
    return with_added_query(before, analyzed(second, ddl, **facts))


def test_both_queries_are_joined_on_the_key():
    declared = merged()
    assert declared.query == (
        "SELECT coalesce(existing.`id`, added.`id`) AS `id`, "
        "coalesce(existing.`day`, added.`day`) AS `day`, existing.`a`, added.`b`\n"
        "FROM (\nSELECT id, day, a FROM x -- all of it\n) AS existing(`id`, `day`, `a`)\n"
        "FULL OUTER JOIN (\nSELECT day, id, b FROM y\n) AS added\n"
        "ON existing.`id` <=> added.`id` AND existing.`day` <=> added.`day`"
    )
    assert parse(declared.query) is not None
    assert replace(declared, query=FIRST.query) == FIRST


def test_a_list_of_names_gets_the_new_ones():
    names = tuple(ColumnSpec(name) for name in ("key", "date", "value"))
    first = replace(FIRST, columns=names, constraints=(PrimaryKey(("key", "date")),))
    declared = merged(first, "SELECT key, date, b FROM y", "key INT; date STRING; b BIGINT")
    assert declared.columns == (*names, ColumnSpec("b"))
    assert ") AS existing(`key`, `date`, `value`)" in declared.query


def test_a_typed_list_gets_the_new_columns_with_their_types():
    specs = (
        ColumnSpec("a", "INT"),
        ColumnSpec("id", "INT", not_null=True),
        ColumnSpec("day", "STRING"),
    )
    declared = merged(replace(FIRST, columns=specs))
    assert declared.columns == (*specs, ColumnSpec("b", "BIGINT"))
    assert ") AS existing(`id`, `day`, `a`)" in declared.query


def test_names_that_the_queries_use_are_left_to_them():
    declared = merged(replace(FIRST, query="SELECT id, day, a FROM existing"))
    assert ") AS existing_(`id`" in declared.query


def test_the_first_query_has_full_names_in_another_schema():
    declared = merged(context=replace(context(), schema="other"))
    assert "FROM (\nSELECT id, day, a FROM x -- all of it /*+ full */\n)" in declared.query


@pytest.mark.parametrize(
    ("first", "ddl", "wrong"),
    [
        (replace(FIRST, constraints=()), "id INT; b INT", ["MATERIALIZED_TABLE_ADD_WITHOUT_KEY"]),
        (FIRST, "id INT; day STRING", ["MATERIALIZED_TABLE_NOTHING_ADDED"]),
        (
            FIRST,
            "ID INT; A INT; b INT",
            ["MATERIALIZED_TABLE_ADDED_KEY_MISSING", "MATERIALIZED_TABLE_ADDED_COLUMN_EXISTS"],
        ),
    ],
)
def test_every_mismatch_is_reported(first, ddl, wrong):
    with pytest.raises(MaterializedTableError) as error:
        merged(first, ddl=ddl)
    assert conditions_of(error.value) == wrong
