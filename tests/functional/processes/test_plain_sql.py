"""Plain SQL of clients of the manager's Spark Connect server, which have nothing of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from uuid import uuid4

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.spark.launch.jvm import java
from dbt.adapters.spark_mt.statements import parser
from tests.support.page_blocks import block
from tools.docs_data.statements import STATEMENTS

SCHEMA = "plain"
PAGE_URL = "sc://localhost:15002/;token=…"
SUMS = "SELECT k, sum(v) AS total FROM orders GROUP BY k"
COUNTED = "SELECT k, sum(v) AS total, count(*) AS n FROM orders GROUP BY k"
SLOW = (
    "CREATE MATERIALIZED TABLE slow REFRESH_MODE = FULL AS "
    "SELECT count(*) AS n FROM range(100000000000) WHERE hash(id) = 7"
)
EVERY = (
    (f"EXPLAIN ADOPT MATERIALIZED TABLE kept AS {SUMS}", "step", None),
    (f"ADOPT MATERIALIZED TABLE kept IF EQUAL AS {SUMS}", "action", ["ADOPTED"]),
    ("ALTER MATERIALIZED TABLE kept RELEASE", "action", ["RELEASED"]),
    (
        f"CREATE MATERIALIZED TABLE every (PRIMARY KEY (k) NOT ENFORCED) AS {SUMS}",
        "action",
        ["CREATED"],
    ),
    (f"CREATE MATERIALIZED TABLE IF NOT EXISTS every AS {SUMS}", "action", ["UNCHANGED"]),
    (
        f"CREATE OR REPLACE MATERIALIZED TABLE every (PRIMARY KEY (k) NOT ENFORCED) AS {SUMS}",
        "action",
        ["REPLACED"],
    ),
    ("ALTER MATERIALIZED TABLE every SET FRESHNESS = INTERVAL '1' DAY", "action", ["ALTERED"]),
    ("ALTER MATERIALIZED TABLE every RESET FRESHNESS", "action", ["ALTERED"]),
    ("ALTER MATERIALIZED TABLE every SET REFRESH_MODE = FULL", "action", ["ALTERED"]),
    ("ALTER MATERIALIZED TABLE every SET ('schema.type-widening' = 'true')", "action", ["ALTERED"]),
    ("ALTER MATERIALIZED TABLE every RESET ('schema.type-widening')", "action", ["ALTERED"]),
    ("ALTER MATERIALIZED TABLE every SET COMMENT 'it''s'", "action", ["ALTERED"]),
    (f"EXPLAIN ALTER MATERIALIZED TABLE every AS {COUNTED}", "step", None),
    (f"ALTER MATERIALIZED TABLE every AS {COUNTED}", "action", ["ALTERED"]),
    (
        "ALTER MATERIALIZED TABLE every ADD SELECT k, max(v) AS most FROM orders GROUP BY k",
        "action",
        ["ALTERED"],
    ),
    ("ALTER MATERIALIZED TABLE every SUSPEND", "action", ["SUSPENDED"]),
    ("ALTER MATERIALIZED TABLE every RESUME", "action", ["RESUMED"]),
    ("ALTER MATERIALIZED TABLE every REFRESH", "status", ["UP_TO_DATE"]),
    ("CHECK MATERIALIZED TABLE every HEALTH", "problem", []),
    ("CHECK MATERIALIZED TABLE every FRESHNESS WITHIN INTERVAL '1' DAY", "problem", []),
    ("CHECK MATERIALIZED TABLE every QUERY", "problem", []),
    ("DESC MATERIALIZED TABLE every", "col_name", ["k", "total", "n", "most"]),
    ("SHOW CREATE OR ALTER MATERIALIZED TABLE every", "createtab_stmt", None),
    ("SHOW MATERIALIZED TABLES IN plain LIKE 'every'", "table_name", ["every"]),
    ("SHOW JOBS", "job_id", None),
    ("DESC JOB '{job}'", "job_id", None),
    ("DROP MATERIALIZED TABLE IF EXISTS every", "action", ["DROPPED"]),
)
"""Statements, a column of their rows, and its values."""


@pytest.fixture(scope="module")
def connect(manager):
    """Opens sessions of clients."""
    found = discovery.read(manager.file)
    opened = []

    from pyspark.sql import SparkSession

    def client(schema=None):
        url = f"{found.connect_url}/;token={found.connect_token}"
        spark = SparkSession.builder.remote(url).create()
        opened.append(spark)
        if schema:
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            spark.sql(f"USE {schema}")
        return spark

    yield client
    for spark in opened:
        spark.client.close()


@pytest.fixture(scope="module")
def spark(connect):
    """A client with the table `orders` in its current schema."""
    spark = connect(SCHEMA)
    spark.sql("CREATE TABLE orders (k INT, v INT) USING delta")
    spark.sql("INSERT INTO orders VALUES (1, 10), (1, 5), (2, 7)")
    return spark


def failure(call):
    """The exception that a statement raises."""
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as raised:
        call()
    return raised.value


def test_the_life_of_a_table(spark):
    """Every kind of statement, in the client's schema, with typed rows."""
    made = spark.sql(f"CREATE OR ALTER MATERIALIZED TABLE sums AS {SUMS}")
    assert dict(made.dtypes)["changes"] == "array<string>"
    assert made.first().action == "CREATED"
    assert spark.sql("SELECT * FROM sums ORDER BY k").collect() == [(1, 15), (2, 7)]
    again = spark.sql(f"CREATE OR ALTER MATERIALIZED TABLE sums AS {SUMS}").first()
    assert again.action == "UNCHANGED"
    spark.sql("INSERT INTO orders VALUES (3, 1)")
    refreshed = spark.sql("ALTER MATERIALIZED TABLE sums REFRESH")
    assert dict(refreshed.dtypes)["positions_to"] == "map<string,string>"
    assert (refreshed.first().status, refreshed.first().rows) == ("REFRESHED", 3)
    assert spark.sql("ALTER MATERIALIZED TABLE sums SUSPEND").first().action == "SUSPENDED"
    assert spark.sql("ALTER MATERIALIZED TABLE sums RESUME").first().action == "RESUMED"
    assert [row.table_name for row in spark.sql("SHOW MATERIALIZED TABLES").collect()] == ["sums"]
    jobs = spark.sql("SHOW JOBS").collect()
    assert [job.status for job in jobs if job.table.endswith(".sums")][-2:] == ["FINISHED"] * 2
    assert all(isinstance(job.start_time, datetime) for job in jobs)
    assert spark.sql(f"DESC JOB '{jobs[0].job_id}'").count() == 1
    assert "Freshness" in {
        r.col_name for r in spark.sql("DESC EXTENDED MATERIALIZED TABLE sums").collect()
    }
    created = spark.sql("SHOW CREATE MATERIALIZED TABLE sums").first()[0]
    assert SUMS in created
    explained = spark.sql("EXPLAIN CREATE OR REPLACE MATERIALIZED TABLE sums AS SELECT 1 AS a")
    assert explained.columns[0] == "step"
    assert spark.sql("DROP MATERIALIZED TABLE sums").first().action == "DROPPED"


