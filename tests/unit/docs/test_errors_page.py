"""What users read about errors: one anchor per condition, and no error without advice."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import Group, StatementSyntaxError, about
from tests.support.errors import raises
from tools import generate_docs
from tools.error_catalogue import ABOUT, SharedConditionError, documented, parameters, shown

DOCUMENTED = documented()
CONDITIONS = [kind for each in DOCUMENTED for kind in (each.condition, *each.in_statement)]
WITHOUT_REMEDY = {
    conditions.INVALID_DEFINITION,  # each of its violations has one
    conditions.INVALID_VALUE,  # a violation of an error that has one
    conditions.INVALID_SETTING,
}


def named(kind):
    return f"{kind.name}-{kind.error.__name__}"


def test_every_condition_has_one_anchor():
    page = (generate_docs.DOCS / "errors.md").read_text(encoding="utf-8")
    anchors = re.findall(r"^### (\w+)$", page, re.MULTILINE)
    assert sorted(anchors) == sorted({kind.name for kind in CONDITIONS})
    assert len(anchors) == len(set(anchors))


def test_every_group_has_conditions_and_a_description():
    assert {kind.group for kind in CONDITIONS} == set(Group) == set(ABOUT)


def test_a_condition_of_two_places_has_one_section():
    (freshness,) = [e for e in DOCUMENTED if e.condition is conditions.INVALID_FRESHNESS]
    assert freshness.in_statement == (conditions.INVALID_FRESHNESS_IN_STATEMENT,)
    assert freshness.condition.group is Group.DEFINITION


def test_one_condition_is_one_thing():
    other = replace(conditions.QUERY_ERROR, text="Something else.")
    with pytest.raises(SharedConditionError):
        documented([conditions.QUERY_ERROR, other])


@pytest.mark.parametrize("kind", CONDITIONS, ids=named)
def test_an_error_says_what_to_do(kind):
    assert bool(kind.remedy) or kind in WITHOUT_REMEDY


@pytest.mark.parametrize("kind", CONDITIONS, ids=named)
def test_an_error_is_explained(kind):
    assert kind.about.endswith((".", ")"))


@pytest.mark.parametrize("kind", CONDITIONS, ids=named)
def test_an_error_names_its_table(kind):
    """By its own text, by the statement's head, or as soon as a statement reports it."""
    facts = dict.fromkeys(parameters(kind.text) | parameters(kind.remedy), "x")
    error = kind(**facts)
    with raises(kind), about("db.the_table"):
        raise error
    known = "table" in facts or "model" in facts or isinstance(error, StatementSyntaxError)
    assert known or f"[{kind.name}] Materialized table db.the_table: " in str(error)
    assert error.parameters["table"] == ("x" if "table" in facts else "db.the_table")


def test_a_table_that_is_known_stays():
    error = conditions.QUERY_ERROR(place="", engine_condition="X", message="m", table="a.b")
    error.name_table("c.d")
    assert error.parameters["table"] == "a.b"
    assert str(error).startswith("[MATERIALIZED_TABLE_QUERY_ERROR] Materialized table a.b: The ")


def test_blanks_stand_for_facts():
    assert shown("{table} has {{x}} {columns}") == "<table> has {x} <columns>"


def test_a_config_error_names_the_model():
    assert "model" in parameters(conditions.INVALID_CONFIG.text)
