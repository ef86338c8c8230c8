"""States of the relations of a query."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.query.operators import Scan
from dbt.adapters.spark_mt.query.relation_states import (
    TABLE,
    RelationStates,
    SourceChange,
    StateOf,
    is_whole,
    place_of,
)


def scan(occurrence):
    return Scan(occurrence, TableName("t"), ())


def test_each_state_of_each_occurrence_has_a_place_of_its_own():
    places = {place_of(scan(number), which) for number in range(3) for which in StateOf}
    assert len(places) == 3 * len(StateOf)
    assert max(places) < TABLE


def test_changed_rows_are_not_the_whole_relation():
    whole = {which for which in StateOf if is_whole(scan(place_of(scan(2), which)))}
    assert whole == {StateOf.BEFORE, StateOf.AFTER}
    assert is_whole(scan(0))
    assert is_whole(scan(TABLE))


def test_a_state_that_is_not_known_is_not_read():
    states = RelationStates("b", "a", added="(g)")
    assert [states.at(each) for each in (StateOf.BEFORE, StateOf.AFTER, StateOf.ADDED)] == [
        "b",
        "a",
        "(g)",
    ]
    with pytest.raises(ValueError, match="CHANGED"):
        states.at(StateOf.CHANGED)


def test_a_change_is_true_if_there_are_rows():
    assert [bool(SourceChange(a, r)) for a in (False, True) for r in (False, True)] == [
        False,
        True,
        True,
        True,
    ]