@pytest.mark.conformance
def test_every_statement_of_the_reference(spark):
    """Each kind of docs/statements.md is carried out, and gives rows."""
    listed = [parser.parse(example) for each in STATEMENTS for example in each.examples]
    assert {type(parser.parse(text)) for text, _, _ in EVERY} == set(map(type, listed))
    spark.sql(f"CREATE TABLE kept USING delta AS {SUMS}")
    job = "none"
    for text, column, values in EVERY:
        rows = spark.sql(text.replace("{job}", job)).select(column).collect()
        if values is None:
            assert rows, text
        else:
            assert [row[0] for row in rows] == values, text
        if column == "job_id":
            job = rows[0].job_id


def test_the_lines_of_the_page(manager, spark, capsys):
    """As docs/plain-sql.md has them for PySpark."""
    spark.sql(f"CREATE OR ALTER MATERIALIZED TABLE sums AS {SUMS}")
    found = discovery.read(manager.file)
    code = block("plain-sql.md", "PySpark over Spark Connect", "python")
    code = code.replace(PAGE_URL, f"{found.connect_url}/;token={found.connect_token}")
    code = code.replace("shop.", f"{SCHEMA}.")
    names = {}
    exec(code.replace("getOrCreate", "create"), names)  # noqa: S102 - the page's lines
    names["spark"].client.close()
    assert "UP_TO_DATE" in capsys.readouterr().out


