from datetime import datetime, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import Check, ColumnSpec, PrimaryKey, TableName
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import (
    IntervalUnit,
    LogicalRefreshMode,
    StartInterval,
    StartMode,
    StartModeType,
    StateRetention,
    StateRetentionType,
)
from dbt.adapters.spark_mt.statements import nodes
from dbt.adapters.spark_mt.statements.nodes import (
    AddQuery,
    AlterQuery,
    CreateForm,
    CreateTable,
    DescribeJob,
    DescribeTable,
    DropTable,
    Explain,
    PartitionValue,
    Refresh,
    ResetOptions,
    Resume,
    SetClause,
    SetOptions,
    ShowCreate,
    ShowJobs,
    ShowTables,
    Suspend,
)
from dbt.adapters.spark_mt.statements.parser import parse, parse_name
from dbt.adapters.spark_mt.statements.values import query_text
from tests.support.errors import raises

T = TableName("t")
WEEK = StartInterval(7, IntervalUnit.DAY)


def declared(head: str) -> DeclaredDefinition:
    statement = parse(f"CREATE MATERIALIZED TABLE t {head} AS SELECT 1")
    assert isinstance(statement, CreateTable)
    assert statement.declared.query == "SELECT 1"
    return statement.declared


def definition(**fields: object) -> DeclaredDefinition:
    return DeclaredDefinition("SELECT 1", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("", definition()),
        ("(a, `b c`, 2024_x)", definition(columns=tuple(map(ColumnSpec, ("a", "b c", "2024_x"))))),
        (
            (
                "(a INT NOT NULL COMMENT 'it''s', b STRUCT<x: INT, y: ARRAY<MAP<STRING, INT>>>, "
                'c DECIMAL( 10,2 ) COMMENT "d" NOT NULL, check STRING, timestamp TIMESTAMP)'
            ),
            definition(
                columns=(
                    ColumnSpec("a", "INT", not_null=True, comment="it's"),
                    ColumnSpec("b", "STRUCT<x: INT, y: ARRAY<MAP<STRING, INT>>>"),
                    ColumnSpec("c", "DECIMAL( 10,2 )", not_null=True, comment="d"),
                    ColumnSpec("check", "STRING"),
                    ColumnSpec("timestamp", "TIMESTAMP"),
                )
            ),
        ),
        (
            "(s STRUCT<a: INT NOT NULL COMMENT 'x, )'>, i INTERVAL DAY TO SECOND)",
            definition(
                columns=(
                    ColumnSpec("s", "STRUCT<a: INT NOT NULL COMMENT 'x, )'>"),
                    ColumnSpec("i", "INTERVAL DAY TO SECOND"),
                )
            ),
        ),
        (
            "(PRIMARY KEY(ds, id) NOT ENFORCED)",
            definition(constraints=(PrimaryKey(("ds", "id")),)),
        ),
        (
            (
                "(a, primary, constraint k primary key (a) not enforced, CHECK (a > (1 + ')')), "
                "CONSTRAINT c CHECK ( b /* ) */ <> 'x' -- y\n))"
            ),
            definition(
                columns=(ColumnSpec("a"), ColumnSpec("primary")),
                constraints=(
                    PrimaryKey(("a",), "k"),
                    Check("a > (1 + ')')"),
                    Check("b /* ) */ <> 'x'", "c"),
                ),
            ),
        ),
        ("comment 'é 😀 \\'q\\' \\\\ \\n'", definition(comment="é 😀 'q' \\ \n")),
        ("COMMENT ''", definition(comment="")),
        ("PARTITIONED BY (ds, `h```)", definition(partitioned_by=("ds", "h`"))),
        ("CLUSTER  BY (a)", definition(clustered_by=("a",))),
        ("WITH ('b' = '2', \"a\" = '')", definition(options=(("b", "2"), ("a", "")))),
        ("TBLPROPERTIES('k'='v')", definition(options=(("k", "v"),))),
        ("FRESHNESS=INTERVAL '3' minutes", definition(freshness=Freshness(3, TimeUnit.MINUTE))),
        (
            "FRESHNESS = INTERVAL ' 30 ' SECOND",
            definition(freshness=Freshness(30, TimeUnit.SECOND)),
        ),
        ("refresh_mode = Full", definition(refresh_mode=LogicalRefreshMode.FULL)),
        (
            "START_MODE = FROM_NOW(INTERVAL '7' DAY)",
            definition(start_mode=StartMode(StartModeType.FROM_NOW, WEEK)),
        ),
        (
            "START_MODE = RESUME_OR_FROM_NOW(INTERVAL '2' MONTHS)",
            definition(
                start_mode=StartMode(
                    StartModeType.RESUME_OR_FROM_NOW, StartInterval(2, IntervalUnit.MONTH)
                )
            ),
        ),
        ("START_MODE = FROM_NOW", definition(start_mode=StartMode(StartModeType.FROM_NOW))),
        (
            "START_MODE = RESUME_OR_FROM_TIMESTAMP(TIMESTAMP '2025-10-28 10:00:00')",
            definition(
                start_mode=StartMode(
                    StartModeType.RESUME_OR_FROM_TIMESTAMP, timestamp="2025-10-28 10:00:00"
                )
            ),
        ),
        (
            "STATE_RETENTION = ALL",
            definition(state_retention=StateRetention(StateRetentionType.ALL)),
        ),
        (
            "STATE_RETENTION = PTF_ONLY('a', 'b''c')",
            definition(state_retention=StateRetention(StateRetentionType.PTF_ONLY, ("a", "b'c"))),
        ),
    ],
)
def test_clauses_of_create(head, expected):
    assert declared(head) == expected


