import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.errors import InvalidTypeError
from dbt.adapters.spark_mt.query.types import (
    DataType,
    StructField,
    canonical_type,
    castable_ddl,
    casts_losslessly,
    parse_type,
    widens,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("int", "INT"),
        ("Integer", "INT"),
        ("long", "BIGINT"),
        ("real", "FLOAT"),
        ("double precision", "DOUBLE"),
        ("decimal", "DECIMAL(10,0)"),
        ("numeric(5)", "DECIMAL(5,0)"),
        ("decimal( 10 , 2 )", "DECIMAL(10,2)"),
        ("character(3)", "CHAR(3)"),
        ("timestamp_ltz", "TIMESTAMP"),
        ("timestamp_ntz", "TIMESTAMP_NTZ"),
        ("time", "TIME(6)"),
        ("string collate utf8_lcase", "STRING COLLATE UTF8_LCASE"),
        ("interval day to second", "INTERVAL DAY TO SECOND"),
        ("array < int >", "ARRAY<INT>"),
        ("map<string,array<bigint>>", "MAP<STRING, ARRAY<BIGINT>>"),
        ("struct<a:int,`b c` string>", "STRUCT<a: INT, `b c`: STRING>"),
        ("struct<`a``b`: int not null comment 'x'>", "STRUCT<`a``b`: INT NOT NULL COMMENT 'x'>"),
        ("struct<>", "STRUCT<>"),
        ("geometry(4326)", "GEOMETRY(4326)"),
    ],
)
def test_each_type_has_one_spelling(text, canonical):
    assert canonical_type(text) == canonical
    assert canonical_type(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "decimal(",
        "decimal(a)",
        "int int",
        "array",
        "array<int, int>",
        "map<int>",
        "struct<int>",
        "5 %",
        "struct<a: int not>",
    ],
)
def test_an_invalid_type_is_refused(text):
    with pytest.raises(InvalidTypeError) as caught:
        canonical_type(text)
    assert caught.value.parameters == {"type": text}


def test_a_bare_timestamp_means_what_the_session_says():
    assert parse_type("array<timestamp>", timestamp="TIMESTAMP_NTZ").ddl == "ARRAY<TIMESTAMP_NTZ>"
    assert parse_type("timestamp_ltz", timestamp="TIMESTAMP_NTZ").ddl == "TIMESTAMP"


def test_a_cast_does_not_depend_on_the_session():
    data_type = parse_type("struct<a: timestamp not null, b: array<varchar(3)>>")
    assert castable_ddl(data_type) == "STRUCT<a: TIMESTAMP_LTZ, b: ARRAY<STRING>>"


leaves = st.one_of(
    st.sampled_from(["INT", "STRING", "TIMESTAMP", "BINARY", "VARIANT"]).map(DataType),
    st.tuples(st.integers(1, 38), st.integers(0, 10)).map(lambda p: DataType("DECIMAL", p)),
)
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda e: DataType("ARRAY", elements=(e,))),
        st.tuples(inner, inner).map(lambda e: DataType("MAP", elements=e)),
        st.lists(st.builds(StructField, st.text(min_size=1), inner), max_size=3).map(
            lambda fields: DataType("STRUCT", fields=tuple(fields))
        ),
    ),
    max_leaves=6,
)


@given(types)
def test_the_canonical_spelling_of_any_type_is_read_back(data_type):
    assert parse_type(data_type.ddl) == data_type
    assert widens(data_type, data_type)
    assert casts_losslessly(data_type, data_type)


@pytest.mark.parametrize(
    ("old", "new", "in_place", "by_list"),
    [
        ("INT", "BIGINT", True, True),
        ("TINYINT", "INT", True, True),
        ("BIGINT", "INT", False, False),
        ("FLOAT", "DOUBLE", True, True),
        ("DOUBLE", "FLOAT", False, False),
        ("DECIMAL(10,2)", "DECIMAL(12,2)", True, True),
        ("DECIMAL(10,2)", "DECIMAL(12,4)", True, True),
        ("DECIMAL(10,2)", "DECIMAL(12,5)", False, False),
        ("DECIMAL(10,2)", "DECIMAL(10,1)", False, False),
        ("INT", "DECIMAL(10,0)", False, True),
        ("INT", "DECIMAL(10,2)", False, False),
        ("BIGINT", "DECIMAL(19,0)", False, True),
        ("INT", "DOUBLE", False, True),
        ("BIGINT", "DOUBLE", False, False),
        ("SMALLINT", "FLOAT", False, True),
        ("INT", "FLOAT", False, False),
        ("INT", "STRING", False, False),
        ("VARCHAR(3)", "STRING", False, True),
        ("CHAR(3)", "VARCHAR(5)", False, True),
        ("VARCHAR(5)", "VARCHAR(3)", False, False),
        ("STRING", "VARCHAR(5)", False, False),
        ("STRING", "CHAR(5)", False, False),
        ("DATE", "TIMESTAMP", False, True),
        ("DATE", "TIMESTAMP_NTZ", False, True),
        ("TIMESTAMP", "DATE", False, False),
        ("TIMESTAMP", "TIMESTAMP_NTZ", False, False),
        ("VOID", "STRUCT<a: INT>", False, True),
        ("ARRAY<INT>", "ARRAY<BIGINT>", True, True),
        ("ARRAY<INT>", "MAP<INT, INT>", False, False),
        ("MAP<STRING, INT>", "MAP<STRING, DOUBLE>", False, True),
        ("STRUCT<a: INT>", "STRUCT<A: BIGINT>", True, True),
        ("STRUCT<a: INT>", "STRUCT<b: INT>", False, False),
        ("STRUCT<a: INT>", "STRUCT<a: INT, b: INT>", False, False),
        ("STRUCT<a: INT>", "STRUCT<a: INT NOT NULL>", False, False),
        ("STRUCT<a: INT NOT NULL>", "STRUCT<a: INT>", True, True),
    ],
)
def test_which_types_hold_which_others(old, new, in_place, by_list):
    assert widens(parse_type(old), parse_type(new)) is in_place
    assert casts_losslessly(parse_type(old), parse_type(new)) is by_list
