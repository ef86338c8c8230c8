"""JSON bodies of the REST interface, beyond the values of `manager/views.py`.

Request bodies accept no unknown keys. The route of FLIP-435 has the names of FLIP-435; everything
else is named as in `views`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, fields
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from dbt.adapters.spark_mt.definition.columns import Column  # noqa: TC001 - pydantic reads the annotations
from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus  # noqa: TC001 - pydantic reads the annotations
from dbt.adapters.spark_mt.definition.verification import Verification
from dbt.adapters.spark_mt.execution import results
from dbt.adapters.spark_mt.manager import views

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.execution.results import StatementResult
    from dbt.adapters.spark_mt.manager.views import TableDetails


RECENT = 30


class RequestBody(BaseModel):
    """What a request may say; a key that no field has is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlanRequest(RequestBody):
    """A statement whose effect is asked for."""

    statement: StrictStr = Field(
        min_length=1,
        description="A CREATE or ALTER MATERIALIZED TABLE statement; it is not carried out.",
        examples=[
            "ALTER MATERIALIZED TABLE flights.daily_report SET FRESHNESS = INTERVAL '1' HOUR"
        ],
    )


class QueryRequest(RequestBody):
    """A query whose columns are asked for."""

    query: StrictStr = Field(min_length=1, description="A query; it is not run.")


@dataclass(frozen=True, slots=True)
class ColumnList:
    """The columns of a query.

    Args:
        columns: In the order of the query.
    """

    columns: tuple[Column, ...]


class ResumeRequest(RequestBody):
    """Options with which a suspended table is resumed."""

    config: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Run options of the refresh."
    )


class EmptyRequest(RequestBody):
    """The body of a request that needs none."""


class TableFilter(RequestBody):
    """Which tables a list has."""

    contains: StrictStr = Field(default="", description="A part of the name, in any case.")
    status: Literal["INITIALIZING", "ACTIVATED", "SUSPENDED"] | None = None
    refresh_mode: Literal["CONTINUOUS", "FULL"] | None = None
    freshness_status: FreshnessStatus | None = None
    failing: bool | None = Field(default=None, description="Whether the newest refresh failed.")
    after: StrictStr = Field(default="", description="The `next` of the page before.")
    limit: int | None = Field(default=None, ge=1, description="All tables if left out.")
    recent: int = Field(
        default=RECENT, ge=0, le=RECENT, description="How many refreshes each table shows."
    )


