"""Statements about materialized tables as SQL of a classic session."""

from __future__ import annotations

from datetime import datetime

import pytest

from dbt.adapters.spark_mt.api import MaterializedTables
from tests.support.page_blocks import block

SUMS = "SELECT k, sum(v) AS total FROM orders GROUP BY k"


@pytest.fixture
def sql(session, schema):
    """The SQL of a session in which the statements are enabled, with a table `orders`."""
    MaterializedTables(session).enable_sql()
    session.sql(f"USE {schema}")
    session.sql("CREATE TABLE orders (k INT, v INT) USING delta")
    session.sql("INSERT INTO orders VALUES (1, 10), (1, 5), (2, 7)")
    return session.sql


def refusal(call):
    """The exception that a statement raises."""
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as raised:
        call()
    return raised.value


def test_statements_of_a_notebook(sql, schema):
    """Each statement runs once, in the session's schema, and its rows have their types."""
    created = sql(f"CREATE OR ALTER MATERIALIZED TABLE t AS {SUMS}")
    assert created.collect() == created.collect()
    assert created.first().action == "CREATED"
    assert created.first().changes == ["table created"]
    assert sql("SELECT * FROM t ORDER BY k").collect() == [(1, 15), (2, 7)]
    sql("INSERT INTO orders VALUES (3, 1)")
    refreshed = sql("ALTER MATERIALIZED TABLE t REFRESH").first()
    assert (refreshed.status, refreshed.rows) == ("REFRESHED", 3)
    assert f"spark_catalog.{schema}.orders" in refreshed.positions_to
    shown = sql("SHOW MATERIALIZED TABLES")
    assert [row.table_name for row in shown.collect()] == ["t"]
    started = [
        row.start_time for row in sql("SHOW JOBS").filter(f"table LIKE '%{schema}.t'").collect()
    ]
    assert len(started) == 2
    assert all(isinstance(each, datetime) for each in started)
    assert sql("DROP MATERIALIZED TABLE t").first().action == "DROPPED"


def test_the_lines_of_the_page(session, sql, capsys):
    """As docs/plain-sql.md has them for a notebook."""
    exec(block("plain-sql.md", "A notebook, a Spark of your own", "python"), {"spark": session})  # noqa: S102 - the page's lines
    assert "sums" in capsys.readouterr().out
    assert sql("SELECT * FROM sums ORDER BY k").collect() == [(1, 15), (2, 7)]


def test_an_error_has_our_condition(sql):
    """PySpark raises it with condition, SQLSTATE, parameters and text, and without a stack."""
    error = refusal(lambda: sql("ALTER MATERIALIZED TABLE missing REFRESH"))
    assert error.getCondition() == "MATERIALIZED_TABLE_NOT_FOUND"
    assert error.getSqlState() == "42P01"
    assert error.getMessageParameters()["table"].endswith(".missing")
    assert "SHOW MATERIALIZED TABLES lists" in str(error)
    assert "\tat " not in str(error)
    error = refusal(lambda: sql("CREATE MATERIALIZED TABLE t FRESHNESS 3 AS SELECT 1"))
    assert error.getSqlState() == "42601"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'CREATE MATERIALIZED TABLE t AS SELECT 1' AS text",
        "SELECT 1 AS jobs -- SHOW JOBS",
        "/* CREATE MATERIALIZED TABLE t AS SELECT 1 */ SELECT 1",
        "WITH materialized AS (SELECT 1 AS jobs) SELECT * FROM materialized",
        "SHOW TABLES -- materialized",
    ],
)
def test_a_text_that_only_mentions_our_keywords_is_of_spark(sql, statement):
    """Spark runs it."""
    sql(statement).collect()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW t AS CREATE MATERIALIZED TABLE u AS SELECT 1",
        "BEGIN CREATE MATERIALIZED TABLE t AS SELECT 1; END",
        "RESUME MATERIALIZED TABLE t",
        "WITH c AS (ALTER MATERIALIZED TABLE t REFRESH) SELECT * FROM c",
        "CREATE MATERIALIZED 'TABLE",
        "/* CREATE MATERIALIZED TABLE t AS SELECT 1",
        "SELECT 1; SHOW MATERIALIZED TABLES",
        "SELECT * FROM (SHOW MATERIALIZED TABLES)",
    ],
)
def test_what_is_unknown_is_refused_by_spark(sql, statement):
    """The message is Spark's, and nothing is done."""
    conditions = {"PARSE_SYNTAX_ERROR", "UNCLOSED_BRACKETED_COMMENT"}
    assert refusal(lambda: sql(statement)).getCondition() in conditions
    assert sql("SHOW MATERIALIZED TABLES").collect() == []


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("CREATE MATERIALIZED TABLE t AS SELECT 1 AS a; SELECT 2", "MULTIPLE_STATEMENTS"),
        ("CREATE MATERIALIZED TABLE t AS SELECT 'a", "UNREADABLE_TEXT"),
        ("CREATE MATERIALIZED TABLE t AS SELECT 1 /* a", "UNREADABLE_TEXT"),
        ("CREATE MATERIALIZED TABLE nowhere.s.t AS SELECT 1 AS a", "INVALID_NAME"),
    ],
)
def test_bad_statements_are_refused(sql, statement, condition):
    """The error is ours, and nothing is done."""
    error = refusal(lambda: sql(statement))
    assert error.getCondition() == f"MATERIALIZED_TABLE_{condition}"
    assert sql("SHOW MATERIALIZED TABLES").collect() == []


