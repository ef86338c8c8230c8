"""Tokens of SQL text: kinds, places, blanks, comments, hints, escapes and statements."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.sql_tokens import (
    TokenKind,
    closing,
    hints,
    interval_end,
    is_blank,
    skip_blank,
    sqlglot_tokens,
    statements_of,
    tokens_of,
    unescape,
)

WORD, QUOTED, STRING = TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING
NUMBER, SIGN = TokenKind.NUMBER, TokenKind.SIGN


def words(*texts):
    return [(WORD, text) for text in texts]


# What Spark 4.2 returned for SELECT of each literal.
@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("''", ""),
        ("''''", "'"),
        ("'it''s'", "it's"),
        ("'it\\'s'", "it's"),
        ("'a''''b'", "a''b"),
        ('"a""b"', 'a"b'),
        ('"it\'s"', "it's"),
        ("'\"\"'", '""'),
        ("'\\n\\t\\r\\b\\0\\Z'", "\n\t\r\b\0\x1a"),
        ("'\\u0041\\U0001F600'", "A😀"),
        ("'\\uD83D\\uDE00'", "😀"),
        ("'\\101\\477\\8'", "A4778"),
        ("'\\%\\_\\x\\\\'", "\\%\\_x\\"),
        ("'\\u00'", "u00"),
        ("r'a\\n'", "a\\n"),
        ('R"a\'b\\"', "a'b\\"),
        ("'a\nb\u2028é😀'", "a\nb\u2028é😀"),
    ],
)
def test_literals_mean_what_spark_takes_them_for(literal, text):
    assert unescape(literal) == text
    assert unescape(quote_text(text)) == text
    (token,) = tokens_of(literal)
    assert (token.kind, token.text) == (STRING, literal)


@pytest.mark.parametrize("literal", ["'\\uD83D'", "'\\UFFFFFFFF'"])
def test_an_escape_that_is_no_character_is_refused(literal):
    with pytest.raises(ValueError, match=r"\w"):
        unescape(literal)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a . `b``c`", [(WORD, "a"), (SIGN, "."), (QUOTED, "`b``c`")]),
        ("2024_orders 0x1F_a 1e5x", [(WORD, "2024_orders"), (WORD, "0x1F_a"), (WORD, "1e5x")]),
        ("5L 1.5BD 2. 1e-3", [(NUMBER, "5L"), (NUMBER, "1.5BD"), (NUMBER, "2."), (NUMBER, "1e-3")]),
        ("PRIMARY \n KEY", [(WORD, "PRIMARY"), (WORD, "KEY")]),
        ("PRIMARY /* x */ KEY", [(WORD, "PRIMARY"), (WORD, "KEY")]),
        ("SHOW a b", [(WORD, "SHOW"), (WORD, "a"), (WORD, "b")]),
        ("; SHOW CREATE ;", [(SIGN, ";"), (WORD, "SHOW"), (SIGN, ";")]),
        ("begin show 'a;b' ; x", [*words("begin", "show"), (SIGN, ";"), (WORD, "x")]),
        ("EXPLAIN a -- c", [(WORD, "EXPLAIN"), (WORD, "a")]),
        ("'a''b'", [(STRING, "'a''b'")]),
        ("'a' 'b'", [(STRING, "'a'"), (STRING, "'b'")]),
        ("'a'\"b\"", [(STRING, "'a'"), (STRING, '"b"')]),
        ("r'\\''b'", [(STRING, "r'\\'"), (STRING, "'b'")]),
        ("😀 x", [(SIGN, "😀"), (WORD, "x")]),
        ("-- only a comment", []),
        ("", []),
    ],
)
def test_tokens(sql, expected):
    tokens = tokens_of(sql)
    assert [(t.kind, t.text) for t in tokens] == expected
    assert all(sql[t.start : t.end] == t.text for t in tokens)


def test_offsets_count_characters_whatever_they_are():
    sql = "/* 😀 */\r\n'é😀'\r\n `😀` x"
    assert [(t.text, t.start) for t in tokens_of(sql)] == [
        ("'é😀'", 9),
        ("`😀`", 16),
        ("x", 20),
    ]


@pytest.mark.parametrize(
    ("sql", "rest"),
    [
        ("  /* a /* b */ c */ -- d\r\n x", "x"),
        ("/* a", ""),
        ("-- a\rb", "b"),
        ("- a", "- a"),
        ("\u00a0\u2003x", "x"),
        ("", ""),
    ],
)
def test_blanks_and_comments_are_skipped(sql, rest):
    assert sql[skip_blank(sql, 0) :] == rest


def test_hints_are_distinguished_from_comments():
    gap = " /* /*+ no */ */ -- /*+ no */\n /*+ yes */ /*+ open"
    assert [text for _, text in hints(gap)] == ["/*+ yes */", "/*+ open"]
    assert all(gap[offset:].startswith(text) for offset, text in hints(gap))


@pytest.mark.parametrize(
    ("gap", "is_safe"),
    [
        ("", True),
        (" /* a /* b */ */ -- c\n\t", True),
        ("/*+ hint */", True),
        ("/* open", False),
        ("-- continued\\\n", False),
        ("-- continued\\", False),
        ("{# jinja #}", False),
    ],
)
def test_only_blanks_and_comments_of_spark_are_safe_to_leave_out(gap, is_safe):
    assert is_blank(gap) is is_safe


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select a from t", ["a", "t"]),
        ("`from` FROM stream s", ["from", "stream", "s"]),
        ("PARTITION BY x", ["x"]),
        ("'a' \"b\" 3L x'1F'", []),
    ],
)
def test_a_name_is_no_keyword_of_sqlglot(sql, names):
    assert [token.name for token in tokens_of(sql) if token.is_name] == names


@pytest.mark.parametrize(
    ("sql", "last"),
    [
        ("INTERVAL 1 DAY -2 HOURS x", "HOURS"),
        ("INTERVAL '1' DAY TO SECOND, x", "SECOND"),
        ("interval '1 day' x", "'1 day'"),
        ("INTERVAL a", "INTERVAL"),
        ("INTERVAL 1 + 2", "INTERVAL"),
    ],
)
def test_where_an_interval_ends(sql, last):
    tokens = tokens_of(sql)
    assert tokens[interval_end(tokens, 0)].text == last


def test_a_parenthesis_is_closed_by_its_own():
    tokens = tokens_of("f(a, (b), ')') + (c")
    assert tokens[closing(tokens, 1)].start == 13
    assert closing(tokens, len(tokens) - 2) is None


def test_a_text_is_split_once():
    sql = "SELECT a, 'it''s' AS once FROM t"
    before = sqlglot_tokens.cache_info().misses
    assert tokens_of(sql) is tokens_of(sql)
    sqlglot_tokens(sql)
    assert sqlglot_tokens.cache_info().misses == before + 1


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
