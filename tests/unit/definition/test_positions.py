import pytest

from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    UnknownPosition,
    VersionedPosition,
    left_positions,
    same_positions,
)

AT_7 = VersionedPosition(7, "table-a")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (VersionedPosition(7, "table-a"), True),
        (VersionedPosition(8, "table-a"), False),
        (VersionedPosition(7, "table-b"), False),
        (DefinitionPosition("table-a"), False),
        (UnknownPosition(), False),
    ],
)
def test_a_version_is_the_same_by_number_and_table(other, same):
    assert AT_7.same_state(other) is same


def test_a_definition_is_the_same_by_fingerprint():
    assert DefinitionPosition("ab").same_state(DefinitionPosition("ab"))
    assert not DefinitionPosition("ab").same_state(DefinitionPosition("cd"))
    assert not DefinitionPosition("ab").same_state(AT_7)


def test_what_is_unknown_is_never_the_same():
    assert not UnknownPosition().same_state(UnknownPosition())
    assert not same_positions({"a": UnknownPosition()}, {"a": UnknownPosition()})


def test_sets_are_compared_source_by_source():
    assert same_positions({}, {})
    assert same_positions({"a": AT_7}, {"a": AT_7})
    assert not same_positions({"a": AT_7}, {"a": AT_7, "b": AT_7})
    assert not same_positions({"a": AT_7}, {"b": AT_7})
    assert not same_positions({"a": AT_7}, {"a": VersionedPosition(8, "table-a")})


def test_positions_are_printed_readably():
    assert str(AT_7) == "version 7"
    assert str(DefinitionPosition("0123456789")) == "definition 01234567"
    assert str(UnknownPosition()) == "unknown"


def test_a_view_is_another_one_when_the_types_of_its_columns_are_others():
    plain = DefinitionPosition.of("SELECT a FROM t")
    ints, longs = (DefinitionPosition.of("SELECT a FROM t", types) for types in ("int", "long"))
    assert not ints.same_state(longs)
    assert ints.same_state(DefinitionPosition.of("SELECT a FROM t", "int"))
    assert not ints.same_state(DefinitionPosition.of("SELECT b FROM t", "int"))
    assert plain.same_state(ints), "positions that were stored without the types"
    assert longs.same_state(plain)
    assert not plain.same_state(DefinitionPosition.of("SELECT b FROM t", "int"))


@pytest.mark.parametrize(
    ("before", "now", "left"),
    [
        ((5, "e"), (3, "c"), True),
        ((5, "e"), (5, "x"), True),
        ((5, "e"), (5, "e"), False),
        ((5, "e"), (6, "f"), False),
    ],
    ids=["rolled back", "created again", "where it is", "earlier"],
)
def test_a_version_above_that_of_the_source_was_left(before, now, left):
    positions = {"s": VersionedPosition(*before)}
    assert left_positions(positions, {"s": VersionedPosition(*now)}) == (positions if left else {})


def test_only_versions_of_sources_that_are_there_are_left():
    before = {"s": VersionedPosition(5, "e"), "log": OffsetPosition("kafka", '{"t":{"0":9}}')}
    now = {"log": OffsetPosition("kafka", '{"t":{"0":1}}')}
    assert left_positions(before, now) == {}
    assert left_positions(None, now) == {}
