"""Views in the place of tables that Spark reads in no query."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import QueryContext, TableName
from dbt.adapters.spark_mt.spark.query.plan import read_plan
from dbt.adapters.spark_mt.spark.query.query_relations import NO_STAND_INS
from dbt.adapters.spark_mt.spark.query.stream_sources import stand_ins_of

CONTEXT = QueryContext("spark_catalog", "s", ())
VIEWS = stand_ins_of(
    {
        TableName.of("spark_catalog", "s", "k"): ("kafka", "v0"),
        TableName.of("spark_catalog", "s", "ticks"): ("rate", "v1"),
        TableName.of("spark_catalog", "s", "files"): ("json", "v2"),
    }
)
EXPLAINED = """\
== Analyzed Logical Plan ==
CreateViewCommand `spark_catalog`.`nowhere`.`probe`, SELECT 1, false, false, PersistedView
   +- ~Project [cast(value#35 as string) AS v#43]
      +- ~Join Inner, (timestamp#39 = timestamp#51)
         :- ~SubqueryAlias a
         :  +- ~SubqueryAlias v0
         :     +- View (`v0`, [key#34, value#35, timestamp#39])
         :        +- ~StreamingRelationV2 Kafka@1, kafka, [subscribe=t], [key#27, value#28]
         +- ~SubqueryAlias ticks
            +- ~SubqueryAlias v1
               +- View (`v1`, [timestamp#51, value#52L])
                  +- ~StreamingRelationV2 Rate@2, rate, [], [timestamp#1, value#2L]

== Optimized Logical Plan ==
"""


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("SELECT 1 FROM STREAM k", "SELECT 1 FROM STREAM v0 AS `k`"),
        ("SELECT k.a FROM STREAM s.k AS x", "SELECT k.a FROM STREAM v0 AS x"),
        (
            "SELECT 1 FROM STREAM K WATERMARK ts DELAY OF INTERVAL 1 HOUR WHERE a",
            "SELECT 1 FROM STREAM v0 WATERMARK ts DELAY OF INTERVAL 1 HOUR AS `K` WHERE a",
        ),
        ("SELECT 1 FROM STREAM(k)", "SELECT 1 FROM STREAM(v0) AS `k`"),
        ("SELECT 1 FROM STREAM ( `k` ) AS x", "SELECT 1 FROM STREAM ( v0 ) AS x"),
        ("SELECT 1 FROM k, other.k", "SELECT 1 FROM k, other.k"),
        (
            "SELECT 1 FROM ticks JOIN STREAM ticks t JOIN files",
            "SELECT 1 FROM v1 AS `ticks` JOIN STREAM v1 t JOIN files",
        ),
    ],
)
def test_views_are_put_into_a_query(query, given):
    assert VIEWS.inserted(query, CONTEXT) == given
    assert NO_STAND_INS.inserted(query, CONTEXT) == query


def test_views_are_taken_out_of_a_plan():
    plan = read_plan(VIEWS.removed(EXPLAINED))
    assert [(r.name, r.kind, r.via) for r in plan.relations] == [
        (("spark_catalog", "s", "k"), "table", ()),
        (("spark_catalog", "s", "ticks"), "table", ()),
    ]
    assert (plan.streaming, plan.unnamed) == (True, 0)
    assert NO_STAND_INS.removed(EXPLAINED) == EXPLAINED
