"""Splitting texts into statements."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.statements.lexer import statements_of


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", ()),
        (" ;; -- nothing; at all\n ; /* nor; here */", ()),
        ("SELECT 1", ("SELECT 1",)),
        ("SELECT 1;\nSELECT 2;\n", ("SELECT 1", "SELECT 2")),
        ("SELECT ';', \";\", `;` FROM t; SELECT 2", ("SELECT ';', \";\", `;` FROM t", "SELECT 2")),
        (r"SELECT 'it\';s'; SELECT 2", (r"SELECT 'it\';s'", "SELECT 2")),
        ("SELECT 'it'';s'; SELECT 2", ("SELECT 'it'';s'", "SELECT 2")),
        (r"SELECT r'\'; SELECT 2", (r"SELECT r'\'", "SELECT 2")),
        ("SELECT 1 -- one; two\n; SELECT 2", ("SELECT 1 -- one; two", "SELECT 2")),
        ("SELECT /* a /* b; */ c; */ 1; SELECT 2", ("SELECT /* a /* b; */ c; */ 1", "SELECT 2")),
        ("-- why;\nSELECT 1; SELECT 2", ("-- why;\nSELECT 1", "SELECT 2")),
        ("SELECT 'open; SELECT 2", ("SELECT 'open; SELECT 2",)),
        ("BEGIN SELECT 1; SELECT 2; END", ("BEGIN SELECT 1; SELECT 2; END",)),
        ("SELECT beginning; SELECT 2", ("SELECT beginning", "SELECT 2")),
    ],
)
def test_statements(text, statements):
    assert statements_of(text) == statements
