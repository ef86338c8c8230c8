"""Texts that are refused: each with its condition and the place that is underlined."""

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import Condition, StatementSyntaxError
from dbt.adapters.spark_mt.statements.parser import parse

# The part between » and « is what the error must underline.
CREATE = [
    ("CREATE »TEMPORARY« MATERIALIZED TABLE t AS SELECT 1", "TEMPORARY"),
    ("CREATE OR REPLACE »TEMP« MATERIALIZED TABLE t AS SELECT 1", "TEMPORARY"),
    ("CREATE »GLOBAL« TEMPORARY MATERIALIZED TABLE t AS SELECT 1", "TEMPORARY"),
    ("CREATE OR »UPDATE« MATERIALIZED TABLE t AS SELECT 1", "UNKNOWN_VALUE"),
    ("CREATE OR ALTER MATERIALIZED TABLE »IF« NOT EXISTS t AS SELECT 1", "IF_NOT_EXISTS"),
    ("CREATE OR REPLACE MATERIALIZED TABLE »IF« NOT EXISTS t AS SELECT 1", "IF_NOT_EXISTS"),
    ("CREATE MATERIALIZED TABLE a.b.c»..«d AS SELECT 1".replace("..", "."), "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE »'t'« AS SELECT 1", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE »``« AS SELECT 1", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE »😀« AS SELECT 1", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE »5L« AS SELECT 1", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE t»«", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE t COMMENT 'x'»;«", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE t AS»«", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE t AS -- nothing\n»;«", "SYNTAX_ERROR"),
    ("CREATE MATERIALIZED TABLE t »SELECT« 1", "MISSING_AS"),
    ("CREATE MATERIALIZED TABLE t »WITH« c AS (SELECT 1) SELECT 1", "MISSING_AS"),
    ("CREATE MATERIALIZED TABLE t AS SELECT 1; »SELECT« 2", "MULTIPLE_STATEMENTS"),
    ("CREATE MATERIALIZED TABLE t AS SELECT 1;; /* x */ »CREATE« X", "MULTIPLE_STATEMENTS"),
    ("DROP MATERIALIZED TABLE t; »DROP« MATERIALIZED TABLE u", "MULTIPLE_STATEMENTS"),
]
CLAUSES = [
    ("»FRESHNES« = INTERVAL '1' DAY", "UNKNOWN_CLAUSE"),
    ("»REFRESH« MODE = FULL", "UNKNOWN_CLAUSE"),
    ("»CLUSTER« (a)", "UNKNOWN_CLAUSE"),
    ("»PARTITION« BY (a)", "UNKNOWN_CLAUSE"),
    ("»OPTIONS« ('a' = 'b')", "UNKNOWN_CLAUSE"),
    ("»USING« delta", "UNKNOWN_CLAUSE"),
    ("»'x'«", "UNKNOWN_CLAUSE"),
    ("»DISTRIBUTED« BY HASH(a) INTO 4 BUCKETS", "DISTRIBUTED"),
    ("»DISTRIBUTED« INTO 4 BUCKETS", "DISTRIBUTED"),
    ("»CLUSTERED« BY (a) INTO 4 BUCKETS", "DISTRIBUTED"),
    ("PARTITIONED BY (a) »CLUSTER« BY (a)", "PARTITIONED_AND_CLUSTERED"),
    ("CLUSTER BY (a) WITH ('a' = 'b') »PARTITIONED« BY (a)", "PARTITIONED_AND_CLUSTERED"),
    ("COMMENT 'a' »COMMENT« 'b'", "REPEATED_CLAUSE"),
    ("WITH ('a' = 'b') »TBLPROPERTIES« ('c' = 'd')", "REPEATED_CLAUSE"),
    ("START_MODE = FROM_NOW REFRESH_MODE = FULL »START_MODE« = FROM_NOW", "REPEATED_CLAUSE"),
    ("COMMENT 'a' »(«a)", "CLAUSE_OUT_OF_ORDER"),
    ("WITH ('a' = 'b') »COMMENT« 'x'", "CLAUSE_OUT_OF_ORDER"),
    ("REFRESH_MODE = FULL »FRESHNESS« = INTERVAL '1' DAY", "CLAUSE_OUT_OF_ORDER"),
    ("STATE_RETENTION = ALL »START_MODE« = FROM_NOW", "CLAUSE_OUT_OF_ORDER"),
    (
        "FRESHNESS = INTERVAL '1' DAY START_MODE = FROM_NOW »REFRESH_MODE« = FULL",
        "CLAUSE_OUT_OF_ORDER",
    ),
    ("COMMENT »=« 'x'", "SYNTAX_ERROR"),
    ("COMMENT 'a' »'b'«", "UNKNOWN_CLAUSE"),
    ("COMMENT »'\\UFFFFFFFF'«", "SYNTAX_ERROR"),
    ("PARTITIONED BY »ds«", "SYNTAX_ERROR"),
    ("PARTITIONED BY (days»(«ts))", "SYNTAX_ERROR"),
    ("PARTITIONED BY (ds »STRING«)", "SYNTAX_ERROR"),
    ("PARTITIONED BY (ds, »ds«)", "DUPLICATE_NAME"),
    ("CLUSTER BY (a»)«".replace("a»)«", "»)«"), "SYNTAX_ERROR"),
    ("WITH (»k« = 'v')", "SYNTAX_ERROR"),
    ("WITH ('k' = »5«)", "SYNTAX_ERROR"),
    ("WITH ('k' »'v'«)", "MISSING_EQUALS"),
    ("WITH ('k' = 'v' »'l'« = 'w')", "SYNTAX_ERROR"),
    ("WITH ('k' = 'v', »'k'« = 'w')", "DUPLICATE_NAME"),
    ("FRESHNESS »INTERVAL« '1' MINUTE", "MISSING_EQUALS"),
    ("REFRESH_MODE »FULL«", "MISSING_EQUALS"),
    ("START_MODE »FROM_NOW«", "MISSING_EQUALS"),
    ("STATE_RETENTION »NONE«", "MISSING_EQUALS"),
    ("FRESHNESS = »3« MINUTES", "SYNTAX_ERROR"),
    ("FRESHNESS = INTERVAL »3« MINUTES", "INTERVAL_FORM"),
    ("FRESHNESS = INTERVAL »'3 minutes'«", "INTERVAL_FORM"),
    ("FRESHNESS = INTERVAL '3' »START_MODE« = FROM_NOW", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL »'0'« MINUTE", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »'-3'« MINUTE", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »'1.5'« MINUTE", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »'abc'« MINUTE", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »''« MINUTE", "INVALID_FRESHNESS"),
    (f"FRESHNESS = INTERVAL »'{'9' * 5000}'« MINUTE", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »'12345678901234567890'« MINUTE", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »'2147483648'« SECOND", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »'2147483647' DAY«", "FRESHNESS_TOO_LONG"),
    ("FRESHNESS = INTERVAL »-'30'« SECOND", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »- '30'« SECOND", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »-30« SECOND", "INVALID_FRESHNESS"),
    ("FRESHNESS = INTERVAL »+'30'« SECOND", "INTERVAL_FORM"),
    ("FRESHNESS = INTERVAL '30' »DAY TO HOUR«", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL '1 02' »DAY TO HOUR«", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL '30' »DAY(2)«", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL '30' »DAY TO SECOND (3)«", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL '1' »MONTH«", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL '1' »YEARS«", "INVALID_FRESHNESS_UNIT"),
    ("FRESHNESS = INTERVAL '1' »MINUT«", "INVALID_FRESHNESS_UNIT"),
    ("REFRESH_MODE = »CONTINOUS«", "UNKNOWN_VALUE"),
    ("REFRESH_MODE = »'FULL'«", "UNKNOWN_VALUE"),
    ("START_MODE = »FROM_BEGINING«", "UNKNOWN_VALUE"),
    ("START_MODE = FROM_BEGINNING»(«INTERVAL '1' DAY)", "INVALID_START_MODE"),
    ("START_MODE = FROM_NOW(»TIMESTAMP« '2025-01-01')", "INVALID_START_MODE"),
    ("START_MODE = RESUME_OR_FROM_NOW(»)«", "INVALID_START_MODE"),
    ("START_MODE = FROM_NOW(INTERVAL »'0'« DAY)", "INVALID_START_MODE"),
    ("START_MODE = FROM_NOW(INTERVAL '1' »DECADE«)", "INVALID_START_MODE"),
    ("START_MODE = FROM_NOW(INTERVAL »7« DAY)", "INTERVAL_FORM"),
    ("START_MODE = FROM_NOW(INTERVAL »-'7'« DAY)", "INVALID_START_MODE"),
    ("START_MODE = FROM_NOW(INTERVAL '7' »DAY TO HOUR«)", "INVALID_START_MODE"),
    (f"START_MODE = FROM_NOW(INTERVAL »'{'9' * 5000}'« DAY)", "INVALID_START_MODE"),
    ("START_MODE = FROM_NOW(INTERVAL '7' DAY »AS« SELECT 1", "SYNTAX_ERROR"),
    ("START_MODE = FROM_TIMESTAMP »AS« SELECT 1", "INVALID_START_MODE"),
    ("START_MODE = FROM_TIMESTAMP(»'2025-01-01'«)", "INVALID_START_MODE"),
    ("START_MODE = FROM_TIMESTAMP(»INTERVAL« '1' DAY)", "INVALID_START_MODE"),
    ("STATE_RETENTION = »SOME«", "UNKNOWN_VALUE"),
    ("STATE_RETENTION = ALL»(«'a')", "INVALID_STATE_RETENTION"),
    ("STATE_RETENTION = PTF_ONLY(»)«", "SYNTAX_ERROR"),
    ("STATE_RETENTION = PTF_ONLY(»a«)", "SYNTAX_ERROR"),
]
COLUMNS = [
    ("(»)«", "SYNTAX_ERROR"),
    ("(a, »)«", "SYNTAX_ERROR"),
    ("(a, b, »a«)", "DUPLICATE_NAME"),
    ("(a INT, b INT, »a« STRING)", "DUPLICATE_NAME"),
    ("(a INT, »b«)", "MIXED_COLUMN_LIST"),
    ("(»a«, b INT)", "MIXED_COLUMN_LIST"),
    ("(a »NOT« NULL)", "SYNTAX_ERROR"),
    ("(a INT NOT »ENFORCED«)", "SYNTAX_ERROR"),
    ("(a INT »PRIMARY« KEY)", "UNSUPPORTED_CONSTRAINT"),
    ("(a INT »UNIQUE«)", "UNSUPPORTED_CONSTRAINT"),
    ("(a INT »REFERENCES« u (b))", "UNSUPPORTED_CONSTRAINT"),
    ("(»UNIQUE« (a))", "UNSUPPORTED_CONSTRAINT"),
    ("(CONSTRAINT k »UNIQUE« (a) NOT ENFORCED)", "UNSUPPORTED_CONSTRAINT"),
    ("(»FOREIGN« KEY (a) REFERENCES b (c))", "UNSUPPORTED_CONSTRAINT"),
    ("(a INT »DEFAULT« 5)", "UNSUPPORTED_COLUMN_OPTION"),
    ("(a INT »GENERATED« ALWAYS AS (b + 1))", "UNSUPPORTED_COLUMN_OPTION"),
    ("(a STRING »METADATA«)", "UNSUPPORTED_COLUMN_OPTION"),
    ("(a INT NOT NULL »NOT« NULL)", "REPEATED_CLAUSE"),
    ("(a INT COMMENT 'a' »COMMENT« 'b')", "REPEATED_CLAUSE"),
    ("(»WATERMARK« FOR a AS a - INTERVAL '5' SECOND)", "WATERMARK_CLAUSE"),
    ("(a TIMESTAMP, »WATERMARK« FOR `a` AS a)", "WATERMARK_CLAUSE"),
    ("(a INT, b »AS« a + 1)", "UNSUPPORTED_COLUMN_OPTION"),
    ("(PRIMARY KEY (a)»)«", "ENFORCED_KEY"),
    ("(PRIMARY KEY (a) »ENFORCED«)", "ENFORCED_KEY"),
    ("(PRIMARY KEY (a, »a«) NOT ENFORCED)", "DUPLICATE_NAME"),
    ("(PRIMARY KEY (a) NOT ENFORCED, »PRIMARY« KEY (b) NOT ENFORCED)", "REPEATED_CLAUSE"),
    ("(CHECK (»)«)", "SYNTAX_ERROR"),
    ("(a STRUCT<b: INT»;«)", "SYNTAX_ERROR"),
    ("(a INT»>«)", "SYNTAX_ERROR"),
]
QUERIES = [
    ("SELECT o.ds\n  »o«.id FROM o", "MISSING_COMMA"),
    ("SELECT `o`.ds /* x */ »o«.`id` FROM o", "MISSING_COMMA"),
    ("SELECT * FROM s »/*+ OPTIONS('scan.mode'='latest') */«", "TABLE_HINT"),
    ("SELECT * FROM s »/*+options ('scan.timestamp-millis' = '1')*/« AS x", "TABLE_HINT"),
    ("SELECT »/*+ OPTIONS('a'='b') */« * FROM s", "TABLE_HINT"),
]
ALTER = [
    ("»RENAME« TO u", "UNSUPPORTED_ALTER"),
    ("»SWAP« WITH u", "UNSUPPORTED_ALTER"),
    ("»ADD« COLUMN a INT", "UNSUPPORTED_ALTER"),
    ("»ADD« (a INT)", "UNSUPPORTED_ALTER"),
    ("»ADD« CONSTRAINT c CHECK (a)", "UNSUPPORTED_ALTER"),
    ("»DROP« COLUMN a", "UNSUPPORTED_ALTER"),
    ("»DROP« PRIMARY KEY", "UNSUPPORTED_ALTER"),
    ("»ADD« (WATERMARK FOR a AS a)", "UNSUPPORTED_ALTER"),
    ("»MODIFY« DISTRIBUTION INTO 4 BUCKETS", "UNSUPPORTED_ALTER"),
    ("»MODIFY« a STRING", "UNSUPPORTED_ALTER"),
    ("»ALTER« COLUMN a TYPE STRING", "UNSUPPORTED_ALTER"),
    ("»UNSET« TBLPROPERTIES ('a')", "UNSUPPORTED_ALTER"),
    ("»SUSPND«", "UNSUPPORTED_ALTER"),
    ("SET »TBLPROPERTIES« ('a' = 'b')", "UNSUPPORTED_ALTER"),
    ("SET »FRESHNES« = INTERVAL '1' DAY", "UNSUPPORTED_ALTER"),
    ("RESET »REFRESH_MODE«", "UNSUPPORTED_ALTER"),
    ("SET FRESHNESS »INTERVAL« '1' DAY", "MISSING_EQUALS"),
    ("SET FRESHNESS = INTERVAL '1' DAY »AS« SELECT 1", "SYNTAX_ERROR"),
    ("SET START_MODE = FROM_NOW»«", "SYNTAX_ERROR"),
    ("WITH ('a' = 'b')»«", "SYNTAX_ERROR"),
    ("WITH ('a' = 'b') »START_MODE« = FROM_NOW AS SELECT 1", "UNKNOWN_CLAUSE"),
    (
        "SET STATE_RETENTION = ALL »SET« START_MODE = FROM_NOW AS SELECT 1",
        "CLAUSE_OUT_OF_ORDER",
    ),
    ("SET START_MODE = FROM_NOW »SET« START_MODE = FROM_NOW AS SELECT 1", "REPEATED_CLAUSE"),
    ("SUSPEND »NOW«", "SYNTAX_ERROR"),
    ("SUSPEND; »RESUME«", "MULTIPLE_STATEMENTS"),
    ("RESUME »OPTIONS« ('a' = 'b')", "SYNTAX_ERROR"),
    ("REFRESH PARTITION (ds»)«", "MISSING_EQUALS"),
    ("REFRESH PARTITION (ds = »abc«)", "SYNTAX_ERROR"),
    ("REFRESH PARTITION (ds = -»'5'«)", "SYNTAX_ERROR"),
    ("REFRESH PARTITION (ds = 1 »+« 1)", "SYNTAX_ERROR"),
    ("REFRESH PARTITION (ds = 1, »ds« = 2)", "DUPLICATE_NAME"),
    ("RESET ('a', »'a'«)", "DUPLICATE_NAME"),
    ("ADD»«", "SYNTAX_ERROR"),
]
OTHERS = [
    ("ADOPT MATERIALIZED TABLE t AS OF TIMESTAMP »'soon'« AS SELECT 1", "ADOPT_INSTANT"),
    ("ADOPT MATERIALIZED TABLE t AS OF »now« AS SELECT 1", "SYNTAX_ERROR"),
    ("ADOPT MATERIALIZED TABLE t »IF« NOT EXISTS AS SELECT 1", "UNKNOWN_CLAUSE"),
    ("CHECK MATERIALIZED TABLE t »ROWS«", "UNKNOWN_VALUE"),
    ("CHECK MATERIALIZED TABLE t HEALTH »WITHIN« INTERVAL '1' DAY", "SYNTAX_ERROR"),
    ("ALTER MATERIALIZED TABLE t RELEASE »now«", "SYNTAX_ERROR"),
    ("ALTER MATERIALIZED TABLE t»«", "UNSUPPORTED_ALTER"),
    ("DROP »TEMPORARY« MATERIALIZED TABLE t", "TEMPORARY"),
    ("DROP »GLOBAL« TEMP MATERIALIZED TABLE IF EXISTS t", "TEMPORARY"),
    ("ALTER »TEMP« MATERIALIZED TABLE t SUSPEND", "TEMPORARY"),
    ("EXPLAIN ALTER »TEMPORARY« MATERIALIZED TABLE t AS SELECT 1", "TEMPORARY"),
    ("SHOW MATERIALIZED »TABLE«", "SYNTAX_ERROR"),
    ("SHOW MATERIALIZED TABLES FROM a.b».«c", "SYNTAX_ERROR"),
    ("SHOW MATERIALIZED TABLES NOT »'a'«", "SYNTAX_ERROR"),
    ("SHOW MATERIALIZED TABLES LIKE »a«", "SYNTAX_ERROR"),
    ("SHOW JOBS »LIKE« 'a'", "SYNTAX_ERROR"),
    ("SHOW CREATE OR »REPLACE« MATERIALIZED TABLE t", "SYNTAX_ERROR"),
    ("DESC MATERIALIZED TABLE»«", "SYNTAX_ERROR"),
    ("DESC JOB »x«", "SYNTAX_ERROR"),
    ("DROP MATERIALIZED TABLE t »CASCADE«", "SYNTAX_ERROR"),
    ("EXPLAIN »EXTENDED« CREATE MATERIALIZED TABLE t AS SELECT 1", "UNSUPPORTED_EXPLAIN"),
    ("EXPLAIN »DROP« MATERIALIZED TABLE t", "UNSUPPORTED_EXPLAIN"),
    ("EXPLAIN »ALTER« MATERIALIZED TABLE t SUSPEND", "UNSUPPORTED_EXPLAIN"),
    ("EXPLAIN ALTER MATERIALIZED TABLE t »RENAME« TO u", "UNSUPPORTED_ALTER"),
    ("»SELECT« 1", "SYNTAX_ERROR"),
    ("»«", "SYNTAX_ERROR"),
]
TABLE = [
    *CREATE,
    *((f"/* 😀 */\r\nCREATE MATERIALIZED TABLE t {c}\nAS SELECT 1", e) for c, e in CLAUSES),
    *((f"CREATE MATERIALIZED TABLE t\n{c} AS SELECT 1", e) for c, e in COLUMNS),
    *((f"CREATE MATERIALIZED TABLE t AS\n{q};", e) for q, e in QUERIES),
    *((f"ALTER MATERIALIZED TABLE t AS {q}", e) for q, e in QUERIES),
    *((f"ALTER MATERIALIZED TABLE t\n {f}", e) for f, e in ALTER),
    *OTHERS,
]


START_PROBLEM = "needs an interval of a positive whole number, but was: -7"


def refused(sql: str) -> StatementSyntaxError:
    with pytest.raises(StatementSyntaxError) as caught:
        parse(sql)
    return caught.value


@pytest.mark.parametrize(("marked", "condition"), TABLE, ids=[sql[:80] for sql, _ in TABLE])
def test_each_is_refused_at_its_place(marked, condition):
    start = marked.index("»")
    sql = marked.replace("»", "").replace("«", "")
    before = sql[:start].replace("\r\n", "\n").rpartition("\n")
    error = refused(sql)
    assert error.condition == f"MATERIALIZED_TABLE_{condition}"
    assert int(error.parameters["line"]) == marked[:start].count("\n") + 1
    assert int(error.parameters["column"]) == len(before[2]) + 1
    marks = error.parameters["excerpt"].splitlines()[-1].count("^")
    part = marked[start + 1 : marked.index("«")]
    assert marks == max(1, len(part)) or len(part) > 90
    assert error.kind.remedy


def test_every_condition_is_tried():
    tried = {f"MATERIALIZED_TABLE_{condition}" for _, condition in TABLE}
    every = {
        c.name
        for c in vars(conditions).values()
        if isinstance(c, Condition) and c.error is StatementSyntaxError
    }
    assert every - tried == {"MATERIALIZED_TABLE_UNREADABLE_TEXT"}


def test_the_text_names_table_place_and_remedy():
    error = refused(
        "CREATE OR ALTER MATERIALIZED TABLE s.t\nFRESHNESS INTERVAL '1' MINUTE AS SELECT 1"
    )
    assert str(error).splitlines() == [
        (
            "[MATERIALIZED_TABLE_MISSING_EQUALS] CREATE OR ALTER MATERIALIZED TABLE s.t, line 2, "
            "column 11: FRESHNESS needs an equals sign before INTERVAL."
        ),
        "  2 | FRESHNESS INTERVAL '1' MINUTE AS SELECT 1",
        "    |           ^^^^^^^^",
        "Write FRESHNESS = INTERVAL '1' MINUTE.",
    ]


@pytest.mark.parametrize(
    ("clause", "fact", "value"),
    [
        ("FRESHNES = INTERVAL '1' DAY", "suggestion", "Did you mean FRESHNESS? "),
        ("PARTITION BY (a)", "suggestion", "Did you mean PARTITIONED BY? "),
        ("OPTIONS ('a' = 'b')", "suggestion", "Did you mean WITH? "),
        ("xyz", "suggestion", ""),
        ("REFRESH_MODE = CONTINOUS", "suggestion", "Did you mean CONTINUOUS? "),
        ("FRESHNESS = INTERVAL '1' MINUT", "suggestion", "Did you mean MINUTE? "),
        ("FRESHNESS = INTERVAL '1' MONTH", "suggestion", ""),
        ("FRESHNESS = INTERVAL '3 minutes'", "suggestion", "INTERVAL '3' MINUTES"),
        ("FRESHNESS = INTERVAL 3 MINUTES", "suggestion", "INTERVAL '3' MINUTES"),
        ("FRESHNESS = INTERVAL +'3' MINUTES", "suggestion", "INTERVAL '3' MINUTES"),
        ("FRESHNESS = INTERVAL -'30' SECOND", "value", "-30"),
        ("FRESHNESS = INTERVAL -30 SECOND", "value", "-30"),
        ("FRESHNESS = INTERVAL '30' DAY TO HOUR", "unit", "DAY TO HOUR"),
        ("START_MODE = FROM_NOW(INTERVAL -'7' DAY)", "problem", START_PROBLEM),
        ("WITH ('a' = 'b') COMMENT 'x'", "before", "WITH"),
        ("START_MODE = FROM_NOW CLUSTER BY (a)", "before", "START_MODE"),
        (
            "FRESHNESS = INTERVAL '1' DAY START_MODE = FROM_NOW REFRESH_MODE = FULL",
            "before",
            "START_MODE",
        ),
        ("(a, b, a, b, a)", "names", "a, b"),
        ("(a INT, b, c)", "bare", "b, c"),
        ("CLUSTER BY (a) PARTITIONED BY (b)", "other", "CLUSTER BY"),
    ],
)
def test_facts_that_help(clause, fact, value):
    error = refused(f"CREATE MATERIALIZED TABLE t {clause} AS SELECT 1")
    assert error.parameters[fact] == value


@pytest.mark.parametrize(
    ("hint", "twin"),
    [
        ("'scan.mode' = 'latest'", "START_MODE = FROM_NOW"),
        ("'scan.timestamp-millis' = '1678883047356'", "START_MODE = FROM_TIMESTAMP(TIMESTAMP '…')"),
        ("'scan.startup.mode' = 'earliest-offset'", "START_MODE = FROM_BEGINNING"),
        ("'other' = 'x'", "START_MODE"),
    ],
)
def test_a_hint_of_flink_has_a_counterpart(hint, twin):
    error = refused(f"ALTER MATERIALIZED TABLE t AS SELECT * FROM s /*+ OPTIONS({hint}) */")
    assert error.parameters["twin"] == twin


@pytest.mark.parametrize(
    ("form", "named", "suggestion"),
    [
        ("RENAME TO u", "RENAME TO", ""),
        ("ADD COLUMN a INT", "ADD COLUMN", ""),
        ("SUSPND", "SUSPND", "Did you mean SUSPEND? "),
        ("SET FRESHNES = INTERVAL '1' DAY", "SET FRESHNES", "Did you mean SET FRESHNESS? "),
    ],
)
def test_other_forms_of_alter_list_the_supported_ones(form, named, suggestion):
    error = refused(f"ALTER MATERIALIZED TABLE t {form}")
    assert error.parameters["form"] == named
    assert error.parameters["suggestion"] == suggestion
    assert "SET FRESHNESS" in error.parameters["forms"]
    assert "ADD query" in error.parameters["forms"]


def test_messages_that_users_of_flink_know_are_kept():
    freshness = refused("ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1.5' DAY")
    unit = refused("ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' MONTH")
    start = refused("CREATE MATERIALIZED TABLE t START_MODE = FROM_NOW('1') AS SELECT 1")
    assert (
        "The freshness interval currently only supports positive integer type values. But was: 1.5"
    ) in str(freshness)
    assert (
        "Materialized table freshness only supports SECOND, MINUTE, HOUR, DAY, WEEK as the time "
        "unit."
    ) in str(unit)
    assert ("literal must be an interval for FROM_NOW and RESUME_OR_FROM_NOW modes.") in str(start)
