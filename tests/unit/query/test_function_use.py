from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.query.function_use import functions_in, functions_of
from dbt.adapters.spark_mt.query.functions import AGGREGATES, GENERATORS, KNOWN, RANDOM
from tests.support.differential_cases import Case


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("select rand(), RANDN(3), uuid() from a", ("rand", "randn", "uuid")),
        ("select rand from a", ()),
        ("select 'rand()', `rand` -- rand()\nfrom a", ()),
        ("select input_file_name(), shuffle(array(1))", ("input_file_name", "shuffle")),
        ("select first(x) from a", ("first",)),
        ("select first(x) ignore nulls from a", ("first",)),
        ("select first(x) over (partition by k order by t) from a", ()),
        ("select first(x) ignore nulls over (order by t) from a", ()),
        ("select last_value(x) over w from a window w as (order by t)", ()),
        ("select last(x) over (partition by k) from a", ("last",)),
        ("select collect_list(x) from a", ("collect_list",)),
        ("select sort_array(collect_list(x)), size(collect_set(y)) from a", ()),
        ("select concat(collect_list(x)) from a", ("collect_list",)),
        ("select collect_list(x) filter (where y > (1)) from a", ("collect_list",)),
        ("select listagg(x) within group (order by x), any_value(y) from a", ("any_value",)),
        ("select * from a tablesample (5 percent)", ("tablesample",)),
        ("select * from a tablesample (5 percent) repeatable (3)", ()),
        ("select first, x.last from a", ()),
    ],
)
def test_nondeterministic(query: str, found: tuple[str, ...]) -> None:
    assert functions_of(query).nondeterministic == found


@pytest.mark.parametrize(
    ("query", "found", "bare"),
    [
        ("select current_date(), now()", ("current_date", "now"), set()),
        ("select current_date, a.current_timestamp from a", ("current_date",), {"current_date"}),
        ("select x as current_date from a", (), set()),
        ("select unix_timestamp(), unix_timestamp(x)", ("unix_timestamp",), set()),
        ("select unix_timestamp(x) from a", (), set()),
        ("select * from a where d > DATE 'today'", ("date 'today'",), set()),
        ("select * from a where d > DATE '2024-01-01'", (), set()),
        ("select current_date(), current_date", ("current_date",), set()),
    ],
)
def test_time_dependent(query: str, found: tuple[str, ...], bare: set[str]) -> None:
    use = functions_of(query)
    assert use.time_dependent == found
    assert use.bare == bare


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        ("select f(x), s.g(1), c.s.h() from a", [("f",), ("s", "g"), ("c", "s", "h")]),
        ("select `my fn`(1)", [("my fn",)]),
        ("select * from s.tvf(1) t(a, b)", [("s", "tvf")]),
        ("select * from (select 1) t(a) join values (1) as v(b)", []),
        ("select 'f(x)', x from a where x in (1, 2)", []),
    ],
)
def test_calls_that_may_be_persistent_functions(query: str, calls: list[tuple[str, ...]]) -> None:
    assert [c for c in functions_of(query).calls if c != ("values",)] == calls


def test_text_that_cannot_be_split_has_no_functions() -> None:
    assert functions_of("select rand() from 'open").nondeterministic == ()


def test_functions_of_the_registry():
    random = functions_of("SELECT aes_encrypt(a, b), uuid(), shuffle(c), randstr(3) FROM t")
    assert random.nondeterministic == ("aes_encrypt", "uuid", "shuffle", "randstr")
    scalar = "luhn_check make_dt_interval make_timestamp_ntz map_zip_with aes_decrypt zip_with"
    assert {*scalar.split()} <= KNOWN - AGGREGATES - RANDOM
    assert {"listagg", "mode", "theta_union_agg", "product"} <= AGGREGATES
    assert {"json_tuple", "stack", "inline_outer", "variant_explode"} <= GENERATORS


@pytest.mark.parametrize(
    ("query", "random", "timely"),
    [
        ("SELECT a, rand() + `b` AS rand FROM t WHERE uuid() > s", ("rand", "uuid"), ()),
        ("SELECT a FROM (SELECT uuid() AS a FROM t) ORDER BY rand()", ("uuid", "rand"), ()),
        (
            "SELECT a, current_date AS x, now() AS y FROM t WHERE d < DATE 'today' AND rand() < 1",
            ("rand",),
            ("date 'today'", "now", "current_date"),
        ),
        ("SELECT unix_timestamp() AS x, unix_timestamp(d) AS y FROM t", (), ("unix_timestamp",)),
        ("SELECT a FROM t WHERE b IN (SELECT k FROM u WHERE now() > e)", (), ("now",)),
        ("SELECT a, (SELECT max(uuid()) FROM u) AS x FROM t", ("uuid",), ()),
        ("SELECT * FROM VALUES (rand(), now()) AS v(a, b)", ("rand",), ("now",)),
        ("SELECT a FROM t TIMESTAMP AS OF now()", (), ("now",)),
        ("SELECT a, user AS x, s AS now FROM t", ("user",), ()),
        ("SELECT 'rand()' AS x, CAST(s AS DATE) AS date, DATE '2020-01-01' AS y FROM t", (), ()),
        ("SELECT first(a) AS x FROM t", (), ()),
    ],
)
def test_functions_of_the_operators_of_a_query(query: str, random: tuple, timely: tuple) -> None:
    use = functions_in(Case(query, {}, {}).tree.root)
    assert (use.nondeterministic, use.time_dependent) == (random, timely)
