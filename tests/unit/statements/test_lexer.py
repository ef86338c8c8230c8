from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.sql_tokens import TokenKind
from dbt.adapters.spark_mt.statements.lexer import place, tokenize
from tests.support.errors import raises


@pytest.mark.parametrize(
    ("sql", "line", "column", "problem"),
    [
        ("a\n 'b", 2, 2, "string literal"),
        ("'it''s' 'b''", 1, 9, "string literal"),
        ('a "b', 1, 3, "string literal"),
        ("a `b", 1, 3, "quoted name"),
        ("'/*' -- '\n /* /* */", 2, 2, "comment"),
        ("{# a", 1, 1, "Jinja"),
        ("a x'zz'", 1, 3, "hexadecimal"),
    ],
)
def test_an_unclosed_token_is_reported_at_its_start(sql, line, column, problem):
    with raises(conditions.UNREADABLE_TEXT) as caught:
        tokenize(sql)
    assert (caught.value.parameters["line"], caught.value.parameters["column"]) == (
        str(line),
        str(column),
    )
    assert problem in caught.value.parameters["problem"]


def test_an_excerpt_underlines_the_part():
    found = place("a\r\n\tbcd e\r\nf", 4, 7)
    assert (found.line, found.column) == (2, 2)
    assert found.excerpt.splitlines() == ["  2 |  bcd e", "    |  ^^^"]


def test_an_excerpt_of_a_long_line_is_cut_around_the_part():
    sql = "x" * 500 + "HERE" + "y" * 500
    shown, marks = place(sql, 500, 504).excerpt.splitlines()
    assert len(shown) < 120
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "HERE"


@pytest.mark.parametrize("sql", ["", "a", "a\n", "x" * 300])
def test_the_end_can_be_underlined(sql):
    assert place(sql, len(sql), len(sql)).excerpt.endswith("^")


@pytest.mark.parametrize("sql", ["", "a", "PRIMARY  KEY", "SHOW 'a;b' -- c"])
def test_the_end_comes_after_the_last_token(sql):
    *tokens, end = tokenize(sql)
    assert (end.kind, end.text) == (TokenKind.END, "")
    assert end.start == (tokens[-1].end if tokens else 0)
