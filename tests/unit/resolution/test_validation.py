from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import ColumnSpec
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.table_format import Capability
from dbt.adapters.spark_mt.resolution.validation import (
    check_capabilities,
    check_replacement,
    result_problems,
)
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from tests.support.errors import raises
from tests.unit.builders import columns, resolve


def problems(result, *specs, ddl="a INT; b DECIMAL(10,2)"):
    definition = resolve(DeclaredDefinition("SELECT 1", columns=specs), ddl)
    return result_problems(definition, columns(result))


@pytest.mark.parametrize(
    "result",
    [
        "a INT; b DECIMAL(10,2)",
        "a SMALLINT; b DECIMAL(5,1)",
        "b DECIMAL(10,2); a INT",
        "c STRING; A INT; b DECIMAL(10, 2)",
        "a VOID; b TINYINT",
    ],
)
def test_results_that_fit(result):
    assert problems(result) == ()


@pytest.mark.parametrize(
    ("result", "count", "named"),
    [
        ("a INT", 2, "`b`"),
        ("x INT; y DECIMAL(10,2)", 3, "`a`"),
        ("a INT; b DECIMAL(10,2); B STRING", 2, "`b`"),
        ("a BIGINT; b DECIMAL(10,2)", 1, "`a` INT"),
        ("a INT; b INT", 1, "`b` DECIMAL(10,2)"),
        ("a STRING; b DECIMAL(12,4)", 2, "`a` INT"),
    ],
)
def test_results_that_do_not_fit(result, count, named):
    found = problems(result)
    assert len(found) == count
    assert named in found[0]


def test_a_typed_list_goes_by_name_of_the_query_and_by_its_own_types():
    specs = (ColumnSpec("b", "DECIMAL(20,2)"), ColumnSpec("a", "BIGINT"))
    assert problems("a BIGINT; b DECIMAL(12,2)", *specs) == ()
    (problem,) = problems("a INT; b STRING", *specs)
    assert problem.startswith("`b` DECIMAL(20,2): the query returns STRING")


def test_a_query_that_gives_one_name_twice_goes_by_the_order_of_its_names():
    specs = (ColumnSpec("x"), ColumnSpec("y"))
    assert problems("a INT; a INT", *specs, ddl="a INT; a INT") == ()
    (problem,) = problems("a INT; b INT", *specs, ddl="a INT; a INT")
    assert "`b`" in problem


PLAIN = replace(
    FORMAT,
    title="Plain",
    capabilities=frozenset({Capability.MATERIALIZED_TABLE, Capability.NOT_NULL}),
)


def lacks(definition, there=(), table_format=PLAIN):
    found = check_capabilities("t", definition, there, table_format)
    return [error.parameters["feature"] for error in found]


def test_a_format_refuses_the_features_that_it_lacks():
    specs = (ColumnSpec("a", "INT", not_null=True), ColumnSpec("b", "DECIMAL(10,2)"))
    declared = DeclaredDefinition("SELECT 1", columns=specs, clustered_by=("a", "b"))
    definition = resolve(declared, "a INT; b DECIMAL(10,2)")
    assert lacks(definition) == ["CLUSTER BY"]
    later = "NOT NULL on a column that allows NULL so far (`a`)"
    assert lacks(definition, columns("a INT; b STRING")) == ["CLUSTER BY", later]
    assert lacks(definition, definition.columns) == ["CLUSTER BY"]
    assert lacks(definition, columns("a INT; b STRING"), FORMAT) == []


def test_each_capability_is_refused_where_it_lacks():
    specs = (ColumnSpec("a", "INT", not_null=True), ColumnSpec("b", "DECIMAL(10,2)"))
    options = (("strict-fence", "true"),)
    declared = DeclaredDefinition("SELECT 1", columns=specs, clustered_by=("b",), options=options)
    definition = resolve(declared, "a INT; b DECIMAL(10,2)")
    for capability in Capability:
        lacking = replace(PLAIN, capabilities=frozenset(Capability) - {capability})
        there = "b STRING" if capability is Capability.NOT_NULL else "a INT; b STRING"
        if capability is Capability.REPLACEMENT:
            was = resolve(DeclaredDefinition("SELECT 1"), "a INT; b STRING")
            with raises(conditions.FORMAT_FEATURE):
                check_replacement("t", was, definition, lacking)
            check_replacement("t", was, definition, FORMAT)
            continue
        (feature,) = lacks(definition, columns(there), lacking)
        assert feature.startswith(capability.value)


def test_a_type_that_the_format_cannot_store_is_refused_by_column():
    ddl = "a SMALLINT; b STRUCT<smallint: ARRAY<TINYINT>>; c STRUCT<smallint: INT>"
    definition = resolve(DeclaredDefinition("SELECT 1"), ddl)
    assert lacks(definition) == []
    no_small = replace(PLAIN, types={"SMALLINT": "INT", "TINYINT": "INT"})
    assert lacks(definition, table_format=no_small) == [
        "the type SMALLINT (column `a`)",
        "the type TINYINT (column `b`)",
    ]


def test_a_property_by_which_a_table_has_no_versions_is_refused():
    declared = DeclaredDefinition("SELECT 1", options=(("format-version", "1"), ("note", "1")))
    definition = resolve(declared, "a INT")
    unversioned = replace(PLAIN, unversioned={"format-version": "1"})
    assert lacks(definition) == []
    assert lacks(definition, table_format=unversioned) == [
        "versions with the property format-version = 1"
    ]
