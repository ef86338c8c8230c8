"""Properties, comments and column mapping that follow from a definition."""

import pytest

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import ColumnSpec
from dbt.adapters.spark_mt.definition.definition import AskedDefinition
from dbt.adapters.spark_mt.planning.properties import (
    DEFINITION,
    DELTA_ID,
    PREFIX,
    location_of,
    properties_of,
)
from dbt.adapters.spark_mt.planning.publication import (
    changed_comments,
    missing_properties,
    obsolete_properties,
)
from dbt.adapters.spark_mt.planning.steps import Publish
from dbt.adapters.spark_mt.planning.storage import COLUMN_MAPPING, mapping_properties
from tests.unit.builders import QUERY, resolve, stored


def definition(ddl="a INT; b INT", **clauses):
    return stored(resolve(AskedDefinition(QUERY, **clauses), ddl))


def commented(a=None, b=None):
    return definition(
        columns=(ColumnSpec("a", "INT", comment=a), ColumnSpec("b", "INT", comment=b))
    )


@pytest.mark.parametrize("char", " ,;{}()\n\t=")
def test_names_that_delta_refuses_are_mapped(char):
    resolved = definition().resolved
    assert mapping_properties(resolved) == {}
    column = resolved.columns[0]
    strange = type(column)(f"x{char}y", column.type)
    mapped = type(resolved)(
        **{name: getattr(resolved, name) for name in resolved.__dataclass_fields__}
        | {"columns": (strange,)}
    )
    assert mapping_properties(mapped) == {COLUMN_MAPPING: "name"}


def test_properties_hold_the_definition_a_copy_for_people_and_the_options():
    found = definition(options=(("delta.appendOnly", "false"), ("location", "/x"), ("k", "v")))
    properties = properties_of(found)
    assert decode_definition(properties[DEFINITION], "t") == found
    assert properties[PREFIX + "freshness"] == "INTERVAL '3' MINUTE"
    assert (properties["k"], properties["delta.appendOnly"]) == ("v", "false")
    assert "location" not in properties
    assert location_of(found) == "/x"
    assert location_of(definition()) is None


def test_an_option_that_the_user_set_wins_over_the_mapping():
    found = definition("a=b INT", options=((COLUMN_MAPPING, "id"),))
    assert properties_of(found)[COLUMN_MAPPING] == "id"


def test_only_what_is_missing_is_set():
    found = definition()
    step = Publish(found, None)
    everything = missing_properties(step, {}, "delta-1")
    assert everything == {**properties_of(found), DELTA_ID: "delta-1"}
    assert missing_properties(step, everything, "delta-1") == {}
    assert missing_properties(step, everything, "delta-2") == {DELTA_ID: "delta-2"}


def test_options_that_are_no_longer_asked_for_are_removed_where_they_are():
    before = definition(options=(("a", "1"), ("b", "2"), ("c", "3")))
    step = Publish(definition(options=(("b", "2"),)), before)
    assert obsolete_properties(step, {"a": "1", "b": "2", "others": "x"}) == ["a"]
    assert obsolete_properties(Publish(before, None), {"a": "1"}) == []


def test_comments_that_changed():
    step = Publish(commented("new", None), commented("old", "gone"))
    assert changed_comments(step) == {"a": "new", "b": ""}
    assert changed_comments(Publish(commented("x"), commented("x"))) == {}


def test_all_comments_are_written_where_the_table_has_none():
    assert changed_comments(Publish(commented("x"), None)) == {"a": "x"}
    kept = Publish(commented("x"), commented("x"), schema_replaced=True)
    assert changed_comments(kept) == {"a": "x"}


def test_comments_are_removed_where_nobody_knows_whether_they_are_there():
    unsure = Publish(commented("x"), commented("x", "gone"), schema_replaced=True)
    assert changed_comments(unsure) == {"a": "x", "b": ""}
