"""Properties, comments and column mapping that follow from a definition."""

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.columns import ColumnSpec
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.planning.properties import (
    DEFINITION,
    PREFIX,
    changed_comments,
    location_of,
    missing_properties,
    needs_mapped_names,
    obsolete_properties,
    properties_of,
)
from dbt.adapters.spark_mt.planning.steps import Publish
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from tests.unit.builders import QUERY, resolve, stored

(COLUMN_MAPPING,) = FORMAT.name_mapping


def definition(ddl="a INT; b INT", **clauses):
    return stored(resolve(DeclaredDefinition(QUERY, **clauses), ddl))


def commented(a=None, b=None):
    return definition(
        columns=(ColumnSpec("a", "INT", comment=a), ColumnSpec("b", "INT", comment=b))
    )


@pytest.mark.parametrize("char", " ,;{}()\n\t=")
def test_names_that_files_refuse_are_mapped(char):
    resolved = definition().resolved
    assert not needs_mapped_names(resolved)
    column = resolved.columns[0]
    strange = type(column)(f"x{char}y", column.type)
    mapped = type(resolved)(
        **{name: getattr(resolved, name) for name in resolved.__dataclass_fields__}
        | {"columns": (strange,)}
    )
    assert needs_mapped_names(mapped)
    assert properties_of(replace(definition(), resolved=mapped), FORMAT)[COLUMN_MAPPING] == "name"
    assert COLUMN_MAPPING not in properties_of(definition(), FORMAT)


def test_properties_have_the_definition_a_readable_copy_and_the_options():
    found = definition(options=(("delta.appendOnly", "false"), ("location", "/x"), ("k", "v")))
    properties = properties_of(found, FORMAT)
    assert decode_definition(properties[DEFINITION], "t") == found
    assert properties[PREFIX + "freshness"] == "INTERVAL '3' MINUTE"
    assert (properties["k"], properties["delta.appendOnly"]) == ("v", "false")
    assert "location" not in properties
    assert location_of(found) == "/x"
    assert location_of(definition()) is None


def test_an_option_that_the_user_set_wins_over_the_mapping():
    found = definition("a=b INT", options=((COLUMN_MAPPING, "id"),))
    assert properties_of(found, FORMAT)[COLUMN_MAPPING] == "id"


def test_only_what_is_missing_is_set():
    found = definition()
    step = Publish(found, None)
    everything = missing_properties(step, {}, "delta-1", FORMAT)
    assert everything == {**properties_of(found, FORMAT), FORMAT.identity_property: "delta-1"}
    assert missing_properties(step, everything, "delta-1", FORMAT) == {}
    assert missing_properties(step, everything, "delta-2", FORMAT) == {
        FORMAT.identity_property: "delta-2"
    }


def test_options_that_are_no_longer_asked_for_are_removed_where_they_are():
    before = definition(options=(("a", "1"), ("b", "2"), ("c", "3")))
    step = Publish(definition(options=(("b", "2"),)), before)
    assert obsolete_properties(step, {"a": "1", "b": "2", "others": "x"}, FORMAT) == ["a"]
    assert obsolete_properties(Publish(before, None), {"a": "1"}, FORMAT) == []


def test_comments_that_changed():
    step = Publish(commented("new", None), commented("old", "gone"))
    assert changed_comments(step) == {"a": "new", "b": ""}
    assert changed_comments(Publish(commented("x"), commented("x"))) == {}


def test_all_comments_are_written_where_the_table_has_none():
    assert changed_comments(Publish(commented("x"), None)) == {"a": "x"}
    kept = Publish(commented("x"), commented("x"), schema_replaced=True)
    assert changed_comments(kept) == {"a": "x"}


def test_comments_are_removed_where_it_is_unknown_whether_they_exist():
    unsure = Publish(commented("x"), commented("x", "gone"), schema_replaced=True)
    assert changed_comments(unsure) == {"a": "x", "b": ""}
