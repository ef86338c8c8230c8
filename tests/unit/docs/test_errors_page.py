"""What users read about errors: one anchor per condition, and no error without advice."""

from __future__ import annotations

import re

import pytest

from dbt.adapters.spark_mt.adapter.config import InvalidConfigError
from dbt.adapters.spark_mt.definition.errors import (
    InvalidDefinitionError,
    InvalidValueError,
    MaterializedTableError,
    about,
)
from dbt.adapters.spark_mt.definition.freshness import InvalidFreshnessError
from dbt.adapters.spark_mt.query.analyzer import QueryError
from dbt.adapters.spark_mt.resolution.settings import InvalidSettingError
from dbt.adapters.spark_mt.statements.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements.values import FreshnessSyntaxError
from tools import generate_docs
from tools.error_catalogue import GROUPS, SharedConditionError, conditions, parameters, shown

CONDITIONS = conditions()
KINDS = [kind for each in CONDITIONS for kind in (each.kind, *each.variants)]
WITHOUT_REMEDY = {
    InvalidDefinitionError,  # each of its violations has one
    InvalidValueError,  # a violation of an error that has one
    InvalidSettingError,
}


def named(kind):
    return kind.__name__


def test_every_condition_has_one_anchor():
    page = (generate_docs.DOCS / "errors.md").read_text(encoding="utf-8")
    anchors = re.findall(r"^### (\w+)$", page, re.MULTILINE)
    assert sorted(anchors) == sorted({kind.condition for kind in KINDS})
    assert len(anchors) == len(set(anchors))


def test_every_group_has_conditions():
    assert {each.group.title for each in CONDITIONS} == {group.title for group in GROUPS}


def test_a_condition_of_two_places_has_one_class():
    (freshness,) = [each for each in CONDITIONS if each.kind is InvalidFreshnessError]
    assert freshness.variants == (FreshnessSyntaxError,)
    assert freshness.group.title == "A definition"


def test_one_condition_is_one_thing():
    class OddError(MaterializedTableError):
        condition = QueryError.condition

    OddError.__module__ = QueryError.__module__
    try:
        with pytest.raises(SharedConditionError):
            conditions()
    finally:
        OddError.__module__ = __name__


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_an_error_says_what_to_do(kind):
    assert bool(kind.remedy) or kind in WITHOUT_REMEDY


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_an_error_is_explained(kind):
    assert (kind.__doc__ or "").strip().endswith((".", ")"))
    assert "condition" in vars(kind)


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_an_error_names_its_table(kind):
    """By its own text, by the statement's head, or as soon as a statement reports it."""
    facts = dict.fromkeys(parameters(kind.text) | parameters(kind.remedy), "x")
    error = kind(**facts)
    with pytest.raises(kind), about("db.the_table"):
        raise error
    known = "table" in facts or "model" in facts or issubclass(kind, StatementSyntaxError)
    assert known or f"[{kind.condition}] Materialized table db.the_table: " in str(error)
    assert error.parameters["table"] == ("x" if "table" in facts else "db.the_table")


def test_a_table_that_is_known_stays():
    error = QueryError(place="", engine_condition="X", message="m", table="a.b")
    error.name_table("c.d")
    assert error.parameters["table"] == "a.b"
    assert str(error).startswith("[MATERIALIZED_TABLE_QUERY_ERROR] Materialized table a.b: The ")


def test_blanks_stand_for_facts():
    assert shown("{table} has {{x}} {columns}") == "<table> has {x} <columns>"


def test_a_config_error_names_the_model():
    assert "model" in parameters(InvalidConfigError.text)
