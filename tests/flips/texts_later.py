"""Statements of the later FLIPs whose text alone decides the outcome."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.statements.nodes import (
    AlterQuery,
    CreateForm,
    CreateTable,
    DescribeTable,
    ShowCreate,
)
from tests.flips.text import ALTER, CREATE, Text, created


def started(form: str) -> Text:
    """A start mode that is read and printed as it was written."""
    return created(557, "2.2", f"START_MODE = {form}", **{"start_mode.sql": form})


TEXTS_LATER: tuple[Text, ...] = (
    Text(
        492,
        "User Story",
        "`FRESHNESS INTERVAL '1' MINUTE`: place and fix are named",
        CREATE.format("\nFRESHNESS INTERVAL '1' MINUTE\n"),
        error=conditions.MISSING_EQUALS,
        facts={"suggestion": "FRESHNESS = INTERVAL '1' MINUTE", "line": "2", "column": "11"},
    ),
    Text(
        492,
        "ALTER MATERIALIZED TABLE AS",
        "`ALTER … AS query`",
        ALTER.format("AS\nSELECT a, b, c\nFROM s;"),
        AlterQuery,
        {"declared.query": "SELECT a, b, c\nFROM s"},
    ),
    *(
        Text(
            492,
            section,
            f"`/*+ OPTIONS({hint}) */`",
            ALTER.format(f"AS SELECT a FROM s /*+ OPTIONS({hint}) */;"),
            error=conditions.TABLE_HINT,
            facts={"twin": twin},
            differs="Spark has no hints after a table: the error names the start mode",
        )
        for section, hint, twin in (
            (
                "User Story, Scenario 1",
                "'scan.timestamp-millis' = '1678883047356'",
                "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')",
            ),
            ("User Story, Scenario 2", "'scan.mode' = 'latest'", "START_MODE = FROM_NOW"),
            ("Examples, With hint parameters", "'scan.mode'='latest'", "START_MODE = FROM_NOW"),
        )
    ),
    Text(
        492,
        "Replacing a Table",
        "`CREATE OR REPLACE MATERIALIZED TABLE`",
        CREATE.format("").replace("CREATE", "CREATE OR REPLACE"),
        CreateTable,
        {"form": CreateForm.CREATE_OR_REPLACE},
    ),
    Text(
        492,
        "Support Desc Materialized Table",
        "`desc extended MATERIALIZED TABLE t`",
        "desc extended materialized table t",
        DescribeTable,
        {"extended": True},
    ),
    Text(
        492,
        "Rejected Alternatives, 3",
        "`SWAP WITH`",
        ALTER.format("\nSWAP WITH cat.db.u"),
        error=conditions.UNSUPPORTED_ALTER,
        facts={"form": "SWAP WITH"},
    ),
    Text(
        546,
        "3.1",
        "`CREATE OR ALTER MATERIALIZED TABLE`",
        CREATE.format("").replace("CREATE", "CREATE OR ALTER"),
        CreateTable,
        {"form": CreateForm.CREATE_OR_ALTER},
    ),
    *(
        created(
            546, "3.1", f"FRESHNESS = INTERVAL '2' {unit}S", freshness=Freshness(2, TimeUnit[unit])
        )
        for unit in ("SECOND", "MINUTE", "HOUR", "DAY")
    ),
    Text(
        546,
        "3.1",
        "`DISTRIBUTED BY HASH (a) INTO 4 BUCKETS`",
        CREATE.format("DISTRIBUTED BY HASH (a) INTO 4 BUCKETS"),
        error=conditions.DISTRIBUTED,
        differs="Delta has no buckets: the error names CLUSTER BY",
    ),
    Text(
        546,
        "3.1",
        "`DISTRIBUTED INTO 4 BUCKETS`",
        CREATE.format("DISTRIBUTED INTO 4 BUCKETS"),
        error=conditions.DISTRIBUTED,
        differs="Delta has no buckets: the error names CLUSTER BY",
    ),
    created(551, "3.1.1", "", freshness=None, refresh_mode=None),
    created(
        551, "4.4", "REFRESH_MODE = FULL", freshness=None, refresh_mode=LogicalRefreshMode.FULL
    ),
    created(
        551,
        "3.1.1",
        "WITH ('a' = 'b') REFRESH_MODE = CONTINUOUS",
        freshness=None,
        options=(("a", "b"),),
    ),
    *map(
        started,
        (
            "FROM_BEGINNING",
            "FROM_NOW",
            "FROM_NOW(INTERVAL '7' DAY)",
            "FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')",
            "RESUME_OR_FROM_BEGINNING",
            "RESUME_OR_FROM_NOW",
            "RESUME_OR_FROM_NOW(INTERVAL '7' DAY)",
            "RESUME_OR_FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')",
        ),
    ),
    *(
        created(557, "2.2", f"STATE_RETENTION = {form}", **{"state_retention.sql": form})
        for form in ("ALL", "NONE", "PTF_ONLY")
    ),
    created(
        557,
        "2.4",
        "STATE_RETENTION = PTF_ONLY('window', 'join')",
        "the operators follow the keyword; the FLIP names them without a syntax",
        **{"state_retention.operators": ("window", "join")},
    ),
    Text(
        557,
        "2.2",
        "`ALTER … WITH (…) SET START_MODE = … SET STATE_RETENTION = … AS query`",
        ALTER.format(
            "WITH ('a' = 'b') SET START_MODE = FROM_NOW SET STATE_RETENTION = ALL "
            "AS SELECT a FROM s"
        ),
        AlterQuery,
        {
            "options": (("a", "b"),),
            "declared.start_mode.sql": "FROM_NOW",
            "declared.state_retention.sql": "ALL",
        },
    ),
    Text(
        557,
        "2.2",
        "STATE_RETENTION before START_MODE",
        CREATE.format("STATE_RETENTION = NONE START_MODE = FROM_NOW"),
        error=conditions.CLAUSE_OUT_OF_ORDER,
        facts={"before": "STATE_RETENTION"},
    ),
    Text(
        557,
        "2.3",
        "`FROM_TIMESTAMP` without a timestamp",
        CREATE.format("START_MODE = FROM_TIMESTAMP"),
        error=conditions.INVALID_START_MODE_IN_STATEMENT,
    ),
    Text(
        557,
        "2.3",
        "`FROM_BEGINNING(INTERVAL '7' DAY)`",
        CREATE.format("START_MODE = FROM_BEGINNING(INTERVAL '7' DAY)"),
        error=conditions.INVALID_START_MODE_IN_STATEMENT,
    ),
    Text(
        557,
        "2.3",
        "an interval of nothing",
        CREATE.format("START_MODE = FROM_NOW(INTERVAL '0' DAY)"),
        error=conditions.INVALID_START_MODE_IN_STATEMENT,
    ),
    Text(
        557,
        "2.4",
        "operators after another keyword than PTF_ONLY",
        CREATE.format("STATE_RETENTION = ALL('join')"),
        error=conditions.INVALID_STATE_RETENTION_IN_STATEMENT,
    ),
    Text(
        557,
        "6",
        "`REPROCESS`, the rejected form",
        CREATE.format("START_MODE = REPROCESS"),
        error=conditions.UNKNOWN_VALUE,
    ),
    Text(
        557,
        "2.6",
        "what SHOW CREATE prints can be run again",
        CREATE.format(
            "START_MODE = FROM_NOW(INTERVAL '7' DAY) /* Evaluated to FROM_TIMESTAMP(TIMESTAMP "
            "'2025-10-28 10:00:00') at execution */"
        ),
        CreateTable,
        {"declared.start_mode.sql": "FROM_NOW(INTERVAL '7' DAY)"},
    ),
    Text(
        557,
        "2.6",
        "`SHOW CREATE OR ALTER MATERIALIZED TABLE`",
        "SHOW CREATE OR ALTER MATERIALIZED TABLE t",
        ShowCreate,
        {"or_alter": True},
    ),
)
