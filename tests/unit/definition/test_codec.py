"""A definition survives its text; a text that holds none says so."""

import json
import random
import zlib
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.codec import (
    FORMAT_VERSION,
    decode_definition,
    encode_definition,
)
from dbt.adapters.spark_mt.definition.columns import Column, FieldName, QueryContext, SourceColumns
from dbt.adapters.spark_mt.definition.definition import (
    DeclaredDefinition,
    ResolvedDefinition,
    StoredDefinition,
)
from dbt.adapters.spark_mt.definition.errors import UnreadableDefinitionError
from dbt.adapters.spark_mt.definition.modes import RefreshMode, RefreshStatus, ResolvedStartMode
from dbt.adapters.spark_mt.definition.positions import (
    BEFORE_ALL,
    Baseline,
    OffsetPosition,
    VersionedPosition,
)
from tests.unit.builders import resolve, stored
from tests.unit.statements import strategies as s

pairs = st.lists(st.tuples(s.texts, s.texts), max_size=3).map(tuple)
columns = st.builds(Column, s.names, s.types, st.booleans(), st.none() | s.texts)
fields = st.recursive(
    st.builds(FieldName, s.names),
    lambda inner: st.builds(FieldName, s.names, st.lists(inner, max_size=2).map(tuple)),
    max_leaves=3,
)
sources = st.builds(SourceColumns, s.names, st.lists(fields, max_size=3).map(tuple))
resolved_definitions = st.builds(
    ResolvedDefinition,
    declared=s.declared_definitions(),
    columns=st.lists(columns, max_size=4).map(tuple),
    expanded_query=s.queries,
    context=st.builds(QueryContext, s.names, s.names, pairs),
    freshness=s.freshness,
    refresh_mode=st.sampled_from(RefreshMode),
    start_mode=st.builds(ResolvedStartMode, s.start_modes, st.none() | st.integers()),
    state_retention=s.state_retentions,
    derived_from=pairs,
    query_columns=st.lists(s.names, max_size=4).map(tuple),
    source_columns=st.lists(sources, max_size=2).map(tuple),
)
stored_definitions = st.builds(
    StoredDefinition,
    table_id=s.texts,
    name=s.table_names,
    generation=st.integers(0),
    resolved=resolved_definitions,
    status=st.sampled_from(RefreshStatus),
    status_reason=s.texts,
    handler=st.binary(max_size=20),
    owner=pairs,
)
SIMPLE = stored(resolve(DeclaredDefinition("SELECT 1 AS a FROM orders"), "a INT"))


def packed(document) -> str:
    """A document as the codec packs it."""
    return zlib.compress(json.dumps(document).encode()).hex()


def unpacked(text):
    """The document in a text."""
    return json.loads(zlib.decompress(bytes.fromhex(text)))


@given(stored_definitions)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_definition_comes_back_as_it_was(definition):
    decoded = decode_definition(encode_definition(definition), "t")
    assert decoded == definition
    assert hash(decoded) == hash(definition)


def test_the_text_has_nothing_that_spark_redacts_or_substitutes():
    query = "SELECT 'token=${secret}' AS url FROM orders -- password"
    text = encode_definition(stored(resolve(DeclaredDefinition(query), "url STRING")))
    assert set(text) <= set("0123456789abcdef")


def test_a_query_of_60_kb():
    chooser = random.Random(7)  # noqa: S311 - test data
    words = " ".join(f"'{chooser.getrandbits(64):x}'," for _ in range(3200))
    query = f"SELECT {words} 1 AS a FROM orders"
    assert len(query) > 60_000
    definition = stored(resolve(DeclaredDefinition(query), "a INT"))
    assert decode_definition(encode_definition(definition), "t").declared.query == query


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zz",
        "abc",
        "00ff",
        encode_definition(SIMPLE)[:-20],
        encode_definition(SIMPLE)[20:],
        packed([]),
        packed("text"),
        packed({"definition": {}}),
        packed({"format": FORMAT_VERSION}),
        packed({"format": FORMAT_VERSION, "definition": {}}),
        packed({"format": FORMAT_VERSION, "definition": []}),
    ],
)
def test_a_damaged_text_is_named(text):
    with pytest.raises(UnreadableDefinitionError) as error:
        decode_definition(text, "cat.s.t")
    assert error.value.parameters == {"table": "cat.s.t", "problem": "the text is damaged"}


@pytest.mark.parametrize("key", ["table_id", "name", "generation", "resolved"])
def test_a_missing_part_is_damage(key):
    document = unpacked(encode_definition(SIMPLE))
    del document["definition"][key]
    with pytest.raises(UnreadableDefinitionError):
        decode_definition(packed(document), "t")


def test_another_format_is_refused_by_its_number():
    document = unpacked(encode_definition(SIMPLE))
    document["format"] = FORMAT_VERSION + 1
    with pytest.raises(UnreadableDefinitionError) as error:
        decode_definition(packed(document), "t")
    assert str(FORMAT_VERSION + 1) in error.value.parameters["problem"]


def test_a_baseline_comes_back_as_it_was():
    log = OffsetPosition("kafka", '{"orders":{"0":12}}')
    positions = (("c.s.a", VersionedPosition(3, "x")), ("c.s.b", BEFORE_ALL), ("c.s.c", log))
    for kept in (None, 4):
        definition = replace(SIMPLE, baseline=Baseline(positions, kept, "START_MODE = FROM_NOW"))
        assert decode_definition(encode_definition(definition), "t") == definition
