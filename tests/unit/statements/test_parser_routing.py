import pytest

from dbt.adapters.spark_mt.definition.errors import StatementSyntaxError
from dbt.adapters.spark_mt.statements import parser
from dbt.adapters.spark_mt.statements.nodes import (
    Adopt,
    AlterQuery,
    CheckTable,
    CreateTable,
    DescribeJob,
    DescribeTable,
    DropTable,
    Explain,
    Release,
    ShowCreate,
    ShowJobs,
    ShowTables,
)
from dbt.adapters.spark_mt.statements.parser import parse_statement

QUERY_COMMENT = (
    '/* {"app": "dbt", "node_id": "model.x.materialized", "note": "it\'s /*nested*/"} */'
)


@pytest.mark.parametrize("before", ["", QUERY_COMMENT, "-- it's\n\t/**/ \r\n", "\u00a0"])
@pytest.mark.parametrize(
    ("sql", "node"),
    [
        ("create materialized table t as select 1", CreateTable),
        ("CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1", CreateTable),
        ("CREATE/**/OR REPLACE -- x\n MATERIALIZED\tTABLE t AS SELECT 1", CreateTable),
        ("ALTER MATERIALIZED TABLE`t`AS SELECT 1", AlterQuery),
        ("Drop Materialized Table If Exists t", DropTable),
        ("SHOW MATERIALIZED TABLES", ShowTables),
        ("SHOW CREATE MATERIALIZED TABLE t", ShowCreate),
        ("SHOW CREATE OR ALTER MATERIALIZED TABLE t", ShowCreate),
        ("DESC MATERIALIZED TABLE t", DescribeTable),
        ("DESCRIBE EXTENDED MATERIALIZED TABLE t", DescribeTable),
        ("DESC JOB 'x'", DescribeJob),
        ('describe job r"x"', DescribeJob),
        ("SHOW JOBS", ShowJobs),
        ("adopt materialized table t as select 1", Adopt),
        ("ALTER MATERIALIZED TABLE t RELEASE", Release),
        ("Check Materialized Table t Health", CheckTable),
        ("SHOW JOBS;", ShowJobs),
        ("EXPLAIN CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1", Explain),
        ("EXPLAIN ALTER MATERIALIZED TABLE t AS SELECT 1", Explain),
        ("EXPLAIN ADOPT MATERIALIZED TABLE t AS SELECT 1", Explain),
    ],
)
def test_ours(before, sql, node):
    assert isinstance(parse_statement(f"{before}{sql}"), node)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "SELECT 1",
        "SELECT 'CREATE MATERIALIZED TABLE t AS SELECT 1'",
        "-- CREATE MATERIALIZED TABLE t AS SELECT 1",
        "/* CREATE MATERIALIZED TABLE t AS SELECT 1 */ SELECT 1",
        "/* CREATE MATERIALIZED TABLE t AS SELECT 1",
        "CREATE MATERIALIZED VIEW v AS SELECT 1",
        "CREATE OR REFRESH MATERIALIZED VIEW v AS SELECT 1",
        "CREATE TABLE materialized (a INT)",
        "CREATE TABLE t AS SELECT 'MATERIALIZED TABLE'",
        "CREATE OR REPLACE TABLE materialized AS SELECT 1",
        "CREATE OR REPLACE `MATERIALIZED` TABLE t AS SELECT 1",
        "ALTER TABLE materialized ADD COLUMN a INT",
        "DROP TABLE materialized",
        "SHOW TABLES",
        "SHOW TABLES IN materialized",
        "SHOW CREATE TABLE jobs",
        "SHOW MATERIALIZED VIEWS",
        "SHOW FUNCTIONS LIKE 'jobs'",
        "SHOW JOBSX",
        "DESC materialized",
        "DESC EXTENDED materialized",
        "DESCRIBE TABLE EXTENDED materialized",
        "DESC TABLE materialized",
        "DESC job",
        "DESCRIBE job",
        "DESC job id",
        "DESC job.x",
        "DESC EXTENDED job",
        "DESC QUERY SELECT 'job'",
        "EXPLAIN SELECT * FROM materialized",
        "EXPLAIN EXTENDED CREATE TABLE materialized AS SELECT 1",
        "SELECT * FROM jobs WHERE name = 'it's",
        "SELECT `materialized",
        "SELECT 1; CREATE MATERIALIZED TABLE t AS SELECT 1",
        "materialized table",
    ],
)
def test_sparks(sql):
    assert parse_statement(sql) is None


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("CREATE MATERIALIZED TABLE", "SYNTAX_ERROR"),
        ("CREATE OR UPDATE MATERIALIZED TABLE t AS SELECT 1", "UNKNOWN_VALUE"),
        ("CREATE GLOBAL TEMPORARY MATERIALIZED TABLE t AS SELECT 1", "TEMPORARY"),
        ("CREATE MATERIALIZED TABLE t AS SELECT 'x", "UNREADABLE_TEXT"),
        ("ALTER MATERIALIZED TABLE t RENAME TO u", "UNSUPPORTED_ALTER"),
        ("SHOW MATERIALIZED TABLE", "SYNTAX_ERROR"),
        ("DESC JOB 'x' 'y'", "SYNTAX_ERROR"),
        ("EXPLAIN FORMATTED CREATE MATERIALIZED TABLE t AS SELECT 1", "UNSUPPORTED_EXPLAIN"),
        ("EXPLAIN DROP MATERIALIZED TABLE t", "UNSUPPORTED_EXPLAIN"),
    ],
)
def test_ours_and_wrong(sql, condition):
    with pytest.raises(StatementSyntaxError) as caught:
        parse_statement(sql)
    assert caught.value.condition == f"MATERIALIZED_TABLE_{condition}"


def test_sparks_statements_are_not_tokenized(monkeypatch):
    def refuse(sql):
        raise AssertionError(sql)

    monkeypatch.setattr(parser, "parse", refuse)
    assert parse_statement("SELECT materialized, job FROM jobs " + "x" * 100_000) is None
