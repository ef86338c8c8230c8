"""Columns whose types differ between two schemas of Delta's log."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.spark_mt.spark.delta.schemas import changed_types, has_moved_columns


def field(name, type_="integer", *, nullable=True, **metadata):
    return {"name": name, "type": type_, "nullable": nullable, "metadata": metadata}


def schema(*fields):
    return json.dumps({"type": "struct", "fields": list(fields)})


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(element, *, contains_null=True):
    return {"type": "array", "elementType": element, "containsNull": contains_null}


def mapping(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def physical(name):
    return {"delta.columnMapping.physicalName": name}


SAME = [
    (field("a"), field("a", nullable=False)),
    (field("a"), field("A", comment="text")),
    (field("a", **{"delta.typeChanges": []}), field("a")),
    (field("a"), field("a", **physical("a"))),
    (field("a", array("integer")), field("a", array("integer", contains_null=False))),
    (field("a", struct(field("b"))), field("a", struct(field("b", nullable=False, comment="c")))),
]
CHAR = "__CHAR_VARCHAR_TYPE_STRING"
COLLATED = {"__COLLATIONS": {"a": "spark.UTF8_LCASE"}}
OTHER = [
    (field("a"), field("a", "long"), "a was INT and is BIGINT"),
    (field("a"), field("a", "decimal(10,2)"), "a was INT and is DECIMAL(10,2)"),
    (
        field("a", array("integer")),
        field("a", array("long")),
        "a was ARRAY<INT> and is ARRAY<BIGINT>",
    ),
    (
        field("a", mapping("string", "integer")),
        field("a", mapping("string", "long")),
        "a was MAP<STRING, INT> and is MAP<STRING, BIGINT>",
    ),
    (
        field("a", struct(field("b"), field("c", "string"))),
        field("a", struct(field("c", "string"), field("b"))),
        "a was STRUCT<b: INT, c: STRING> and is STRUCT<c: STRING, b: INT>",
    ),
    (
        field("a", struct(field("b", **physical("x")))),
        field("a", struct(field("b", **physical("y")))),
        "a or a field in it was renamed, or dropped and added again",
    ),
    (
        field("a", struct(field("b"))),
        field("a", struct(field("B"))),
        "a was STRUCT<b: INT> and is STRUCT<B: INT>",
    ),
    (
        field("a", "string", **{CHAR: "char(3)"}),
        field("a", "string", **{CHAR: "varchar(3)"}),
        "a was CHAR(3) and is VARCHAR(3)",
    ),
    (
        field("a", "string"),
        field("a", "string", **COLLATED),
        "a was STRING and is STRING COLLATE spark.UTF8_LCASE",
    ),
]


@pytest.mark.parametrize(("before", "now"), SAME)
def test_nullability_comments_and_case_do_not_count(before, now):
    assert changed_types(schema(before), schema(now), None) == ()


@pytest.mark.parametrize(("before", "now", "text"), OTHER)
def test_a_changed_type_is_described(before, now, text):
    one, other = schema(before, field("z")), schema(field("z"), now)
    assert changed_types(one, other, None) == (text,)
    assert changed_types(one, other, {"a"}) == (text,)
    assert changed_types(one, other, {"z"}) == ()


def test_a_column_that_came_or_went_counts_where_it_is_read():
    one, other = schema(field("a"), field("b")), schema(field("a"), field("c"))
    assert changed_types(one, other, None) == ("b is gone", "c is new")
    assert changed_types(one, other, {"a"}) == ()
    assert changed_types(one, other, {"a", "elsewhere"}) == ()


def test_columns_with_other_names_in_the_files():
    one = schema(field("a", **physical("x")), field("b", **physical("y")))
    other = schema(field("a", **physical("y")), field("b", **physical("y")))
    assert has_moved_columns(one, other, None)
    assert has_moved_columns(one, other, {"a"})
    assert not has_moved_columns(one, other, {"b"})