def test_both_orders_of_the_two_pairs():
    refresh = "FRESHNESS = INTERVAL '1' HOUR REFRESH_MODE = FULL"
    evolution = "START_MODE = FROM_BEGINNING STATE_RETENTION = NONE"
    assert declared(f"WITH ('a' = 'b') {refresh} {evolution}") == declared(
        f"WITH ('a' = 'b') {evolution} {refresh}"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t", TableName("t")),
        ("s.t", TableName("t", "s")),
        ("`a.b` . s.`t``😀`", TableName("t`😀", "s", "a.b")),
        ("2024_orders", TableName("2024_orders")),
        ("s.2024_orders", TableName("2024_orders", "s")),
        ("select", TableName("select")),
        ("if", TableName("if")),
        ("table.materialized", TableName("materialized", "table")),
        ("Größe", TableName("Größe")),
    ],
)
def test_names(text, name):
    assert parse(f"DROP MATERIALIZED TABLE {text}") == DropTable(name)
    assert parse(f"ALTER MATERIALIZED TABLE {text} SUSPEND") == Suspend(name)
    created = parse(f"CREATE MATERIALIZED TABLE {text} AS SELECT 1")
    assert created == CreateTable(CreateForm.CREATE, name, definition())


@pytest.mark.parametrize(
    ("head", "form", "guarded"),
    [
        ("create materialized table", CreateForm.CREATE, False),
        ("CREATE MATERIALIZED TABLE IF NOT EXISTS", CreateForm.CREATE, True),
        ("CREATE OR ALTER MATERIALIZED TABLE", CreateForm.CREATE_OR_ALTER, False),
        (
            "Create Or /* x */ Replace Materialized -- y\n Table",
            CreateForm.CREATE_OR_REPLACE,
            False,
        ),
    ],
)
def test_forms_of_create(head, form, guarded):
    assert parse(f"{head} t AS SELECT 1") == CreateTable(form, T, definition(), guarded)


