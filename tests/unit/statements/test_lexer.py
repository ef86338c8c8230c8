from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import quote_text
from dbt.adapters.spark_mt.statements.errors import UnreadableTextError
from dbt.adapters.spark_mt.statements.lexer import (
    TokenKind,
    hints,
    place,
    skip_blank,
    statements_of,
    tokenize,
    unescape,
)

WORD, QUOTED, STRING = TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING
NUMBER, SIGN, END = TokenKind.NUMBER, TokenKind.SIGN, TokenKind.END


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
    token, end = tokenize(literal)
    assert (token.kind, token.text, end.kind) == (STRING, literal, END)


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
    tokens = tokenize(sql)
    assert [(t.kind, t.text) for t in tokens[:-1]] == expected
    assert tokens[-1].kind is END
    assert all(sql[t.start : t.end] == t.text for t in tokens)


def test_offsets_count_characters_whatever_they_are():
    sql = "/* 😀 */\r\n'é😀'\r\n `😀` x"
    assert [(t.text, t.start) for t in tokenize(sql)] == [
        ("'é😀'", 9),
        ("`😀`", 16),
        ("x", 20),
        ("", 21),
    ]


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
    with pytest.raises(UnreadableTextError) as caught:
        tokenize(sql)
    assert (caught.value.parameters["line"], caught.value.parameters["column"]) == (
        str(line),
        str(column),
    )
    assert problem in caught.value.parameters["problem"]


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