def test_an_error_over_connect(spark):
    """It has condition, SQLSTATE, parameters and the whole text, and no stack."""
    error = failure(lambda: spark.sql("ALTER MATERIALIZED TABLE missing REFRESH"))
    assert error.getCondition() == "MATERIALIZED_TABLE_NOT_FOUND"
    assert error.getSqlState() == "42P01"
    assert error.getMessageParameters() == {"table": "spark_catalog.plain.missing"}
    assert "CREATE MATERIALIZED TABLE makes one" in str(error)
    assert "\tat " not in str(error)
    long = ", ".join(f"c{n} INTT" for n in range(600))
    error = failure(lambda: spark.sql(f"CREATE MATERIALIZED TABLE t ({long}) AS SELECT 1 AS a"))
    assert "c599" in str(error)


def test_two_clients_have_schemas_and_views_of_their_own(connect, spark):
    """Names are read in the session of the client that sends them."""
    other = connect("elsewhere")
    other.sql("CREATE TEMPORARY VIEW mine AS SELECT 1 AS a")
    error = failure(lambda: other.sql("CREATE MATERIALIZED TABLE t AS SELECT * FROM mine"))
    assert error.getCondition() == "MATERIALIZED_TABLE_TEMPORARY_OBJECT"
    other.sql("CREATE MATERIALIZED TABLE theirs AS SELECT k FROM plain.orders")
    assert [r.table_name for r in other.sql("SHOW MATERIALIZED TABLES").collect()] == ["theirs"]
    assert spark.sql("SHOW MATERIALIZED TABLES LIKE 'theirs'").collect() == []


def test_a_relation_is_not_carried_out_for_its_columns(spark):
    """A client that sends SQL as a relation asks for columns first."""
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.plan import SQL

    shown = DataFrame(SQL(f"CREATE MATERIALIZED TABLE seen AS {SUMS}"), spark)
    error = failure(lambda: shown.schema)
    assert error.getCondition() == "MATERIALIZED_TABLE_SQL_NOT_A_QUERY"
    assert spark.sql("SHOW MATERIALIZED TABLES LIKE 'seen'").collect() == []


@pytest.mark.parametrize("how", ["all", "tag", "operation"])
def test_an_interrupt_ends_the_refresh(connect, manager, monkeypatch, how):
    """The client gets the error when the job's row says so."""
    spark = connect("interrupted")
    request = spark.client._execute_plan_request_with_metadata
    operation, errors = str(uuid4()), []
    monkeypatch.setattr(
        spark.client, request.__name__, lambda operation_id=None: request(operation_id or operation)
    )
    interrupts = {
        "all": spark.interruptAll,
        "tag": lambda: spark.interruptTag("mine"),
        "operation": lambda: spark.interruptOperation(operation),
    }

    def run():
        spark.addTag("mine")
        errors.append(failure(lambda: spark.sql(SLOW)))

    thread = Thread(target=run)
    thread.start()
    end = monotonic() + 60
    while manager.running_jobs() == 0 and monotonic() < end:
        sleep(0.2)
    assert interrupts[how]() == [operation]
    thread.join(60)
    (error,) = errors
    assert error.getCondition() == "OPERATION_CANCELED"
    newest = connect("interrupted").sql("SHOW JOBS").filter("table LIKE '%.slow'").collect()[0]
    assert newest.status == "CANCELED"
    assert manager.running_jobs() == 0


