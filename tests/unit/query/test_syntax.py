from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.query.syntax import (
    Fidelity,
    missing_comma,
    read_query,
    same_tokens,
    sql,
    token_key,
)

SAME = [
    ("SELECT a FROM t", "SELECT  a\r\n\tFROM t"),
    ("SELECT a FROM t", "SELECT a -- why\nFROM t /* how */"),
    ("SELECT a FROM t", "/* outer /* inner */ outer */ SELECT a FROM t"),
    ("SELECT a FROM t", "SELECT a FROM t -- at the end"),
    ("SELECT a FROM t", "select a from t"),
    (
        "select case when a then b end from t group by x",
        "SELECT CASE WHEN a THEN b END FROM t GROUP  BY x",
    ),
    ("SELECT /*+ BROADCAST(t) */ a FROM t", "select /*+ BROADCAST(t) */ a FROM t"),
    ("SELECT a+b FROM t", "SELECT a + b FROM t"),
    ("SELECT '😀' AS `é` FROM t", "SELECT '😀' AS  `é`\nFROM t"),
    ("SELECT 'never closed", "SELECT 'never closed"),
]
DIFFERENT = [
    ("SELECT a FROM t", "SELECT b FROM t"),
    ("SELECT a FROM t", "SELECT a FROM t WHERE a"),
    ("SELECT 'a b' FROM t", "SELECT 'a  b' FROM t"),
    ("SELECT 'a' FROM t", "SELECT 'A' FROM t"),
    ("SELECT '--a' FROM t", "SELECT '--b' FROM t"),
    ("SELECT '/*a*/' FROM t", "SELECT '/*b*/' FROM t"),
    ("SELECT 'a' 'b'", "SELECT 'a''b'"),
    ('SELECT "a"', "SELECT 'a'"),
    (r"SELECT r'\n'", r"SELECT '\n'"),
    ("SELECT `a` FROM t", "SELECT a FROM t"),
    ("SELECT to_json(struct(Price)) FROM t", "SELECT to_json(struct(price)) FROM t"),
    ("SELECT to_json(struct(Date)) FROM t", "SELECT to_json(struct(date)) FROM t"),
    ("SELECT a AS `end` FROM t", "SELECT a AS `END` FROM t"),
    ("SELECT a AS end FROM t", "SELECT a AS END FROM t"),
    ("SELECT 10L", "SELECT 10 L"),
    ("SELECT 1.5", "SELECT 1 .5"),
    ("SELECT a >= b", "SELECT a > = b"),
    ("SELECT /*+ BROADCAST(t) */ a FROM t", "SELECT a FROM t"),
    ("SELECT /*+ BROADCAST(t) */ a FROM t", "SELECT /*+ MERGE(t) */ a FROM t"),
    ("SELECT /*+ A(t) */ /*+ B(t) */ a FROM t", "SELECT /*+ A(t) */ /*+ C(t) */ a FROM t"),
    ("SELECT a -- goes on \\\n, b FROM t", "SELECT a -- goes on\n, b FROM t"),
    ("SELECT 'never closed", "SELECT  'never closed"),
    ("SELECT {# x #} a FROM t", "SELECT a FROM t"),
    ("SELECT a FROM t WHERE", "select a from t where"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_comments_whitespace_and_the_case_of_keywords_do_not_count(one, other):
    assert same_tokens(one, other)
    assert same_tokens(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_everything_else_counts(one, other):
    assert not same_tokens(one, other)
    assert not same_tokens(other, one)
    assert token_key(one) != token_key(other)


@given(st.text(), st.text())
def test_equal_keys_are_the_same_query(one, other):
    assert same_tokens(one, one)
    if token_key(one) == token_key(other):
        assert same_tokens(one, other)


fragments = st.sampled_from(
    [
        "SELECT",
        "a",
        "`b c`",
        "'it''s'",
        '"x"',
        "1.5",
        "10L",
        "(",
        ")",
        ",",
        "||",
        "FROM",
        "t",
        "/*+ H(t) */",
        "'--'",
    ]
)
blanks = st.sampled_from([" ", "\n", " -- note\n", " /* note */ ", "\t/* a /* b */ */\r\n"])


@given(st.lists(st.tuples(fragments, blanks, blanks), min_size=1))
def test_text_between_tokens_never_counts(parts):
    one = "".join(text + blank for text, blank, _ in parts)
    other = "".join(text + blank for text, _, blank in parts)
    assert same_tokens(one, other)


@given(st.lists(st.tuples(fragments, blanks), min_size=1), st.data())
def test_a_token_more_is_another_query(parts, data):
    at = data.draw(st.integers(0, len(parts) - 1))
    longer = [*parts[:at], data.draw(st.tuples(fragments, blanks)), *parts[at:]]
    assert not same_tokens("".join(map("".join, parts)), "".join(map("".join, longer)))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT\n  ds\n  id, n FROM t", "ds, id"),
        ("SELECT o.ds -- day\n id FROM o", ""),
        ("SELECT o.ds id FROM o", "ds, id"),
        ("SELECT `Ds` id FROM o", "`Ds`, id"),
        ("WITH c AS (SELECT 1) SELECT n, ds id FROM c", "ds, id"),
        ("SELECT ds id FROM a UNION ALL SELECT ds, id FROM b", "ds, id"),
        ("SELECT ds AS id FROM t", ""),
        ("SELECT max(ds) id FROM t", ""),
        ("SELECT day id FROM t", ""),
        ("TABLE ds id", ""),
        ("SELECT (", ""),
    ],
)
def test_a_column_that_names_the_next(query, found):
    expected = f" A comma may be missing in the query: {found}." if found else ""
    assert missing_comma(query, "ds") == expected


def test_literals_are_written_as_they_are():
    query = (
        "SELECT date '2020-01-01' + interval '1' day, interval 1 day 2 hours, 10L, 1.50BD, "
        "r'a\\n', 'it''s', 'a' 'b', \"x\", x'1f', array('a', 'array(')[0], a <=> b, 1e3 FROM t"
    )
    tree, fidelity = read_query(query)
    assert fidelity is Fidelity.FAITHFUL
    written = sql(tree)
    for literal in ("date '2020-01-01'", "interval 1 day 2 hours", "10L", "1.50BD", "r'a\\n'"):
        assert literal in written
    for literal in ("'a' 'b'", '"x"', "x'1f'", "array('a', 'array(')[0]", "<=>"):
        assert literal in written


def test_a_letter_that_could_stand_for_a_literal_stays_a_name():
    tree, fidelity = read_query("SELECT \u4e00, 'a' AS x FROM t WHERE \u4e01 = 3L")
    assert fidelity is Fidelity.FAITHFUL
    assert sql(tree) == "SELECT \u4e00, 'a' AS x FROM t WHERE \u4e01 = 3L"
