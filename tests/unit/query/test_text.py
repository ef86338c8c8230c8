from __future__ import annotations

import inspect
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.query.text import (
    blank,
    naming_variables,
    replace_at,
    shape_of,
    without_lookups,
)
from tests.support.errors import raises


def named(query: str) -> list[str]:
    """The text of every relation that was found, cut out of the query by its offsets."""
    shape = shape_of(query)
    assert shape.readable
    return [query[ref.start : ref.end] for ref in shape.relations]


@pytest.mark.parametrize(
    ("query", "relations"),
    [
        ("select 1", []),
        ("select * from a", ["a"]),
        ("select * from s.a x join c.s.b using (id)", ["s.a", "c.s.b"]),
        ("select * from `s`.`a``b` a", ["`s`.`a``b`"]),
        ("select * from s . /* of */ t", ["s . /* of */ t"]),
        ("select * from 2024_orders", ["2024_orders"]),
        ("select '🙂 from x', a.b from t🙂 a".replace("t🙂", "`t🙂`"), ["`t🙂`"]),
        ("select '🙂'\r\nfrom\r\n  a\r\njoin b -- from c\r\n", ["a", "b"]),
        ("-- from x\nselect /* from y */ 'from z', \"from q\" from a", ["a"]),
        ("select * from delta.`/x/y`", ["delta.`/x/y`"]),
        ("values (1), (2)", []),
        ("select * from a, b left anti join c on 1 = 1", ["a", "b", "c"]),
        ("select (select max(x) from b) from a where k in (select k from c)", ["b", "a", "c"]),
        (
            "select * from a where exists (select 1 from b) having 1 > (select 2 from c)",
            ["a", "b", "c"],
        ),
        ("(select * from a) union all select * from b except select * from c", ["a", "b", "c"]),
        ("select * from a, lateral (select * from b where b.x = a.x) l", ["a", "b"]),
        ("select * from a lateral view explode(x) t as c", ["a"]),
        ("select * from a pivot (sum(x) for k in (1, 2)) p join b", ["a", "b"]),
        ("select * from a unpivot (x for k in (c1, c2)) p", ["a"]),
        ("select * from a tablesample (5 percent) t, b", ["a", "b"]),
        ("select /*+ broadcast(b) */ * from a join b", ["a", "b"]),
        ("select * from a |> where k > 1 |> select k", ["a"]),
        ("from a |> where k in (select k from b) |> select k", ["a", "b"]),
        ("select * from (a join b on a.x = b.x) join (select 1 one) s", ["a", "b"]),
        ("select * from a qualify row_number() over (partition by x order by y) = 1", ["a"]),
        ("select sum(x) filter (where y > (select 1 from b)) from a", ["b", "a"]),
        ("select * from range(3) join a join values (1) v", ["a"]),
    ],
)
def test_relations_and_their_places(query: str, relations: list[str]) -> None:
    assert named(query) == relations


@pytest.mark.parametrize(
    ("query", "relations"),
    [
        ("with c as (select * from a) select * from c", ["a"]),
        ("with a as (select * from a) select * from a", ["a"]),
        ("with a as (select * from s.a) select * from A join `a`", ["s.a"]),
        ("with a as (select 1 x) select * from a join s.a using (x)", ["s.a"]),
        ("with a as (select * from b), b as (select * from a) select * from a, b", ["b"]),
        ("select * from (with z as (select * from a) select * from z) q, z", ["a", "z"]),
        ("with o as (with i as (select * from a) select * from i) select * from o, i", ["a", "i"]),
        ("with c as (select 1 x) select * from b where x in (select x from c)", ["b"]),
        (
            "with c as (select 1 x) select 1 union all select * from c union all select * from d",
            ["d"],
        ),
        ("with r as (select * from r) select * from r", ["r"]),
        ("with recursive r as (select 1 n union all select n + 1 from r) select * from r", []),
        (
            "with recursive r as (select 1 n union all select n + 1 from r join s) select * from r",
            ["s"],
        ),
        ("with c as (from a |> where x in (select y from b)) from c |> select 1", ["a", "b"]),
    ],
)
def test_a_cte_hides_a_table_only_where_it_is_visible(query: str, relations: list[str]) -> None:
    assert named(query) == relations


