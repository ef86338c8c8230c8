"""Texts of checkouts before release 0.1: they are read, and written again as 0.1 writes them.

`golden_before_0_1/` has the kinds of texts whose keys 0.1 renamed. All others are those of 0.1.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.definition.codec import decode_definition, encode_definition
from dbt.adapters.spark_mt.definition.errors import UnreadableDefinitionError
from dbt.adapters.spark_mt.execution.repair import known_table
from dbt.adapters.spark_mt.spark.registry.registry import entry_of, known_of
from tests.unit.formats import samples, test_golden
from tests.unit.formats.texts import pack, unpack, with_more

BEFORE = Path(__file__).parent / "golden_before_0_1"
CATALOG = "spark_catalog"


def before(kind):
    return json.loads((BEFORE / f"{kind}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", before("definitions"))
def test_a_definition_is_read_and_written_with_the_keys_of_0_1(name):
    found = decode_definition(before("definitions")[name]["text"], "t")
    assert found == samples.DEFINITIONS[name]
    assert found.unknown_keys == {}
    document = unpack(encode_definition(found))
    assert document == test_golden.golden("definitions")[name]["document"]


@pytest.mark.parametrize("name", before("properties"))
def test_the_properties_hold_the_definition(name):
    text = before("properties")[name]["materialized-table.definition"]
    assert decode_definition(text, "t") == samples.DEFINITIONS[name]


def test_unknown_keys_are_kept_below_the_renamed_one():
    document = with_more(before("definitions")["everything"]["document"])
    found = decode_definition(pack(document), "t")
    assert found == samples.DEFINITIONS["everything"]
    resolved = unpack(encode_definition(found))["definition"]["resolved"]
    assert resolved["declared"] == document["definition"]["resolved"]["asked"]
    assert "asked" not in resolved


def test_of_both_names_of_a_key_that_of_0_1_counts():
    document = before("definitions")["simple"]["document"]
    resolved = document["definition"]["resolved"]
    resolved["declared"] = {**resolved["asked"], "query": "SELECT 1"}
    found = decode_definition(pack(document), "t")
    assert (found.declared.query, found.unknown_keys) == ("SELECT 1", {})


@pytest.mark.parametrize("resolved", [None, [], "asked", {"asked": None}, {"asked": {}}])
def test_a_damaged_text_is_refused_as_ever(resolved):
    document = before("definitions")["simple"]["document"]
    document["definition"]["resolved"] = resolved
    with pytest.raises(UnreadableDefinitionError) as error:
        decode_definition(pack(document), "t")
    assert error.value.parameters["problem"] == "the text is damaged"


@pytest.mark.parametrize("name", before("tables"))
def test_a_row_of_a_table_is_read(name):
    """It has a column more, which was NULL in every row."""
    row = {**test_golden.row("tables", name), **before("tables")[name]}
    assert row["lag_seconds"] is None
    found = known_of(row, CATALOG)
    assert found == known_table(samples.REGISTERED[name], samples.RECORDED_AT_MS)
    assert entry_of(row, CATALOG) == entry_of(test_golden.row("tables", name), CATALOG)
