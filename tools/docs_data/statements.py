"""Every statement with its grammar, its meaning and examples, for the documentation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatementDoc:
    """What people read about a statement.

    Args:
        title: How it is called.
        grammar: Its form: `[…]` may be left out, `{… | …}` is a choice, lower case is to be filled.
        meaning: One sentence.
        examples: Statements that parse as they are.
    """

    title: str
    grammar: str
    meaning: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClauseDoc:
    """What people read about a clause of CREATE.

    Args:
        name: Its keyword, as it is called in errors and comments.
        grammar: Its form.
        meaning: One sentence.
    """

    name: str
    grammar: str
    meaning: str


CLAUSES: tuple[ClauseDoc, ...] = (
    ClauseDoc(
        "(column, …)",
        "( {column [type [NOT NULL] [COMMENT 'text']] | [CONSTRAINT name] PRIMARY KEY (column, …) "
        "NOT ENFORCED | [CONSTRAINT name] CHECK (condition)}, … )",
        "Names alone rename the query's columns by position, names with types are matched by "
        "name, and constraints may be separate. NOT NULL holds for every writer of the table, the "
        "other constraints are checked by refreshes.",
    ),
    ClauseDoc("COMMENT", "COMMENT 'text'", "The table's comment."),
    ClauseDoc(
        "PARTITIONED BY",
        "PARTITIONED BY (column, …)",
        "Columns by whose values the files are partitioned; it excludes CLUSTER BY.",
    ),
    ClauseDoc(
        "CLUSTER BY",
        "CLUSTER BY (column, …)",
        "Columns by which the files are laid out; it excludes PARTITIONED BY.",
    ),
    ClauseDoc(
        "WITH",
        "{WITH | TBLPROPERTIES} ('key' = 'value', …)",
        "Options of the refresh and of the storage.",
    ),
    ClauseDoc(
        "FRESHNESS",
        "FRESHNESS = INTERVAL 'n' {SECOND[S] | MINUTE[S] | HOUR[S] | DAY[S] | WEEK[S]}",
        "How far the table may lag its base tables: a whole number of units, at most "
        "2147483647 seconds long.",
    ),
    ClauseDoc(
        "REFRESH_MODE",
        "REFRESH_MODE = {CONTINUOUS | FULL | AUTOMATIC}",
        "How the table is refreshed; AUTOMATIC, which is the default, derives it from FRESHNESS.",
    ),
    ClauseDoc(
        "START_MODE",
        "START_MODE = {[RESUME_OR_]FROM_BEGINNING | [RESUME_OR_]FROM_NOW[(INTERVAL 'n' unit)] | "
        "[RESUME_OR_]FROM_TIMESTAMP(TIMESTAMP 'text')}",
        "From where the sources are read when the table begins or its query changes; units up to "
        "MONTH and YEAR.",
    ),
    ClauseDoc(
        "STATE_RETENTION",
        "STATE_RETENTION = {ALL | NONE | PTF_ONLY[('operator', …)]}",
        "What becomes of the operators' state when the query changes.",
    ),
)

_NAME = "MATERIALIZED TABLE [[catalog.]schema.]name"

STATEMENTS: tuple[StatementDoc, ...] = (
    StatementDoc(
        "CREATE",
        f"CREATE {_NAME.replace('TABLE', 'TABLE [IF NOT EXISTS]')} [clause …] AS query",
        "Creates a materialized table and fills it; an error where something has that name.",
        (
            "CREATE MATERIALIZED TABLE high_value_orders AS SELECT product_id, price FROM orders",
            (
                "CREATE MATERIALIZED TABLE IF NOT EXISTS daily_summary\nREFRESH_MODE = FULL\n"
                "AS SELECT user_id, count(*) AS total_orders FROM orders GROUP BY user_id"
            ),
        ),
    ),
    StatementDoc(
        "CREATE OR ALTER",
        f"CREATE OR ALTER {_NAME} [clause …] AS query",
        "Creates the table, or changes it in place to this definition; nothing happens where it "
        "has it already.",
        (
            (
                "CREATE OR ALTER MATERIALIZED TABLE shop.dwd_orders (\n"
                "  PRIMARY KEY (ds, id) NOT ENFORCED\n)\nCOMMENT 'Orders with their product'\n"
                "PARTITIONED BY (ds)\n"
                "WITH ('partition.fields.ds.date-formatter' = 'yyyy-MM-dd')\n"
                "FRESHNESS = INTERVAL '3' MINUTE\n"
                "AS SELECT o.ds, o.id, p.name FROM orders AS o LEFT JOIN products AS p "
                "ON o.product_id = p.id"
            ),
            (
                "CREATE OR ALTER MATERIALIZED TABLE filtered_orders (id BIGINT NOT NULL, price "
                "DECIMAL(10, 2) COMMENT 'in euros', CONSTRAINT positive CHECK (price > 0))\n"
                "CLUSTER BY (id)\n"
                "START_MODE = RESUME_OR_FROM_NOW(INTERVAL '7' DAY)\nSTATE_RETENTION = NONE\n"
                "AS SELECT id, price FROM orders WHERE price > 0"
            ),
        ),
    ),
    StatementDoc(
        "CREATE OR REPLACE",
        f"CREATE OR REPLACE {_NAME} [clause …] AS query",
        "Creates the table, or replaces definition and content in one commit; readers see the "
        "old table until then.",
        (
            (
                "CREATE OR REPLACE MATERIALIZED TABLE my_table (a, b)\n"
                "AS SELECT col1, col2 FROM source_table"
            ),
        ),
    ),
    StatementDoc(
        "ADOPT",
        f"ADOPT {_NAME} [IF EQUAL | AS OF TIMESTAMP 'text'] [clause …] AS query",
        "Makes a materialized table of a plain table, which keeps rows, files and history. Its "
        "rows count as those of the query now or at the instant; IF EQUAL compares them instead. "
        "Otherwise it is CREATE OR ALTER.",
        (
            (
                "ADOPT MATERIALIZED TABLE shop.revenue IF EQUAL\nFRESHNESS = INTERVAL '1' HOUR\n"
                "AS SELECT day, sum(amount) AS revenue FROM shop.orders GROUP BY day"
            ),
            (
                "ADOPT MATERIALIZED TABLE revenue AS OF TIMESTAMP '2026-01-31 08:00:00'\n"
                "AS SELECT day, sum(amount) AS revenue FROM orders GROUP BY day"
            ),
        ),
    ),
    StatementDoc(
        "ALTER … RELEASE",
        f"ALTER {_NAME} RELEASE",
        "Makes a plain table of it, which keeps rows, files and history.",
        ("ALTER MATERIALIZED TABLE dwd_orders RELEASE",),
    ),
    StatementDoc(
        "ALTER … SUSPEND",
        f"ALTER {_NAME} SUSPEND",
        "Stops the refresh and keeps its positions.",
        ("ALTER MATERIALIZED TABLE dwd_orders SUSPEND",),
    ),
    StatementDoc(
        "ALTER … RESUME",
        f"ALTER {_NAME} RESUME [WITH ('key' = 'value', …)]",
        "Continues from the kept positions; the options hold until the next SUSPEND or RESUME.",
        (
            "ALTER MATERIALIZED TABLE dwd_orders RESUME",
            (
                "ALTER MATERIALIZED TABLE dwd_orders RESUME\n"
                "WITH ('continuous.trigger-interval' = '30 s')"
            ),
        ),
    ),
    StatementDoc(
        "ALTER … REFRESH",
        f"ALTER {_NAME} REFRESH [PARTITION (column = literal, …)]",
        "Brings the table, or the named partitions, up to date now.",
        (
            "ALTER MATERIALIZED TABLE dwd_orders REFRESH",
            "ALTER MATERIALIZED TABLE dwd_orders REFRESH PARTITION (ds = '20231023')",
            (
                "ALTER MATERIALIZED TABLE t "
                "REFRESH PARTITION (d = DATE '2024-03-01', n = -5, k = NULL)"
            ),
        ),
    ),
    StatementDoc(
        "ALTER … SET FRESHNESS",
        f"ALTER {_NAME} {{SET FRESHNESS = INTERVAL 'n' unit | RESET FRESHNESS}}",
        "Changes the freshness, or goes back to the default; either may change the refresh mode.",
        (
            "ALTER MATERIALIZED TABLE dwd_orders SET FRESHNESS = INTERVAL '1' DAY",
            "ALTER MATERIALIZED TABLE dwd_orders RESET FRESHNESS",
        ),
    ),
    StatementDoc(
        "ALTER … SET REFRESH_MODE",
        f"ALTER {_NAME} SET REFRESH_MODE = {{CONTINUOUS | FULL | AUTOMATIC}}",
        "Changes how the table is refreshed.",
        ("ALTER MATERIALIZED TABLE dwd_orders SET REFRESH_MODE = FULL",),
    ),
    StatementDoc(
        "ALTER … SET (…)",
        f"ALTER {_NAME} {{SET ('key' = 'value', …) | RESET ('key', …)}}",
        "Sets options, or sets them back to their defaults; the others stay.",
        (
            "ALTER MATERIALIZED TABLE dwd_orders SET ('schema.type-widening' = 'true')",
            "ALTER MATERIALIZED TABLE dwd_orders RESET ('schema.type-widening')",
        ),
    ),
    StatementDoc(
        "ALTER … SET COMMENT",
        f"ALTER {_NAME} SET COMMENT 'text'",
        "Changes the table's comment.",
        ("ALTER MATERIALIZED TABLE dwd_orders SET COMMENT 'Bob''s orders'",),
    ),
    StatementDoc(
        "ALTER … AS",
        f"ALTER {_NAME} [WITH ('key' = 'value', …)] [SET START_MODE = …] "
        "[SET STATE_RETENTION = …] AS query",
        "Changes the query; the rest of the definition stays. New columns of the query are "
        "appended to the table, and to its column list where it has one; they may be NULL.",
        (
            "ALTER MATERIALIZED TABLE my_table AS SELECT col1, col2, col3 FROM source_table",
            (
                "ALTER MATERIALIZED TABLE my_table\n"
                "SET START_MODE = FROM_TIMESTAMP(TIMESTAMP '2025-10-28 10:00:00')\n"
                "SET STATE_RETENTION = PTF_ONLY('sessions')\n"
                "AS SELECT col1, col2, col3 FROM source_table"
            ),
        ),
    ),
    StatementDoc(
        "ALTER … ADD",
        f"ALTER {_NAME} ADD query",
        "Adds the columns of a second query, joined by the primary key, which both produce.",
        (
            (
                "ALTER MATERIALIZED TABLE dws_deals ADD SELECT ds, order_id, sum(n) AS goods "
                "FROM dwd_orders GROUP BY ds, order_id"
            ),
        ),
    ),
    StatementDoc(
        "DROP",
        "DROP MATERIALIZED TABLE [IF EXISTS] [[catalog.]schema.]name",
        "Ends the refresh, then removes definition and data.",
        ("DROP MATERIALIZED TABLE IF EXISTS `old orders`",),
    ),
    StatementDoc(
        "SHOW MATERIALIZED TABLES",
        "SHOW MATERIALIZED TABLES [{FROM | IN} [catalog.]schema] [[NOT] LIKE 'pattern']",
        "Lists the materialized tables of a schema; the pattern knows %, _ and Spark's *. "
        "`lag_seconds` is the lag to the base tables, measured now: for as many tables as half a "
        "second is enough for (some dozens), NULL for the others. Narrow the list with the "
        "pattern, or ask `spark-mt status`.",
        ("SHOW MATERIALIZED TABLES", "SHOW MATERIALIZED TABLES IN shop LIKE 'dwd%'"),
    ),
    StatementDoc(
        "SHOW CREATE",
        "SHOW CREATE [OR ALTER] MATERIALIZED TABLE [[catalog.]schema.]name",
        "Prints the statement that makes the table; what applies by default is in comments.",
        ("SHOW CREATE OR ALTER MATERIALIZED TABLE dwd_orders",),
    ),
    StatementDoc(
        "DESCRIBE",
        "{DESC | DESCRIBE} [EXTENDED] MATERIALIZED TABLE [EXTENDED] [[catalog.]schema.]name",
        "Lists the columns; EXTENDED adds definition, status, positions and lag.",
        ("DESC MATERIALIZED TABLE dwd_orders", "DESCRIBE EXTENDED MATERIALIZED TABLE dwd_orders"),
    ),
    StatementDoc(
        "DESCRIBE JOB",
        "{DESC | DESCRIBE} JOB 'job-id'",
        "Shows one refresh of a table in the current catalog; its id is that of the refresh, which "
        "REFRESH returns and the table's commit carries.",
        ("DESC JOB '228d70913eab60dda85c5e7f78b5782c'",),
    ),
    StatementDoc(
        "SHOW JOBS",
        "SHOW JOBS",
        "Lists the refreshes of the last 30 days of the current catalog's tables, the newest "
        "first: RUNNING from two seconds on, then FINISHED, FAILED or CANCELED; SKIPPED for a "
        "scheduled run that found nothing new. One whose process is gone, or whose last heartbeat "
        "is a minute old, shows as FAILED. What a manager hosts is RUNNING as long as it holds the "
        "catalog; a stream that is hosted without one, for three minutes after its last row. The "
        "view `materialized_table_system.jobs` has the same for queries, with who ran it and "
        "`last_heartbeat_time`.",
        ("SHOW JOBS",),
    ),
    StatementDoc(
        "CHECK",
        f"CHECK {_NAME} {{HEALTH | FRESHNESS [WITHIN INTERVAL 'n' unit] | QUERY}}",
        "Lists what is wrong with the table, and nothing if all is well: whether it is healthy, "
        "whether it meets its freshness, or whether its rows are those of its query over the state "
        "of the sources that they reflect. QUERY costs what the query costs.",
        (
            "CHECK MATERIALIZED TABLE dwd_orders HEALTH",
            "CHECK MATERIALIZED TABLE dwd_orders FRESHNESS WITHIN INTERVAL '10' MINUTES",
            "CHECK MATERIALIZED TABLE dwd_orders QUERY",
        ),
    ),
    StatementDoc(
        "EXPLAIN",
        "EXPLAIN {CREATE … | ADOPT … | ALTER … AS query}",
        "Shows what the statement would do, step by step, and does nothing. Of ADOPT … IF EQUAL it "
        "compares no rows.",
        ("EXPLAIN CREATE OR ALTER MATERIALIZED TABLE t FRESHNESS = INTERVAL '1' HOUR AS SELECT 1",),
    ),
)
