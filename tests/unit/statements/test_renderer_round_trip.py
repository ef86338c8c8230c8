import re
import string
from typing import get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements.clauses import CLAUSES
from dbt.adapters.spark_mt.statements.nodes import Statement
from dbt.adapters.spark_mt.statements.parser import parse, parse_statement
from dbt.adapters.spark_mt.statements.renderer import render, render_create
from tests.unit.statements.strategies import NASTY, by_node, creates, statements, texts

GENERATED = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
MANY = settings(GENERATED, max_examples=300)
WORDS = """CREATE OR ALTER REPLACE MATERIALIZED TABLE TABLES IF NOT EXISTS ( ) , = . ; COMMENT
    PARTITIONED BY CLUSTER WITH TBLPROPERTIES FRESHNESS INTERVAL '3' MINUTE REFRESH_MODE FULL
    START_MODE FROM_NOW FROM_TIMESTAMP TIMESTAMP STATE_RETENTION PTF_ONLY AS
    SELECT SET RESET SUSPEND RESUME
    REFRESH PARTITION ADD DROP SHOW DESC EXTENDED JOB JOBS EXPLAIN LIKE FROM PRIMARY KEY ENFORCED
    CHECK CONSTRAINT a `b` 'c' "d" 1 -2 NULL INT STRUCT < > begin /*x*/ /*+y*/ -- ' ` /* 😀"""
VOCABULARY = (*re.split(r"\s+", WORDS), "\n")


def test_there_is_a_strategy_for_every_node():
    assert set(by_node) == set(get_args(Statement))


@pytest.mark.parametrize("node", by_node, ids=lambda node: node.__name__)
def test_every_node_survives(node):
    @GENERATED
    @given(by_node[node])
    def survives(statement):
        text = render(statement)
        assert parse_statement(text) == statement
        assert render(parse(text)) == text

    survives()


@GENERATED
@given(statements, st.sampled_from(("", ";", " ;\n-- done\n;")))
def test_comments_before_and_semicolons_after_do_not_count(statement, tail):
    text = '/* {"app": "dbt; it\'s"} */ -- one\n' + render(statement)
    tail = f"\n{tail}" if tail else tail
    assert parse_statement(text + tail) == statement


@GENERATED
@given(creates, st.dictionaries(st.sampled_from([clause.keyword for clause in CLAUSES]), texts))
@example(
    parse("CREATE MATERIALIZED TABLE t AS SELECT 1"),
    {"FRESHNESS": "*/ ; '", "WITH": "/*/", "COMMENT": "*"},
)
def test_notes_do_not_change_the_statement(statement, notes):
    assert parse(render_create(statement, notes)) == statement


def outcome(read, text):
    try:
        return read(text)
    except StatementSyntaxError as error:
        return error


def fails_only_by_syntax(text):
    for found in (outcome(parse, text), outcome(parse_statement, text)):
        if isinstance(found, StatementSyntaxError):
            assert found.condition.startswith("MATERIALIZED_TABLE_")
            assert int(found.parameters["line"]) >= 1
            assert int(found.parameters["column"]) >= 1
            assert "^" in found.parameters["excerpt"]


@MANY
@given(st.text() | st.text(alphabet=NASTY + string.ascii_letters))
def test_random_text_raises_nothing_but_syntax_errors(text):
    fails_only_by_syntax(text)
    fails_only_by_syntax(f"CREATE MATERIALIZED TABLE {text}")
    fails_only_by_syntax(f"CREATE MATERIALIZED TABLE t AS {text}")


@MANY
@given(st.lists(st.sampled_from(VOCABULARY), max_size=25))
def test_random_tokens_raise_nothing_but_syntax_errors(words):
    text = " ".join(words)
    fails_only_by_syntax(text)
    fails_only_by_syntax(f"CREATE OR ALTER MATERIALIZED TABLE t {text}")
    fails_only_by_syntax(f"CREATE MATERIALIZED TABLE t ({text}")
    fails_only_by_syntax(f"ALTER MATERIALIZED TABLE t {text}")
    fails_only_by_syntax(f"EXPLAIN {text}")


@MANY
@given(statements, st.data())
def test_mutated_statements_raise_nothing_but_syntax_errors(statement, data):
    text = render(statement)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    inserted = data.draw(st.text(max_size=3) | st.text(alphabet=NASTY, max_size=3))
    fails_only_by_syntax(text[:start] + inserted + text[end:])


@MANY
@given(statements, st.data())
def test_statements_without_a_token_raise_nothing_but_syntax_errors(statement, data):
    words = render(statement).split(" ")
    del words[data.draw(st.integers(0, len(words) - 1))]
    fails_only_by_syntax(" ".join(words))
