"""What a program with a plain Spark session sees on its standard error.

Statements of ours that succeed say nothing there. PySpark logs the user's failing statements.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.server import environment
from tests.functional.processes.serving import SHORT

ROOT = Path(__file__).parents[3]
NOTICE = "WARN SparkStringUtils: Truncated the string representation of a plan"
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from dbt.adapters.spark_mt.api import MaterializedTableError, MaterializedTables

def mark(text):
    print(f"\\n-- {text}", file=sys.stderr, flush=True)

def failing(run):
    try:
        run()
    except Exception as error:
        return error
    raise AssertionError("it did not fail")

url, confs, schema, refused = json.loads(sys.argv[1])
builder = SparkSession.builder
if url:
    spark = builder.remote(url).create()
else:
    builder = builder.master("local[2]")
    for key, value in confs.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
spark.sql(f"CREATE SCHEMA {schema}")
spark.sql(f"USE {schema}")
spark.sql("CREATE TABLE src USING delta AS SELECT 1 AS a, 'x' AS b")
tables = MaterializedTables(spark)
mark("ours")
for statement in (
    "SHOW MATERIALIZED TABLES",
    "CREATE MATERIALIZED TABLE m REFRESH_MODE = FULL AS SELECT a, b FROM src",
    "ALTER MATERIALIZED TABLE m REFRESH",
    "SHOW MATERIALIZED TABLES",
    "EXPLAIN CREATE MATERIALIZED TABLE n AS SELECT s.a, count(*) AS c FROM src AS s GROUP BY s.a",
    "DROP MATERIALIZED TABLE IF EXISTS nothing",
    "DROP MATERIALIZED TABLE m",
):
    tables.sql(statement).collect()
for number, text in enumerate(refused):
    mark(f"refused {number}")
    for statement in text.split(";"):
        is_ours = "MATERIALIZED" in statement
        try:
            (tables if is_ours else spark).sql(statement.strip())
        except MaterializedTableError:
            assert is_ours
mark("the user's, by Spark")
failing(lambda: spark.sql("SELECT * FROM not_there").collect())
mark("the user's, by us")
failing(lambda: tables.sql("SELECT * FROM nor_there").collect())
mark("end")
if url:
    spark.sql(f"DROP SCHEMA {schema} CASCADE")
    spark.client.release_session()
spark.stop()
"""


_OF_ONE = "CREATE MATERIALIZED TABLE z AS SELECT"
_STRICT = "CREATE MATERIALIZED TABLE z WITH ('incremental' = 'strict') AS SELECT"
REFUSED = [
    f"{_OF_ONE} nope FROM src",
    f"{_OF_ONE} a FROM not_there",
    f"{_OF_ONE} nope(a) FROM src",
    f"{_OF_ONE} a FROM",
    f"{_OF_ONE} a, FROM src",
    f"{_OF_ONE} CAST('x' AS INT) AS a FROM src",
    f"{_OF_ONE} 1 / (a - 1) AS a FROM src",
    f"{_OF_ONE} array(1)[a + 5] AS a FROM src",
    f"{_OF_ONE} raise_error('no') AS a FROM src",
    f"{_OF_ONE} a FROM src ORDER BY ALL LIMIT 2; DROP MATERIALIZED TABLE z",
    f"{_STRICT} a FROM src ORDER BY ALL LIMIT 2; DROP MATERIALIZED TABLE z",
    f"{_STRICT} a, row_number() OVER (ORDER BY b) AS n FROM src",
    f"{_STRICT} a, rand() AS r FROM src",
    (
        f"{_STRICT} a, count(*) AS n FROM src GROUP BY a; UPDATE src SET a = a + 1; "
        "ALTER MATERIALIZED TABLE z REFRESH; DROP MATERIALIZED TABLE z"
    ),
    f"{_OF_ONE} * FROM range(3); DROP MATERIALIZED TABLE z",
    f"{_OF_ONE} a FROM src TABLESAMPLE (50 PERCENT); DROP MATERIALIZED TABLE z",
    f"{_OF_ONE} a FROM src VERSION AS OF 0; DROP MATERIALIZED TABLE z",
    f"{_OF_ONE} a FROM src VERSION AS OF 99",
    (
        "CREATE TABLE csvs (a INT) USING csv; INSERT INTO csvs VALUES (1); "
        f"{_OF_ONE} a FROM csvs; ALTER MATERIALIZED TABLE z REFRESH; DROP MATERIALIZED TABLE z; "
        f"{_STRICT} a FROM csvs; DROP MATERIALIZED TABLE z"
    ),
    "CREATE VIEW seen AS SELECT a FROM src; " + f"{_OF_ONE} a FROM seen; DROP VIEW seen; "
    "ALTER MATERIALIZED TABLE z REFRESH; DROP MATERIALIZED TABLE z",
    "ALTER MATERIALIZED TABLE not_there REFRESH",
    "DROP MATERIALIZED TABLE not_there",
    "ALTER MATERIALIZED TABLE src REFRESH",
    "CREATE MATERIALIZED TABLE src AS SELECT 1 AS a",
    "CREATE MATERIALIZED TABLE no_schema.z AS SELECT 1 AS a",
    "EXPLAIN CREATE MATERIALIZED TABLE z AS SELECT nope FROM src",
    "DESCRIBE MATERIALIZED TABLE not_there",
    "CREATE MATERIALIZED TABLE z (PRIMARY KEY (b)) AS SELECT a FROM src",
    (
        "CREATE TABLE odd (id INT, o INT) USING delta; "
        f"{_OF_ONE} id FROM odd; CREATE OR REPLACE TABLE odd USING delta AS SELECT 3 AS id, "
        "array(1) AS o; ALTER MATERIALIZED TABLE z REFRESH; DROP MATERIALIZED TABLE z"
    ),
    (
        "CREATE TABLE zero (id INT) USING delta; "
        f"{_OF_ONE} id, 1 / id AS q FROM zero; INSERT INTO zero VALUES (0); "
        "ALTER MATERIALIZED TABLE z REFRESH; DROP MATERIALIZED TABLE z"
    ),
]
"""Statements, separated by semicolons. What of them is refused or fails is an exception of ours."""