@pytest.mark.parametrize(
    "query",
    [
        "table t",
        "select x:a.b::int from t",
        "select * from t where 'open",
        "drop table t",
        "insert into t select 1",
        "(" * 3,
        "",
    ],
)
def test_what_cannot_be_read_is_no_error(query: str) -> None:
    shape = shape_of(query)
    assert not shape.readable
    assert shape.relations == ()


@pytest.mark.parametrize(
    ("query", "relations"),
    [
        ("select window.start, count(*) from t group by window(ts, '1 minute')", ["t"]),
        ("select window(ts, '1 minute').end from t, u", ["t", "u"]),
        ("select * from stream t watermark ts delay of interval 10 seconds, u", ["t", "u"]),
        ("select * from stream(t) watermark ts delay of interval '1' minute as x", ["t"]),
        ("select * from t watermark ts delay of interval 1 hour 30 minutes x join u", ["t", "u"]),
        (
            "select * from (select * from t) watermark to_timestamp(a, 'x') as b\n \
            delay of interval '10 seconds' join u",
            ["t", "u"],
        ),
        ("select * from t with ('a' = '(') join u", ["t", "u"]),
        ("select * from stream t with ('a' = 'b') watermark c delay of interval 1 day", ["t"]),
        ("select watermark from t watermark where watermark > 1", ["t"]),
        ("select sum(a) over w from t window w as (partition by b)", ["t"]),
        ("select `window`(a), 'window(' from t", ["t"]),
    ],
)
def test_syntax_that_only_spark_parses_hides_no_relation(query: str, relations: list[str]) -> None:
    found = shape_of(query)
    assert [".".join(r.parts) for r in found.relations] == relations
    assert [query[r.start : r.end] for r in found.relations] == relations


@pytest.mark.parametrize(
    "query",
    [
        "select * from t| where a",
        "select * from t watermark ts delay of interval 1 day| x",
        "select * from t with ('a' = 'b') watermark ts delay of interval 1 day|",
        "select * from stream(t) watermark ts delay of interval '10 minutes'| as x",
        "select * from (select * from t|) watermark ts delay of interval 1 day",
    ],
)
def test_an_alias_follows_the_clauses_of_a_relation(query: str) -> None:
    (ref,) = shape_of(query.replace("|", "")).relations
    assert ref.tail == query.index("|")


def test_facts_of_a_relation() -> None:
    shape = shape_of(
        "select * from a, b as x, c version as of 3, d timestamp as of '2024-01-01' y, "
        "e tablesample (3 rows)"
    )
    facts = [(r.parts[-1], r.aliased, r.pinned, r.sampled) for r in shape.relations]
    assert facts == [
        ("a", False, False, False),
        ("b", True, False, False),
        ("c", False, True, False),
        ("d", True, True, False),
        ("e", False, False, True),
    ]


@pytest.mark.parametrize(
    ("query", "streamed"),
    [
        ("select * from stream a, b", {"a": True, "b": False}),
        ("select * from stream(s.a) x, stream b c", {"s.a": True, "b": True}),
        ("select * from STREAM `a` join b", {"a": True, "b": False}),
        ("select * from stream", {"stream": False}),
        ("select stream, x from stream as s join b", {"stream": False, "b": False}),
        ("select 1 from a where k in (stream, 3)", {"a": False}),
    ],
)
def test_streams_are_noted(query: str, streamed: dict[str, bool]) -> None:
    found = {".".join(r.parts): r.streamed for r in shape_of(query).relations}
    assert found == streamed


def test_table_functions_have_no_name_that_could_be_replaced() -> None:
    shape = shape_of(
        "select * from identifier('x') join table_changes('t', 1) join explode(array(1))"
    )
    assert shape.relations == ()
    assert [name.lower() for name in shape.opaque] == ["identifier", "table_changes", "explode"]