@dataclass(frozen=True, slots=True)
class TableList:
    """Tables, ordered by name.

    Args:
        tables: Those of this page.
        total: How many tables pass the filter, on all pages.
        next: What `after` takes for the next page; null on the last.
    """

    tables: tuple[views.TableView, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """A row that a table and its query do not have equally often.

    Args:
        side: `missing` from the table, or `unexpected` in it.
        row: The row as JSON.
        copies: The number by which one side has more of it.
    """

    side: str
    row: str
    copies: int


@dataclass(frozen=True, slots=True)
class VerificationAnswer:
    """Comparison of the rows of one commit with those of the query.

    Args:
        result: equal, different, or skipped: the rows could not be compared.
        refresh_id: The refresh that made the commit.
        version: The version of the table that the commit made.
        problem: Why the rows could not be compared; empty if they were.
        total: How many rows differ, copies counted.
        rows: Up to three of them.
        repair_id: The refresh that computes all rows again; empty where there is none.
        repaired: Whether that refresh has succeeded.
        repair_problem: Why it has not; empty otherwise.
    """

    result: str
    refresh_id: str
    version: int
    problem: str
    total: int
    rows: tuple[RowAnswer, ...]
    repair_id: str
    repaired: bool
    repair_problem: str

    @classmethod
    def of(cls, found: Verification) -> VerificationAnswer:
        """Return a verification with its values as JSON has them."""
        plain = {f.name: _plain(getattr(found, f.name)) for f in fields(cls) if f.name != "rows"}
        rows = tuple(RowAnswer(row.side.value, row.row, row.copies) for row in found.rows)
        return cls(**plain, rows=rows)


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """A refresh as the log of refreshes knows it.

    Args:
        job_id: Works in DESC JOB.
        table: The full name.
        kind: What asked for it: CONTINUOUS, SCHEDULED or MANUAL; VERIFICATION is no refresh, and
            compares the rows of one.
        status: RUNNING, FINISHED, SKIPPED (there was nothing to do), FAILED or CANCELED.
        trigger: The statement that it is a part of: CREATE, REFRESH …
        creates: Whether the table did not exist when it began.
        refresh_mode: Of the definition that it computes.
        freshness: As in a statement.
        owner: Who runs it, for people.
        started_at_ms: Milliseconds since the epoch, UTC, as all times here.
        last_heartbeat_ms: When its owner last wrote that it runs.
        ended_at_ms: Null while it runs.
        rows: Rows written, where they were counted.
        error: Why it failed or was canceled, empty otherwise.
        strategy: How its rows are computed, such as incremental/append; empty where unknown.
        reason: Why, each reason with its code; of a verification, why the rows were not compared.
        verification: What a verification found; null for a refresh.
    """

    job_id: str
    table: str
    kind: str
    status: str
    trigger: str
    creates: bool
    refresh_mode: str
    freshness: str
    owner: str
    started_at_ms: int
    last_heartbeat_ms: int
    ended_at_ms: int | None
    rows: int | None
    error: str
    strategy: str
    reason: str
    verification: VerificationAnswer | None

    @classmethod
    def of(cls, job: Job) -> JobAnswer:
        """Return a row of the log with its values as JSON has them."""
        return cls(**{field.name: _plain(getattr(job, field.name)) for field in fields(cls)})


def _plain(value: object) -> Any:  # noqa: ANN401 - of any field
    """Return a name as a text, and an enumeration by its value."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Verification):
        return VerificationAnswer.of(value)
    return value if isinstance(value, str | bool | int | None) else str(value)


@dataclass(frozen=True, slots=True)
class JobList:
    """Refreshes, the newest first.

    Args:
        refreshes: As many as were asked for.
    """

    refreshes: tuple[JobAnswer, ...]


@dataclass(frozen=True, slots=True)
class ColumnAnswer:
    """A column.

    Args:
        type: Spark's name of the type.
        comment: May be empty.
    """

    name: str
    type: str
    comment: str


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """A line of DESC EXTENDED."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """Everything about one table.

    Args:
        view: What the list shows.
        statement: The statement that makes it, as SHOW CREATE prints it.
        expanded_query: What refreshes run.
        description: The lines of DESC EXTENDED.
        columns: In their order.
        positions: How far it has read its sources.
        history: Its newest refreshes, the newest first.
    """

    view: views.TableView
    statement: str
    expanded_query: str
    description: tuple[LineAnswer, ...]
    columns: tuple[ColumnAnswer, ...]
    positions: tuple[views.SourcePosition, ...]
    history: tuple[JobAnswer, ...]

    @classmethod
    def of(cls, details: TableDetails) -> TableAnswer:
        """Return the details with names for what has none."""
        named = {
            "description": tuple(LineAnswer(*line) for line in details.description),
            "columns": tuple(ColumnAnswer(*column) for column in details.columns),
            "history": tuple(map(JobAnswer.of, details.history)),
        }
        same = {field.name: getattr(details, field.name) for field in fields(cls)}
        return cls(**{**same, **named})


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """Whether the manager is well.

    Args:
        ok: Whether this is what was asked for.
        problems: Why not, one sentence each.
    """

    ok: bool
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProblemAnswer:
    """Why a request was refused or failed (RFC 9457).

    Args:
        type: Where the condition is explained.
        title: What the condition means, the same for all requests.
        status: The HTTP status.
        detail: What is wrong with this request.
        instance: The request's id, by which the manager's log knows it.
        condition: What programs look at.
        parameters: The facts, by name.
        violations: Every single reason, where there are several.
        remedy: What to do, and what that costs.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    condition: str
    parameters: dict[str, str]
    violations: tuple[str, ...]
    remedy: str


class ExecuteRequest(RequestBody):
    """A statement that is to be carried out in the manager's driver."""

    statement: StrictStr = Field(
        min_length=1,
        description="A CREATE, ALTER or REFRESH of a materialized table; the answer comes when it "
        "has ended. It is interrupted when the connection ends before.",
        examples=["ALTER MATERIALIZED TABLE flights.live_departures REFRESH"],
    )
    requestID: StrictStr = Field(  # noqa: N815 - as the other keys
        default_factory=lambda: uuid.uuid4().hex,
        min_length=1,
        description="Names the request for /v3/statements/{requestID}/interrupt.",
    )
    sessionID: StrictStr = Field(  # noqa: N815 - as the other keys
        default="",
        description="A session of the manager's Spark Connect server, in which the statement is "
        "carried out: its current schema and confs count. Empty for a new session.",
    )
    currentCatalog: StrictStr = Field(  # noqa: N815 - as the other keys
        default="",
        description="Where names without a catalog belong; empty for the manager's catalog.",
    )
    currentSchema: StrictStr = Field(  # noqa: N815 - as the other keys
        default="",
        description="Where names without a schema belong; empty for the default one of the "
        "catalog.",
    )
    owner: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Who declares the table, as its definition keeps it."
    )
    refreshPolicy: results.RefreshPolicy | None = Field(  # noqa: N815 - as the other keys
        default=None,
        description="For CREATE OR ALTER and CREATE OR REPLACE: brings the rows up to date "
        "afterwards, unless a manager does (auto), in any case (always) or not (never).",
    )
    adopting: StrictBool = Field(
        default=False, description="With refreshPolicy: adopts a plain table of the name."
    )
    asOf: datetime | None = Field(  # noqa: N815 - as the other keys
        default=None,
        description="With adopting: the instant whose state of the sources the rows reflect.",
    )
    ifEqual: StrictBool = Field(  # noqa: N815 - as the other keys
        default=False,
        description="With adopting: adopts the table only if it has the rows of the query.",
    )

    def request(self) -> views.StatementRequest:
        """Return it for the manager."""
        adopt = results.AdoptionTerms(self.asOf, self.ifEqual) if self.adopting else None
        return views.StatementRequest(
            results.RelayedStatement(self.statement, self.refreshPolicy, adopt),
            self.requestID,
            self.currentCatalog,
            self.currentSchema,
            self.sessionID,
            tuple(sorted(self.owner.items())),
        )


@dataclass(frozen=True, slots=True)
class NameList:
    """The materialized tables of a schema.

    Args:
        names: Their names, in order.
    """

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecuteAnswer:
    """What a statement returned and did.

    Args:
        columns: Name and type of each column of its rows.
        rows: Its rows.
        outcome: What it did, by the names of the statement's facts.
    """

    columns: list[list[str]]
    rows: list[list[Any]]
    outcome: dict[str, Any] | None

    @classmethod
    def of(cls, result: StatementResult) -> ExecuteAnswer:
        """Return the answer for a result."""
        return cls(**results.document_of(result))
