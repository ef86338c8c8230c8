"""Statements about materialized tables as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
    from dbt.adapters.spark_mt.definition.freshness import Freshness


class CreateForm(Enum):
    """The three forms of CREATE; the value is the statement's head."""

    CREATE = "CREATE"
    CREATE_OR_ALTER = "CREATE OR ALTER"
    CREATE_OR_REPLACE = "CREATE OR REPLACE"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE [OR ALTER | OR REPLACE] MATERIALIZED TABLE [IF NOT EXISTS] name … AS query."""

    form: CreateForm
    name: TableName
    declared: DeclaredDefinition
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class Adopt:
    """ADOPT MATERIALIZED TABLE name [IF EQUAL | AS OF TIMESTAMP 'text'] … AS query.

    Args:
        if_equal: Whether the rows are compared with those of the query instead of trusted.
        as_of: The instant whose state of the sources the rows reflect; None for now.
    """

    name: TableName
    declared: DeclaredDefinition
    if_equal: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """ALTER MATERIALIZED TABLE name RELEASE."""

    name: TableName


class CheckKind(Enum):
    """What CHECK checks; the value is its keyword."""

    HEALTH = "HEALTH"
    FRESHNESS = "FRESHNESS"
    QUERY = "QUERY"


@dataclass(frozen=True, slots=True)
class CheckTable:
    """CHECK MATERIALIZED TABLE name {HEALTH | FRESHNESS [WITHIN INTERVAL 'n' unit] | QUERY}.

    Args:
        within: The lag that is allowed; None for that of the table's own freshness.
    """

    name: TableName
    kind: CheckKind
    within: Freshness | None = None


@dataclass(frozen=True, slots=True)
class Suspend:
    """ALTER MATERIALIZED TABLE name SUSPEND."""

    name: TableName


@dataclass(frozen=True, slots=True)
class Resume:
    """ALTER MATERIALIZED TABLE name RESUME [WITH (…)]."""

    name: TableName
    options: Pairs = ()


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """`column = literal`; `literal` is the text as written, or None for NULL."""

    column: str
    literal: str | None


@dataclass(frozen=True, slots=True)
class Refresh:
    """ALTER MATERIALIZED TABLE name REFRESH [PARTITION (k = literal, …)]."""

    name: TableName
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class SetClause:
    """ALTER … SET clause; RESET clause if the value is None.

    Args:
        field: The field of the clause in `DeclaredDefinition`.
    """

    name: TableName
    field: str
    value: Any


@dataclass(frozen=True, slots=True)
class SetOptions:
    """ALTER … SET ('k' = 'v', …)."""

    name: TableName
    options: Pairs


@dataclass(frozen=True, slots=True)
class ResetOptions:
    """ALTER … RESET ('k', …)."""

    name: TableName
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlterQuery:
    """ALTER … [WITH (run options)] [SET clause …] AS query.

    Args:
        declared: The query, and the clauses of the statement.
    """

    name: TableName
    declared: DeclaredDefinition
    options: Pairs = ()


@dataclass(frozen=True, slots=True)
class AddQuery:
    """ALTER … ADD query."""

    name: TableName
    query: str


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP MATERIALIZED TABLE [IF EXISTS] name."""

    name: TableName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowTables:
    """SHOW MATERIALIZED TABLES [FROM schema] [[NOT] LIKE 'pattern'].

    `schema` is one or two parts, outermost first; empty means the current schema.
    """

    schema: tuple[str, ...] = ()
    pattern: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """SHOW CREATE [OR ALTER] MATERIALIZED TABLE name."""

    name: TableName
    or_alter: bool = False


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """DESC [EXTENDED] MATERIALIZED TABLE [EXTENDED] name."""

    name: TableName
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeJob:
    """DESC JOB 'job-id'."""

    job_id: str


@dataclass(frozen=True, slots=True)
class ShowJobs:
    """SHOW JOBS."""


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a statement that would change a definition."""

    statement: CreateTable | AlterQuery | Adopt


Statement = (
    CreateTable
    | Adopt
    | Release
    | CheckTable
    | Suspend
    | Resume
    | Refresh
    | SetClause
    | SetOptions
    | ResetOptions
    | AlterQuery
    | AddQuery
    | DropTable
    | ShowTables
    | ShowCreate
    | DescribeTable
    | DescribeJob
    | ShowJobs
    | Explain
)

PLANNED = (CreateTable, Adopt, AlterQuery, AddQuery, SetClause, SetOptions, ResetOptions)
"""The statements that change a definition, of which a plan can be made."""
RELAYED = (*PLANNED, Release, Refresh, Suspend, Resume)
"""The statements that a manager carries out for a session of its Spark Connect server."""