def test_replacing_keeps_everything_else() -> None:
    query = "select '🙂 a' from a /* a */ join a"
    refs = shape_of(query).relations
    replaced = replace_at(query, [(r.start, r.end, "`c`.`s`.`a`") for r in reversed(refs)])
    assert replaced == "select '🙂 a' from `c`.`s`.`a` /* a */ join `c`.`s`.`a`"


def test_overlapping_replacements_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="offset 1"):
        replace_at("abc", [(0, 2, "x"), (1, 3, "y")])


@given(st.text(alphabet="ab \r\n🙂", max_size=20), st.data())
def test_blanking_keeps_offsets_and_lines(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    blanked = blank(text, [(start, end)])
    assert len(blanked) == len(text)
    assert (blanked[:start], blanked[end:]) == (text[:start], text[end:])
    assert blanked[start:end].replace("\r", "").replace("\n", "").strip(" ") == ""
    assert [c for c in blanked if c in "\r\n"] == [c for c in text if c in "\r\n"]


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    shape = shape_of(text)
    assert all(0 <= r.start < r.end <= len(text) for r in shape.relations)


@pytest.mark.parametrize(
    ("clause", "name"),
    [
        ("join t for system_time as of proctime()", ("t",)),
        ("join s.`a b` FOR  SYSTEM_TIME\nAS /* c */ OF proctime( ) as x", ("s", "a b")),
        ("join c.s.t for system_time as of current_timestamp x", ("c", "s", "t")),
        ("join t for system_time as of current_timestamp() on 1 = 1", ("t",)),
    ],
)
def test_lookup_joins_are_plain_joins_for_spark(clause: str, name: tuple[str, ...]) -> None:
    query = f"select '🙂' from o\r\n{clause}"
    found = without_lookups(query)
    assert found.lookups == (name,)
    assert len(found.text) == len(query)
    assert "system_time" not in found.text.lower()
    assert shape_of(found.text).relations[1].parts == name
    assert not shape_of(found.text).relations[1].pinned


def test_without_lookup_joins_the_text_is_the_same() -> None:
    query = "select 'for system_time as of x' -- for system_time as of y\nfrom t version as of 3"
    assert without_lookups(query).text == query


def test_text_that_cannot_be_split_is_left_to_spark() -> None:
    query = "select * from t for system_time as of x where 'open"
    assert without_lookups(query).text == query


@pytest.mark.parametrize(
    "time",
    [
        "o.proc_time",
        "proctime",
        "timestamp '2024-01-01'",
        "current_timestamp() - interval 1 day",
        "",
    ],
)
def test_other_times_are_refused_and_version_as_of_named(time: str) -> None:
    with raises(conditions.LOOKUP_TIME_NOT_SUPPORTED) as caught:
        without_lookups(f"select 1 from o\njoin s.t for system_time as of {time}")
    assert caught.value.parameters["relation"] == "s.t"
    assert caught.value.parameters["line"] == "2"
    assert "s.t VERSION AS OF" in str(caught.value)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT * FROM IDENTIFIER(tab)", ("tab",)),
        ("SELECT * FROM identifier(system.session.`my tab` || '_x')", ("my tab",)),
        ("SELECT IDENTIFIER('a') FROM IDENTIFIER('s' || '.t')", ()),
        ("SELECT identifier FROM t WHERE lower(tab) = 'x'", ()),
        ("SELECT IDENTIFIER(concat('a', suffix)) FROM t", ("suffix",)),
    ],
)
def test_session_variables_that_name_something(query, names):
    assert naming_variables(query) == names


@pytest.mark.parametrize(
    "query", ["SELECT 1 AS a FROM t; SELECT 2 AS a FROM t", "SELECT a FROM s; -- b"]
)
def test_several_statements_are_no_query(query):
    assert not shape_of(query).readable


def test_a_text_that_was_nested_too_deeply_for_one_caller_is_read_for_another():
    query = f"SELECT {'(' * 40}a{')' * 40} AS deep FROM t"

    def below(depth):
        return below(depth - 1) if depth else shape_of(query).readable

    limit = sys.getrecursionlimit()
    used = len(inspect.stack())
    assert not below(limit - used - 60)
    assert shape_of(query).readable
