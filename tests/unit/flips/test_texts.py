"""Statements of the design documents that their text alone decides."""

from operator import attrgetter

import pytest

from dbt.adapters.spark_mt.statements.parser import parse_statement
from dbt.adapters.spark_mt.statements.renderer import render
from tests.flips.texts import ALL_TEXTS
from tests.support.errors import raises

READ = [text for text in ALL_TEXTS if text.node]
REFUSED = [text for text in ALL_TEXTS if text.error]
PASSED_ON = [text for text in ALL_TEXTS if not text.node and not text.error]


def name(text):
    return f"{text.flip} {text.section} {text.what}"


@pytest.mark.parametrize("text", READ, ids=name)
def test_is_read(text):
    statement = parse_statement(text.sql)
    assert type(statement) is text.node
    assert {fact: attrgetter(fact)(statement) for fact in text.facts} == text.facts
    assert parse_statement(render(statement)) == statement


@pytest.mark.parametrize("text", REFUSED, ids=name)
def test_is_refused(text):
    with raises(text.error) as error:
        parse_statement(text.sql)
    found = error.value.parameters
    assert {fact: found[fact] for fact in text.facts} == text.facts
    assert error.value.kind.remedy


@pytest.mark.parametrize("text", PASSED_ON, ids=name)
def test_is_sparks(text):
    assert parse_statement(text.sql) is None
