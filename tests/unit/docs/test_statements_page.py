from typing import get_args

import pytest

from dbt.adapters.spark_mt.statements.alter_parser import ALTER_FORMS
from dbt.adapters.spark_mt.statements.clauses import CLAUSES
from dbt.adapters.spark_mt.statements.nodes import Statement
from dbt.adapters.spark_mt.statements.parser import CREATE_PARTS, parse_statement
from dbt.adapters.spark_mt.statements.renderer import render
from tools.docs_data.statements import CLAUSES as DOCS
from tools.docs_data.statements import STATEMENTS

EXAMPLES = [example for doc in STATEMENTS for example in doc.examples]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_statement(example):
    statement = parse_statement(example)
    assert statement is not None
    assert parse_statement(render(statement)) == statement


def test_every_kind_of_statement_has_an_example():
    assert {type(parse_statement(example)) for example in EXAMPLES} == set(get_args(Statement))


def test_every_form_of_alter_is_described():
    grammar = "\n".join(doc.grammar for doc in STATEMENTS)
    words = {form.split(" (")[0] for form in ALTER_FORMS if not form.startswith("[")}
    assert {word for word in words if word not in grammar} == set()


def test_the_clauses_of_the_page_are_those_of_the_table_in_their_order():
    names = [doc.name for doc in DOCS]
    assert ", ".join(names) == str(CREATE_PARTS)
    assert names[1:] == [clause.keyword for clause in CLAUSES]
