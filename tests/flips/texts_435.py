"""Statements of FLIP-435 whose text alone decides the outcome."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.statements.nodes import (
    AddQuery,
    DescribeJob,
    DropTable,
    PartitionValue,
    Refresh,
    ResetOptions,
    Resume,
    SetClause,
    SetOptions,
    Suspend,
)
from tests.flips.text import ALTER, CREATE, Text, altered, created

TEXTS_435: tuple[Text, ...] = (
    created(
        435,
        "SQL Statements, Create",
        "FRESHNESS = INTERVAL '1' SECOND",
        freshness=Freshness(1, TimeUnit.SECOND),
    ),
    created(
        435,
        "SQL Statements, Create",
        "REFRESH_MODE = CONTINUOUS",
        refresh_mode=LogicalRefreshMode.CONTINUOUS,
    ),
    created(
        435, "SQL Statements, Create", "REFRESH_MODE = FULL", refresh_mode=LogicalRefreshMode.FULL
    ),
    Text(
        435,
        "SQL Statements, Create",
        "options without quotes around keys and values, as the grammar's `(key1=val1)` suggests",
        CREATE.format("WITH (key1 = val1)"),
        error=conditions.SYNTAX_ERROR,
        differs="keys and values are texts in quotes, as in every example",
    ),
    Text(
        435,
        "SQL Statements, Create",
        "a grammar line typed as it is",
        "CREATE MATERIALIZED TABLE [catalog_name.][db_name.]table_name AS <query>",
        error=conditions.SYNTAX_ERROR,
    ),
    Text(
        435,
        "SQL Statements, Create",
        "a key without NOT ENFORCED",
        CREATE.format("(PRIMARY KEY (a))"),
        error=conditions.ENFORCED_KEY,
    ),
    Text(
        435,
        "SQL Statements, Create",
        "`CREATE TEMPORARY MATERIALIZED TABLE`",
        "CREATE TEMPORARY MATERIALIZED TABLE t AS SELECT 1",
        error=conditions.TEMPORARY,
    ),
    Text(
        435,
        "FRESHNESS Clause",
        "FRESHNESS after REFRESH_MODE",
        CREATE.format("REFRESH_MODE = FULL FRESHNESS = INTERVAL '1' DAY"),
        error=conditions.CLAUSE_OUT_OF_ORDER,
        facts={"before": "REFRESH_MODE"},
    ),
    altered(435, "ALTER, Suspend", "SUSPEND", Suspend, **{"name.catalog": "cat"}),
    altered(435, "ALTER, Resume", "RESUME", Resume, options=()),
    altered(
        435,
        "ALTER, Resume",
        "RESUME WITH('key1' = 'val1', 'key2' = 'val2')",
        Resume,
        options=(("key1", "val1"), ("key2", "val2")),
    ),
    altered(435, "ALTER, Refresh", "REFRESH", Refresh, partition=()),
    altered(
        435,
        "ALTER, Refresh",
        "REFRESH PARTITION (key1='val1', key2=2)",
        Refresh,
        partition=(PartitionValue("key1", "'val1'"), PartitionValue("key2", "2")),
    ),
    altered(
        435,
        "ALTER, Set",
        "SET FRESHNESS = INTERVAL '1' HOUR",
        SetClause,
        field="freshness",
        value=Freshness(1, TimeUnit.HOUR),
    ),
    altered(
        435,
        "ALTER, Set",
        "SET REFRESH_MODE = FULL",
        SetClause,
        field="refresh_mode",
        value=LogicalRefreshMode.FULL,
    ),
    altered(
        435,
        "ALTER, Set",
        "SET REFRESH_MODE = CONTINUOUS",
        SetClause,
        field="refresh_mode",
        value=LogicalRefreshMode.CONTINUOUS,
    ),
    altered(435, "ALTER, Set", "SET ('key' = 'val');", SetOptions, options=(("key", "val"),)),
    altered(435, "ALTER, Reset", "RESET ('key');", ResetOptions, keys=("key",)),
    *(
        Text(
            435,
            "ALTER",
            f"`ALTER … {form}`: refused, and the error lists the forms that exist",
            ALTER.format(form),
            error=conditions.UNSUPPORTED_ALTER,
            differs=differs,
        )
        for form, differs in (
            ("RENAME TO t2", ""),
            ("ADD COLUMN c INT", "columns come from the query: ALTER … AS, or CREATE OR ALTER"),
            ("DROP PARTITION (ds = '1')", ""),
        )
    ),
    Text(
        435,
        "Drop",
        "`DROP MATERIALIZED TABLE IF EXISTS`",
        "DROP MATERIALIZED TABLE IF EXISTS cat.db.t",
        DropTable,
        {"if_exists": True},
    ),
    Text(435, "Describe Job", "`DESC JOB '…'`", "DESC JOB 'b8a1'", DescribeJob, {"job_id": "b8a1"}),
    Text(
        435,
        "Describe Job",
        "`DESCRIBE JOB` with a name that is not in quotes",
        "DESCRIBE JOB b8a1",
        differs="goes to Spark: `job` may be a table's name there",
    ),
    Text(
        435,
        "Future Improvements, Modify Select Statement Limitation",
        "`ALTER … ADD query`",
        ALTER.format("ADD\nSELECT a, c -- added\nFROM s"),
        AddQuery,
        {"query": "SELECT a, c -- added\nFROM s"},
    ),
    Text(
        435,
        "Future Improvements, Modify Select Statement Limitation",
        "the comma that the added query lacks",
        ALTER.format("ADD SELECT o.ds\n  o.id, count(*) n FROM s AS o"),
        error=conditions.MISSING_COMMA,
        facts={"suggestion": "o.ds, o.id", "line": "2"},
    ),
)