def standard_error(
    directory: Path, url: str, confs: dict[str, str], refused: list[str]
) -> dict[str, str]:
    """Run the program, and return what it wrote to its standard error after each mark."""
    requested = json.dumps([url, confs, "standard_error", refused])
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, requested],
        cwd=directory,
        env={**environment(), "PYTHONPATH": str(ROOT), "SPARK_CONNECT_LOG_LEVEL": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = done.stderr.split("\n-- ")[1:]
    return {mark: without_notice(text) for mark, _, text in (p.partition("\n") for p in parts)}


def without_notice(text: str) -> str:
    """Leave out what Spark says once per JVM about any table of more than 25 columns."""
    return "\n".join(line for line in text.splitlines() if line and NOTICE not in line)


def logged(text: str) -> dict[str, object]:
    """The record of the statement that failed, among what the Connect client logs of its call."""
    records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    found = [each for each in records if each["logger"] == "SQLQueryContextLogger"]
    assert len(found) == 1, text
    return found[0]


def check(recorded: dict[str, str]) -> None:
    assert recorded["ours"] == ""
    texts = [text for mark, text in recorded.items() if mark.startswith("refused")]
    assert texts
    for text in texts:
        lines = text.splitlines()
        assert not [
            line for line in lines if line.startswith(("{", "\tat ")) or "Caused by" in line
        ]
    for mark, table in (("the user's, by Spark", "not_there"), ("the user's, by us", "nor_there")):
        record = logged(recorded[mark])
        assert record["context"] == {"errorClass": "TABLE_OR_VIEW_NOT_FOUND"}
        assert table in str(record["msg"])


_SOME = [REFUSED[number] for number in (0, 6, 9, 11, 18)]
_REFUSED = pytest.mark.parametrize(
    "refused",
    [_SOME, pytest.param(REFUSED, marks=pytest.mark.conformance)],
    ids=["some", "all"],
)


@pytest.mark.conformance
@_REFUSED
def test_in_a_session_of_the_process_in_a_new_catalog(tmp_path, refused):
    # Spark draws its progress bar there when a stage takes longer than half a second.
    quiet = {"spark.ui.showConsoleProgress": "false"}
    confs = {**SHORT, **quiet, "spark.sql.warehouse.dir": str(tmp_path / "warehouse")}
    del confs["spark.log.level"]  # as Spark logs by default, the JVM too
    check(standard_error(tmp_path, "", confs, refused))


@_REFUSED
def test_over_connect(tmp_path, server, refused):
    check(standard_error(tmp_path, server.url, {}, refused))
