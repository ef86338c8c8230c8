"""Statements of the design documents that their text alone decides: read, or refused with a fix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.definition.start_mode import InvalidStartModeError
from dbt.adapters.spark_mt.definition.state_retention import InvalidStateRetentionError
from dbt.adapters.spark_mt.statements.errors import (
    ClauseOutOfOrderError,
    DistributedTableError,
    EnforcedKeyError,
    MissingCommaError,
    MissingEqualsError,
    StatementSyntaxError,
    TableHintError,
    TemporaryTableError,
    UnknownValueError,
    UnsupportedAlterError,
)
from dbt.adapters.spark_mt.statements.nodes import (
    AddQuery,
    AlterQuery,
    CreateForm,
    CreateTable,
    DescribeJob,
    DescribeTable,
    DropTable,
    PartitionValue,
    Refresh,
    ResetOptions,
    Resume,
    SetFreshness,
    SetOptions,
    SetRefreshMode,
    ShowCreate,
    Suspend,
)
from tests.seeds.told import TEXTS, Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

CREATE = "CREATE MATERIALIZED TABLE cat.db.t {0} AS SELECT a, b FROM s"
ALTER = "ALTER MATERIALIZED TABLE cat.db.t {0}"


@dataclass(frozen=True)
class Text:
    """A statement, and what its text comes to.

    Args:
        node: The class of the statement; None where it is Spark's, or refused.
        facts: Attributes of the statement by dotted name, or parameters of the error.
        error: Why it is refused.
    """

    seed: int
    section: str
    what: str
    sql: str
    node: type | None = None
    facts: dict[str, object] = field(default_factory=dict)
    error: type[MaterializedTableError] | None = None
    differs: str = ""


def _created(seed: int, section: str, clauses: str, differs: str = "", **asked: object) -> Text:
    """A CREATE that is read; `asked` are attributes of the definition."""
    facts = {f"asked.{name}": value for name, value in asked.items()}
    return Text(
        seed, section, f"`{clauses}`", CREATE.format(clauses), CreateTable, facts, differs=differs
    )


def _altered(seed: int, section: str, form: str, node: type, **facts: object) -> Text:
    """An ALTER that is read."""
    return Text(seed, section, f"`ALTER … {form}`", ALTER.format(form), node, facts)


def _started(form: str) -> Text:
    """A start mode that is read and printed as it was written."""
    return _created(557, "2.2", f"START_MODE = {form}", **{"start_mode.sql": form})


TEXTS_TOLD: tuple[Text, ...] = (
    _created(
        435,
        "SQL Statements, Create",
        "FRESHNESS = INTERVAL '1' SECOND",
        freshness=Freshness(1, TimeUnit.SECOND),
    ),
    _created(
        435,
        "SQL Statements, Create",
        "REFRESH_MODE = CONTINUOUS",
        refresh_mode=LogicalRefreshMode.CONTINUOUS,
    ),
    _created(
        435, "SQL Statements, Create", "REFRESH_MODE = FULL", refresh_mode=LogicalRefreshMode.FULL
    ),
    Text(
        435,
        "SQL Statements, Create",
        "options without quotes around keys and values, as the grammar's `(key1=val1)` suggests",
        CREATE.format("WITH (key1 = val1)"),
        error=StatementSyntaxError,
        differs="keys and values are texts in quotes, as in every example",
    ),
    Text(
        435,
        "SQL Statements, Create",
        "a grammar line typed as it is",
        "CREATE MATERIALIZED TABLE [catalog_name.][db_name.]table_name AS <query>",
        error=StatementSyntaxError,
    ),
    Text(
        435,
        "SQL Statements, Create",
        "a key without NOT ENFORCED",
        CREATE.format("(PRIMARY KEY (a))"),
        error=EnforcedKeyError,
    ),
    Text(
        435,
        "SQL Statements, Create",
        "`CREATE TEMPORARY MATERIALIZED TABLE`",
        "CREATE TEMPORARY MATERIALIZED TABLE t AS SELECT 1",
        error=TemporaryTableError,
    ),
    Text(
        435,
        "FRESHNESS Clause",
        "FRESHNESS behind REFRESH_MODE",
        CREATE.format("REFRESH_MODE = FULL FRESHNESS = INTERVAL '1' DAY"),
        error=ClauseOutOfOrderError,
        facts={"before": "REFRESH_MODE"},
    ),
    _altered(435, "ALTER, Suspend", "SUSPEND", Suspend, **{"name.catalog": "cat"}),
    _altered(435, "ALTER, Resume", "RESUME", Resume, options=()),
    _altered(
        435,
        "ALTER, Resume",
        "RESUME WITH('key1' = 'val1', 'key2' = 'val2')",
        Resume,
        options=(("key1", "val1"), ("key2", "val2")),
    ),
    _altered(435, "ALTER, Refresh", "REFRESH", Refresh, partition=()),
    _altered(
        435,
        "ALTER, Refresh",
        "REFRESH PARTITION (key1='val1', key2=2)",
        Refresh,
        partition=(PartitionValue("key1", "'val1'"), PartitionValue("key2", "2")),
    ),
    _altered(
        435,
        "ALTER, Set",
        "SET FRESHNESS = INTERVAL '1' HOUR",
        SetFreshness,
        freshness=Freshness(1, TimeUnit.HOUR),
    ),
    _altered(
        435,
        "ALTER, Set",
        "SET REFRESH_MODE = FULL",
        SetRefreshMode,
        refresh_mode=LogicalRefreshMode.FULL,
    ),
    _altered(
        435,
        "ALTER, Set",
        "SET REFRESH_MODE = CONTINUOUS",
        SetRefreshMode,
        refresh_mode=LogicalRefreshMode.CONTINUOUS,
    ),
    _altered(435, "ALTER, Set", "SET ('key' = 'val');", SetOptions, options=(("key", "val"),)),
    _altered(435, "ALTER, Reset", "RESET ('key');", ResetOptions, keys=("key",)),
    *(
        Text(
            435,
            "ALTER",
            f"`ALTER … {form}`: refused, and the error lists the forms that exist",
            ALTER.format(form),
            error=UnsupportedAlterError,
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
        error=MissingCommaError,
        facts={"suggestion": "o.ds, o.id", "line": "2"},
    ),
    Text(
        492,
        "User Story",
        "`FRESHNESS INTERVAL '1' MINUTE`: place and fix are named",
        CREATE.format("\nFRESHNESS INTERVAL '1' MINUTE\n"),
        error=MissingEqualsError,
        facts={"suggestion": "FRESHNESS = INTERVAL '1' MINUTE", "line": "2", "column": "11"},
    ),
    Text(
        492,
        "ALTER MATERIALIZED TABLE AS",
        "`ALTER … AS query`",
        ALTER.format("AS\nSELECT a, b, c\nFROM s;"),
        AlterQuery,
        {"query": "SELECT a, b, c\nFROM s"},
    ),
    *(
        Text(
            492,
            section,
            f"`/*+ OPTIONS({hint}) */`",
            ALTER.format(f"AS SELECT a FROM s /*+ OPTIONS({hint}) */;"),
            error=TableHintError,
            facts={"twin": twin},
            differs="Spark has no hints behind a table: the error names the start mode",
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
        error=UnsupportedAlterError,
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
        _created(
            546, "3.1", f"FRESHNESS = INTERVAL '2' {unit}S", freshness=Freshness(2, TimeUnit[unit])
        )
        for unit in ("SECOND", "MINUTE", "HOUR", "DAY")
    ),
    Text(
        546,
        "3.1",
        "`DISTRIBUTED BY HASH (a) INTO 4 BUCKETS`",
        CREATE.format("DISTRIBUTED BY HASH (a) INTO 4 BUCKETS"),
        error=DistributedTableError,
        differs="Delta has no buckets: the error names CLUSTER BY",
    ),
    Text(
        546,
        "3.1",
        "`DISTRIBUTED INTO 4 BUCKETS`",
        CREATE.format("DISTRIBUTED INTO 4 BUCKETS"),
        error=DistributedTableError,
        differs="Delta has no buckets: the error names CLUSTER BY",
    ),
    _created(551, "3.1.1", "", freshness=None, refresh_mode=None),
    _created(
        551, "4.4", "REFRESH_MODE = FULL", freshness=None, refresh_mode=LogicalRefreshMode.FULL
    ),
    _created(
        551,
        "3.1.1",
        "WITH ('a' = 'b') REFRESH_MODE = CONTINUOUS",
        freshness=None,
        options=(("a", "b"),),
    ),
    *map(
        _started,
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
        _created(557, "2.2", f"STATE_RETENTION = {form}", **{"state_retention.sql": form})
        for form in ("ALL", "NONE", "PTF_ONLY")
    ),
    _created(
        557,
        "2.4",
        "STATE_RETENTION = PTF_ONLY('window', 'join')",
        "the operators stand behind the keyword; the seed names them without a syntax",
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
        {"options": (("a", "b"),), "start_mode.sql": "FROM_NOW", "state_retention.sql": "ALL"},
    ),
    Text(
        557,
        "2.2",
        "STATE_RETENTION before START_MODE",
        CREATE.format("STATE_RETENTION = NONE START_MODE = FROM_NOW"),
        error=ClauseOutOfOrderError,
        facts={"before": "STATE_RETENTION"},
    ),
    Text(
        557,
        "2.3",
        "`FROM_TIMESTAMP` without a timestamp",
        CREATE.format("START_MODE = FROM_TIMESTAMP"),
        error=InvalidStartModeError,
    ),
    Text(
        557,
        "2.3",
        "`FROM_BEGINNING(INTERVAL '7' DAY)`",
        CREATE.format("START_MODE = FROM_BEGINNING(INTERVAL '7' DAY)"),
        error=InvalidStartModeError,
    ),
    Text(
        557,
        "2.3",
        "an interval of nothing",
        CREATE.format("START_MODE = FROM_NOW(INTERVAL '0' DAY)"),
        error=InvalidStartModeError,
    ),
    Text(
        557,
        "2.4",
        "operators behind another keyword than PTF_ONLY",
        CREATE.format("STATE_RETENTION = ALL('join')"),
        error=InvalidStateRetentionError,
    ),
    Text(
        557,
        "6",
        "`REPROCESS`, `KEEP STATE`: the rejected forms",
        CREATE.format("START_MODE = REPROCESS"),
        error=UnknownValueError,
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
        {"asked.start_mode.sql": "FROM_NOW(INTERVAL '7' DAY)"},
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


def rows() -> Iterator[Told]:
    """The rows of the page; statements with one meaning share a row."""
    for text in TEXTS_TOLD:
        yield Told(text.seed, text.section, text.what, TEXTS, text.differs)
