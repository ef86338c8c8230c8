import pytest

from dbt.adapters.spark_mt.statements.nodes import CreateTable
from dbt.adapters.spark_mt.statements.parser import parse
from dbt.adapters.spark_mt.statements.renderer import render, render_create


def created(sql: str) -> CreateTable:
    statement = parse(sql)
    assert isinstance(statement, CreateTable)
    return statement


def test_create_is_rendered_one_clause_a_line():
    statement = parse(
        "create or alter materialized table `a b`.t (id bigint not null comment 'the ''id''', "
        "constraint k primary key (id) not enforced, check (id > 0)) comment 'c' cluster by (id) "
        "tblproperties ('a'='1','b'='2') state_retention = ptf_only('x') "
        "freshness = interval '3' minutes refresh_mode = full as\n  select 1 as id -- one\n;"
    )
    assert render(statement).splitlines() == [
        "CREATE OR ALTER MATERIALIZED TABLE `a b`.`t` (",
        "  `id` bigint NOT NULL COMMENT 'the \\'id\\'',",
        "  CONSTRAINT `k` PRIMARY KEY (`id`) NOT ENFORCED,",
        "  CHECK (id > 0)",
        ")",
        "COMMENT 'c'",
        "CLUSTER BY (`id`)",
        "WITH (",
        "  'a' = '1',",
        "  'b' = '2'",
        ")",
        "FRESHNESS = INTERVAL '3' MINUTE",
        "REFRESH_MODE = FULL",
        "STATE_RETENTION = PTF_ONLY('x')",
        "AS",
        "select 1 as id -- one",
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE MATERIALIZED TABLE IF NOT EXISTS `t`\nAS\nSELECT 1",
        "ALTER MATERIALIZED TABLE `t` SUSPEND",
        "ALTER MATERIALIZED TABLE `t` RESUME",
        "ALTER MATERIALIZED TABLE `t` RESUME WITH (\n  'a' = 'b'\n)",
        "ALTER MATERIALIZED TABLE `t` REFRESH",
        "ALTER MATERIALIZED TABLE `t` REFRESH PARTITION (`ds` = '1', `n` = NULL)",
        "ALTER MATERIALIZED TABLE `t` SET FRESHNESS = INTERVAL '1' DAY",
        "ALTER MATERIALIZED TABLE `t` RESET FRESHNESS",
        "ALTER MATERIALIZED TABLE `t` SET REFRESH_MODE = FULL",
        "ALTER MATERIALIZED TABLE `t` SET (\n  'a' = 'b'\n)",
        "ALTER MATERIALIZED TABLE `t` RESET ('a', 'b')",
        "ALTER MATERIALIZED TABLE `t` SET COMMENT 'x'",
        "ALTER MATERIALIZED TABLE `t`\nAS\nSELECT 1",
        (
            "ALTER MATERIALIZED TABLE `t`\nWITH (\n  'a' = 'b'\n)\n"
            "SET START_MODE = FROM_NOW(INTERVAL '1' YEAR)\nSET STATE_RETENTION = ALL\nAS\nSELECT 1"
        ),
        "ALTER MATERIALIZED TABLE `t` ADD\nSELECT 1",
        "DROP MATERIALIZED TABLE IF EXISTS `c`.`s`.`t`",
        "SHOW MATERIALIZED TABLES FROM `c`.`s` NOT LIKE 'a%'",
        "SHOW CREATE OR ALTER MATERIALIZED TABLE `t`",
        "DESC EXTENDED MATERIALIZED TABLE `t`",
        "DESC JOB 'x'",
        "SHOW JOBS",
        "EXPLAIN CREATE MATERIALIZED TABLE `t`\nAS\nSELECT 1",
        "EXPLAIN ADOPT MATERIALIZED TABLE `t` IF EQUAL\nAS\nSELECT 1",
    ],
)
def test_a_rendered_statement_stays_as_it_is(sql):
    assert render(parse(sql)) == sql


def test_comments_follow_a_clause_or_replace_it():
    statement = created(
        "CREATE OR ALTER MATERIALIZED TABLE filtered_high_value_orders "
        "START_MODE = FROM_NOW(INTERVAL '7' DAY) AS SELECT 1"
    )
    text = render_create(
        statement,
        {
            "FRESHNESS": "FRESHNESS = INTERVAL '3' MINUTE by default",
            "START_MODE": "Evaluated to FROM_TIMESTAMP(TIMESTAMP '2025-10-28 10:00:00') "
            "at execution",
        },
    )
    assert text.splitlines() == [
        "CREATE OR ALTER MATERIALIZED TABLE `filtered_high_value_orders`",
        "/* FRESHNESS = INTERVAL '3' MINUTE by default */",
        (
            "START_MODE = FROM_NOW(INTERVAL '7' DAY) /* Evaluated to FROM_TIMESTAMP(TIMESTAMP "
            "'2025-10-28 10:00:00') at execution */"
        ),
        "AS",
        "SELECT 1",
    ]
    assert parse(text) == statement


def test_a_note_cannot_end_its_comment():
    statement = created("CREATE MATERIALIZED TABLE t AS SELECT 1")
    text = render_create(statement, {"WITH": "*/ AS SELECT 2; /* /*/"})
    assert parse(text) == statement


def test_a_note_is_about_a_clause():
    with pytest.raises(ValueError, match="FRESHNES"):
        render_create(created("CREATE MATERIALIZED TABLE t AS SELECT 1"), {"FRESHNES": "x"})