@pytest.mark.parametrize(
    ("tail", "query"),
    [
        ("\nSELECT 1\n", "SELECT 1"),
        (" SELECT 1;", "SELECT 1"),
        (" SELECT ';' -- ; it's\n ; -- after\n ; /* after */ ", "SELECT ';' -- ; it's"),
        (" /* first */ SELECT 1 -- last", "/* first */ SELECT 1 -- last"),
        ('\r\n  SELECT\r\n\t`a;b`, "x;y" ', 'SELECT\r\n\t`a;b`, "x;y"'),
        (" (SELECT 1)", "(SELECT 1)"),
        (" WITH c AS (SELECT 1) SELECT * FROM c", "WITH c AS (SELECT 1) SELECT * FROM c"),
        (" FROM STREAM t |> SELECT x:a.b::int", "FROM STREAM t |> SELECT x:a.b::int"),
        (" SELECT a.b c, d.e FROM f.g h JOIN i.j", "SELECT a.b c, d.e FROM f.g h JOIN i.j"),
        (" SELECT /*+ BROADCAST(t) */ 1", "SELECT /*+ BROADCAST(t) */ 1"),
        (" SELECT 1 -- /*+ OPTIONS('a'='b') */", "SELECT 1 -- /*+ OPTIONS('a'='b') */"),
    ],
)
def test_the_query_is_taken_byte_for_byte(tail, query):
    sql = f"/* 😀 */ CREATE MATERIALIZED TABLE t AS{tail}"
    created = parse(sql)
    altered = parse(f"ALTER MATERIALIZED TABLE t AS{tail}")
    added = parse(f"ALTER MATERIALIZED TABLE t ADD{tail}")
    assert isinstance(created, CreateTable)
    assert created.declared.query == query
    assert altered == AlterQuery(T, DeclaredDefinition(query))
    assert added == AddQuery(T, query)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("SUSPEND;", Suspend(T)),
        ("resume", Resume(T)),
        ("RESUME WITH('a'='b')", Resume(T, (("a", "b"),))),
        ("REFRESH", Refresh(T)),
        ("REFRESH PARTITION(ds='20231023')", Refresh(T, (PartitionValue("ds", "'20231023'"),))),
        (
            (
                "REFRESH PARTITION (a = -5, b = + 2L, c = .5, d = DATE '2024-01-01', e = null,"
                " f = True, g = TIMESTAMP_NTZ 'x', h = 'it''s', `i j` = \"k\")"
            ),
            Refresh(
                T,
                (
                    PartitionValue("a", "-5"),
                    PartitionValue("b", "+ 2L"),
                    PartitionValue("c", ".5"),
                    PartitionValue("d", "DATE '2024-01-01'"),
                    PartitionValue("e", None),
                    PartitionValue("f", "True"),
                    PartitionValue("g", "TIMESTAMP_NTZ 'x'"),
                    PartitionValue("h", "'it''s'"),
                    PartitionValue("i j", '"k"'),
                ),
            ),
        ),
        ("SET FRESHNESS = INTERVAL '1' DAY", SetClause(T, "freshness", Freshness(1, TimeUnit.DAY))),
        ("RESET FRESHNESS", SetClause(T, "freshness", None)),
        (
            "SET REFRESH_MODE = automatic",
            SetClause(T, "refresh_mode", LogicalRefreshMode.AUTOMATIC),
        ),
        ("SET ('k' = 'v')", SetOptions(T, (("k", "v"),))),
        ("RESET ('k', 'l')", ResetOptions(T, ("k", "l"))),
        ("SET COMMENT 'x'", SetClause(T, "comment", "x")),
        (
            "WITH ('a' = 'b') SET START_MODE = FROM_NOW SET STATE_RETENTION = PTF_ONLY AS SELECT 1",
            AlterQuery(
                T,
                DeclaredDefinition(
                    "SELECT 1",
                    start_mode=StartMode(StartModeType.FROM_NOW),
                    state_retention=StateRetention(StateRetentionType.PTF_ONLY),
                ),
                (("a", "b"),),
            ),
        ),
        (
            "SET STATE_RETENTION = ALL AS SELECT 1",
            AlterQuery(
                T,
                DeclaredDefinition(
                    "SELECT 1", state_retention=StateRetention(StateRetentionType.ALL)
                ),
            ),
        ),
        ("ADD ((SELECT 1))", AddQuery(T, "((SELECT 1))")),
    ],
)
def test_forms_of_alter(form, expected):
    assert parse(f"ALTER MATERIALIZED TABLE t {form}") == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ADOPT MATERIALIZED TABLE t AS SELECT 1", nodes.Adopt(T, DeclaredDefinition("SELECT 1"))),
        (
            "ADOPT MATERIALIZED TABLE t IF EQUAL COMMENT 'c' AS SELECT 1",
            nodes.Adopt(T, DeclaredDefinition("SELECT 1", comment="c"), if_equal=True),
        ),
        (
            "ADOPT MATERIALIZED TABLE t AS OF TIMESTAMP '2026-01-31 08:00:00+00:00' AS SELECT 1",
            nodes.Adopt(
                T,
                DeclaredDefinition("SELECT 1"),
                as_of=datetime(2026, 1, 31, 8, tzinfo=timezone.utc),
            ),
        ),
        ("ALTER MATERIALIZED TABLE t RELEASE", nodes.Release(T)),
        ("CHECK MATERIALIZED TABLE t QUERY", nodes.CheckTable(T, nodes.CheckKind.QUERY)),
        (
            "CHECK MATERIALIZED TABLE t FRESHNESS WITHIN INTERVAL '2' HOURS",
            nodes.CheckTable(T, nodes.CheckKind.FRESHNESS, Freshness.of("2", "HOUR")),
        ),
        ("DROP MATERIALIZED TABLE IF EXISTS t", DropTable(T, if_exists=True)),
        ("SHOW MATERIALIZED TABLES", ShowTables()),
        ("SHOW MATERIALIZED TABLES FROM c.`s d`", ShowTables(("c", "s d"))),
        ("SHOW MATERIALIZED TABLES IN s LIKE 'a%'", ShowTables(("s",), "a%")),
        ("SHOW MATERIALIZED TABLES NOT LIKE 'a\\_'", ShowTables((), "a\\_", negated=True)),
        ("SHOW CREATE MATERIALIZED TABLE t", ShowCreate(T)),
        ("SHOW CREATE OR ALTER MATERIALIZED TABLE t;", ShowCreate(T, or_alter=True)),
        ("DESC MATERIALIZED TABLE t", DescribeTable(T)),
        ("DESCRIBE EXTENDED MATERIALIZED TABLE t", DescribeTable(T, extended=True)),
        ("DESCRIBE MATERIALIZED TABLE EXTENDED t", DescribeTable(T, extended=True)),
        ("DESC MATERIALIZED TABLE extended", DescribeTable(TableName("extended"))),
        ("DESC MATERIALIZED TABLE extended.t", DescribeTable(TableName("t", "extended"))),
        ("DESC JOB 'x-1'", DescribeJob("x-1")),
        ("SHOW JOBS;", ShowJobs()),
        (
            "EXPLAIN CREATE MATERIALIZED TABLE t AS SELECT 1",
            Explain(CreateTable(CreateForm.CREATE, T, definition())),
        ),
        (
            "EXPLAIN ADOPT MATERIALIZED TABLE t IF EQUAL AS SELECT 1",
            Explain(nodes.Adopt(T, DeclaredDefinition("SELECT 1"), if_equal=True)),
        ),
        (
            "EXPLAIN ALTER MATERIALIZED TABLE t AS SELECT 1",
            Explain(AlterQuery(T, DeclaredDefinition("SELECT 1"))),
        ),
    ],
)
def test_the_other_statements(sql, expected):
    assert parse(sql) == expected


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("SELECT id FROM s;", "SELECT id FROM s"),
        (" SELECT id FROM s ;;\n -- the end\n/* ; */ ; ", "SELECT id FROM s"),
        ("SELECT ';' AS a -- ;\n FROM `s;`", "SELECT ';' AS a -- ;\n FROM `s;`"),
        ("-- first;\nSELECT 1; -- last", "-- first;\nSELECT 1"),
        ("SELECT 1", "SELECT 1"),
        ("", ""),
    ],
)
def test_a_query_is_read_without_the_semicolons_after_it(text, query):
    assert query_text(text) == query


def test_a_query_with_a_second_statement_is_refused():
    with raises(conditions.MULTIPLE_STATEMENTS):
        query_text("SELECT 1; SELECT 2")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t", TableName("t")),
        ("s.t", TableName("t", "s")),
        (" `a b`.`s.x`.t ", TableName("t", "s.x", "a b")),
    ],
)
def test_a_name_alone(text, name):
    assert parse_name(text) == name


@pytest.mark.parametrize(
    "text", ["", "a b", "a.b.c.d", "`a", "a-b", "a;b", "*", "a.", "a..b", "``", "IF EXISTS t"]
)
def test_an_error_about_a_name_shows_the_name_and_no_statement(text):
    with pytest.raises(StatementSyntaxError) as error:
        parse_name(text)
    assert "DROP" not in str(error.value)
