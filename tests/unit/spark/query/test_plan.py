from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.definition.columns import parts_of
from dbt.adapters.spark_mt.spark.query.plan import PlanRelation, read_plan

_HEAD = "== Parsed Logical Plan ==\n'CreateView q\n\n== Analyzed Logical Plan ==\n"
_TAIL = "\n\n== Optimized Logical Plan ==\n   +- SubqueryAlias c.s.not_this\n"
_ROOT = "CreateViewCommand `spark_catalog`.`s`.`probe`, select 1, false, true\n"


def plan_of(*lines: str) -> str:
    return _HEAD + _ROOT + "\n".join(lines) + _TAIL


def test_relations_views_and_what_they_read() -> None:
    plan = read_plan(
        plan_of(
            "   +- Join Inner, (k#4558L = k#4547L)",
            "      :- SubqueryAlias x",
            "      :  +- SubqueryAlias c.d.vv",
            "      :     +- View (`c`.`d`.`vv`, [k#4547L])",
            "      :        +- SubqueryAlias c.d.v",
            "      :           +- View (`c`.`d`.`v`, [k#4551L])",
            "      :              +- SubqueryAlias c.d.a",
            "      :                 +- Relation c.d.a[id#4553L,k#4554L] parquet",
            "      +- SubqueryAlias c.d.a",
            "         +- Relation c.d.a[id#4557L,k#4558L] parquet",
        )
    )
    assert plan is not None
    view, inner, table = ("c", "d", "vv"), ("c", "d", "v"), ("c", "d", "a")
    assert plan.relations == (
        PlanRelation(view, (), "view"),
        PlanRelation(inner, (view,), "view"),
        PlanRelation(table, (view, inner)),
        PlanRelation(table),
    )
    assert plan.within(()) == {view, table}
    assert plan.within((view, inner)) == {table}
    assert (plan.unnamed, plan.streaming, plan.truncated) == (0, False, False)


def test_a_table_whose_texts_are_padded_has_its_name() -> None:
    plan = read_plan(
        plan_of(
            "   +- Project [c#3]",
            "      +- SubqueryAlias c.d.a",
            "         +- Project [id#1, staticinvoke(class X, readSidePadding, c#2, 3) AS c#3]",
            "            +- Relation c.d.a[id#1,c#2] parquet",
        )
    )
    assert plan is not None
    assert (plan.relations, plan.unnamed) == ((PlanRelation(("c", "d", "a")),), 0)


@pytest.mark.parametrize(
    ("leaf", "moves"),
    [
        ("RelationV2[id#1] ice.d.a", False),
        ("RelationV2[id#1] ice.d.a VERSION AS OF '55370'", False),
        ("RelationV2[id#1] ice.d.a VERSION AS OF 55370", False),
        ("RelationV2[id#1] ice.d.a VERSION AS OF 'audit'", True),
        ("RelationV2[id#1] ice.d.a VERSION AS OF '5 a'", True),
        ("RelationV2[id#1] ice.d.a TIMESTAMP AS OF 1795809941819000", True),
        ("Relation ice.d.a[id VERSION AS OF x#1] parquet", False),
    ],
)
def test_a_branch_a_tag_and_a_time_may_become_another_version(leaf: str, *, moves: bool) -> None:
    plan = read_plan(plan_of("   +- SubqueryAlias ice.d.a", f"      +- {leaf}"))
    assert plan is not None
    assert plan.relations == (PlanRelation(("ice", "d", "a"), moves=moves),)


def test_temporary_views_have_one_part() -> None:
    plan = read_plan(plan_of("   +- SubqueryAlias tv", "      +- View (`tv`, [x#1])"))
    assert plan is not None
    assert plan.relations == (PlanRelation(("tv",), (), "view"),)


def test_subqueries_in_expressions_count() -> None:
    plan = read_plan(
        plan_of(
            "   +- Project [scalar-subquery#5112 [id#5118L] AS m#5113L]",
            "      :  +- SubqueryAlias c.d.b",
            "      :     +- Relation c.d.b[id#5120L] parquet",
            "      +- SubqueryAlias c.d.`a.1`",
            "         +- Relation c.d.`a.1`[id#5118L] parquet",
        )
    )
    assert plan is not None
    assert [r.name for r in plan.relations] == [("c", "d", "b"), ("c", "d", "a.1")]


def test_paths_table_functions_streams_and_left_out_fields() -> None:
    plan = read_plan(
        plan_of(
            "   +- ~Project [id#1, ... 7 more fields]",
            "      :- Relation [id#4L,k#5L] parquet",
            "      :- SQLFunctionNode c.d.tvf",
            "      :  +- SubqueryAlias c.d.b",
            "      :     +- HiveTableRelation [`c`.`d`.`b`, serde, Data Cols: [id#1]]",
            "      +- ~SubqueryAlias c.d.a",
            "         +- StreamingRelation delta, [id#4862L], name=<Unassigned>",
        )
    )
    assert plan is not None
    function = ("c", "d", "tvf")
    assert plan.relations == (
        PlanRelation(function, (), "function"),
        PlanRelation(("c", "d", "b"), (function,)),
        PlanRelation(("c", "d", "a")),
    )
    assert (plan.unnamed, plan.streaming, plan.truncated) == (1, True, True)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("spark_catalog.D.A", ("spark_catalog", "d", "a")),
        ("other.D.A", ("other", "D", "A")),
        ("spark_catalog.delta.`/Path/X`", ("spark_catalog", "delta", "/Path/X")),
    ],
)
def test_names_of_the_session_catalog_have_no_case(name: str, folded: tuple[str, ...]) -> None:
    explained = plan_of(f"   +- SubqueryAlias {name}", "      +- Relation x[] parquet")
    as_typed, as_held = read_plan(explained, fold=False), read_plan(explained)
    assert as_typed is not None
    assert as_held is not None
    assert as_typed.relations == (PlanRelation(parts_of(name)),)
    assert as_held.relations == (PlanRelation(folded),)


@pytest.mark.parametrize(
    "explained",
    [
        "",
        "== Physical Plan ==\n+- SubqueryAlias a.b.c",
        _HEAD + _TAIL,
        _HEAD
        + "org.apache.spark.sql.AnalysisException: [UNRESOLVED_COLUMN] x; line 2 pos 7;\n"
        + "'CreateViewCommand `c`.`s`.`v`\n+- 'Project ['x]\n   +- SubqueryAlias c.d.a\n"
        + _TAIL,
    ],
)
def test_a_failed_analysis_has_no_plan(explained: str) -> None:
    assert read_plan(explained) is None


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a", ("a",)),
        ("c.d.a", ("c", "d", "a")),
        ("`c`.`d`.`a.``b`", ("c", "d", "a.`b")),
        ("spark_catalog.delta.`/x/y.z`", ("spark_catalog", "delta", "/x/y.z")),
    ],
)
def test_names_as_spark_prints_them(name: str, parts: tuple[str, ...]) -> None:
    assert parts_of(name) == parts