def test_what_is_of_spark_stays_so(spark):
    """Rows and errors are Spark's."""
    assert spark.sql("SELECT 'CREATE MATERIALIZED TABLE' AS jobs").collect() == [
        ("CREATE MATERIALIZED TABLE",)
    ]
    error = failure(lambda: spark.sql("REFILL MATERIALIZED TABLE t"))
    assert error.getCondition() == "PARSE_SYNTAX_ERROR"


def test_statements_leave_no_thread_and_no_file(manager, spark):
    """Threads and connections between Spark and Python are used again."""

    def used():
        processes = manager.process.pid, manager.jvm
        return [
            len([*Path(f"/proc/{process}/{what}").iterdir()])
            for process in processes
            for what in ("fd", "task")
        ]

    def run():
        for number in range(40):
            failure(lambda number=number: spark.sql(f"DROP MATERIALIZED TABLE a b {number}"))

    run()
    before = used()
    run()
    after = used()
    # Spark starts some threads of its own meanwhile.
    assert all(now < then + 20 for now, then in zip(after, before, strict=True)), (before, after)


def test_a_wrong_token_is_refused_by_spark(manager):
    """Before it parses anything."""
    from pyspark.sql import SparkSession

    found = discovery.read(manager.file)
    spark = SparkSession.builder.remote(f"{found.connect_url}/;token=wrong").create()
    with pytest.raises(Exception, match="authentication token"):
        spark.sql("SHOW JOBS")
    spark.client.close()


@pytest.mark.conformance
@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a compiler")
def test_a_jdbc_client(manager, spark, tmp_path):
    """With the driver that PySpark ships."""
    jars = Path(find_spec("pyspark").origin).with_name("jars")
    driver = sorted((jars / "connect-repl").glob("spark-connect-client-j*.jar"))
    others = [
        jar
        for jar in sorted(jars.glob("*.jar"))
        if not jar.name.startswith(("spark-sql_", "spark-connect_"))
    ]
    found = discovery.read(manager.file)
    url = f"jdbc:sc://{found.connect_url.removeprefix('sc://')}/;token={found.connect_token}"
    statements = [
        "USE plain",
        f"CREATE OR ALTER MATERIALIZED TABLE by_jdbc AS {SUMS}",
        "ALTER MATERIALIZED TABLE by_jdbc REFRESH",
        "SHOW MATERIALIZED TABLES LIKE 'by_jdbc'",
        "SELECT count(*) FROM by_jdbc",
        "ALTER MATERIALIZED TABLE missing REFRESH",
        "update: ALTER MATERIALIZED TABLE by_jdbc SUSPEND",
        "SHOW MATERIALIZED TABLES LIKE 'by_jdbc'\n;",
    ]
    opened = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in ("java.nio", "java.lang")]
    path = os.pathsep.join(map(str, (*driver, *others)))

    def run(program, *arguments):
        done = subprocess.run(  # noqa: S603 - our own command
            [str(java()), *opened, "-cp", path, str(program), *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.stdout, done.stderr

    output, errors = run(Path(__file__).with_name("PlainSql.java"), url, *statements)
    lines = output.splitlines()
    assert "CREATE OR ALTER" in lines, output + errors
    assert str(spark.sql("SELECT count(*) FROM by_jdbc").first()[0]) in lines
    assert "[MATERIALIZED_TABLE_NOT_FOUND]" in output
    assert "makes one." in output
    assert "The query produces a ResultSet." in lines
    shown = spark.sql("DESC EXTENDED MATERIALIZED TABLE by_jdbc").collect()
    assert "SUSPENDED" in {row.data_type for row in shown}, "the driver's error comes afterwards"
    of_page = block("plain-sql.md", "JDBC", "java").replace(f"jdbc:{PAGE_URL}", url)
    of_page = of_page.replace("shop.sums", f"{SCHEMA}.by_jdbc")
    program = tmp_path / "Page.java"
    main = "public static void main(String[] none) throws Exception"
    program.write_text(f"import java.sql.*;\nclass Page {{ {main} {{\n{of_page}\n}} }}")
    output, errors = run(program)
    assert output.strip() == "UP_TO_DATE", output + errors