def test_values_of_parameters_are_refused(sql):
    """They are not left out in silence."""
    for values in ({"a": 1}, [1]):
        error = refusal(
            lambda values=values: sql("CREATE MATERIALIZED TABLE t AS SELECT 1 AS a", values)
        )
        assert error.getCondition() == "MATERIALIZED_TABLE_SQL_PARAMETERS"
    assert sql("SHOW MATERIALIZED TABLES").collect() == []


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW MATERIALIZED TABLES LIKE 'none'\n;",
        '/* {"app": "dbt"} */ SHOW MATERIALIZED TABLES LIKE \'none\'',
        "-- of a tool\n\tSHOW /* between */ MATERIALIZED\r\nTABLES LIKE 'none' -- after",
        "\u00a0SHOW\u00a0MATERIALIZED TABLES LIKE 'none'",
    ],
)
def test_blanks_and_comments_that_clients_send(sql, statement):
    """What Spark's lexer skips is skipped: users of other hooks met each of these."""
    shown = sql(statement)
    assert "table_name" in shown.columns
    assert shown.collect() == []


def test_execute_immediate(sql):
    """It runs the text that it is given, in a script too."""
    sql("EXECUTE IMMEDIATE 'CREATE MATERIALIZED TABLE t AS SELECT k FROM orders'")
    assert sql("SELECT count(*) FROM t").first()[0] == 3
    sql("BEGIN EXECUTE IMMEDIATE 'DROP MATERIALIZED TABLE t'; END")
    assert sql("SHOW MATERIALIZED TABLES").collect() == []


def test_functions_in_sql_are_resolved_by_the_parser_below(sql):
    """Spark asks a session's parser for their parameters; other hooks did not pass this on."""
    sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    assert sql("SELECT plus(1)").first()[0] == 2


def test_a_temporary_view_is_refused_by_name(sql):
    """It exists in this session only."""
    sql("CREATE TEMPORARY VIEW mine AS SELECT 1 AS a")
    error = refusal(lambda: sql("CREATE MATERIALIZED TABLE t AS SELECT * FROM mine"))
    assert error.getCondition() == "MATERIALIZED_TABLE_TEMPORARY_OBJECT"
    assert "mine" in str(error)


def test_enabling_again_replaces_the_hook(session, sql):
    """A statement is carried out once, and sessions made later understand them, too."""
    MaterializedTables(session).enable_sql()
    sql(f"CREATE MATERIALIZED TABLE t AS {SUMS}")
    name = f"spark_catalog.{session.catalog.currentDatabase()}.t"
    assert sql("SHOW JOBS").filter(f"table = '{name}'").count() == 1
    other = session.newSession()
    other.sql(f"USE {session.catalog.currentDatabase()}")
    assert other.sql("ALTER MATERIALIZED TABLE t REFRESH").first().status == "UP_TO_DATE"


def test_a_statement_of_ten_megabytes(sql):
    """It is carried out, and one of Spark as well."""
    text = "x" * 10_000_000
    sql(f"CREATE MATERIALIZED TABLE t /* {text} */ AS SELECT k FROM orders")
    assert sql(f"SELECT count(*) AS jobs FROM t -- {text}").first()[0] == 3
