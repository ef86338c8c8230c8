"""The JSON bodies of the REST interface, beyond the values of `service/views.py`.

Bodies that are sent to the manager take no unknown keys. The route of seed 435 has that paper's
names; everything else is named as in `views`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from dbt.adapters.spark_mt.service.views import (  # noqa: TC001 - pydantic reads the annotations
    Promise,
    SourcePosition,
    TableView,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.service.views import RefreshSubmitted, TableDetails

RECENT = 30


class Asked(BaseModel):
    """What a request may say; a key that no field has is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RefreshAsked(Asked):
    """A refresh, as the workflow schedulers of seed 435 ask for it."""

    materializedTable: StrictStr = Field(  # noqa: N815 - the paper's name
        min_length=1,
        description="The table's name in one to three parts, in backticks where it needs them.",
        examples=["flights.daily_report"],
    )
    isPeriodic: StrictBool = Field(  # noqa: N815 - the paper's name
        default=False,
        description="Whether a schedule asks: of a table with date formatters only the partitions "
        "of the scheduled time are written. Otherwise the whole table is computed.",
    )
    scheduleTime: StrictStr | None = Field(  # noqa: N815 - the paper's name
        default=None,
        description="The scheduled time in the table's time zone; needed if isPeriodic.",
        examples=["2026-11-21 00:00:00"],
    )
    scheduleTimeFormat: StrictStr | None = Field(  # noqa: N815 - the paper's name
        default=None,
        description="Spark's datetime pattern of scheduleTime; yyyy-MM-dd HH:mm:ss if left out.",
    )
    config: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Run options, which hold for this refresh only."
    )


class PlanAsked(Asked):
    """A statement whose effect is asked for."""

    statement: StrictStr = Field(
        min_length=1,
        description="A CREATE or ALTER MATERIALIZED TABLE statement; it is not carried out.",
        examples=[
            "ALTER MATERIALIZED TABLE flights.daily_report SET FRESHNESS = INTERVAL '1' HOUR"
        ],
    )


class ResumeAsked(Asked):
    """How a suspended table goes on."""

    config: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Run options of the refresh that goes on."
    )


class NothingAsked(Asked):
    """The body of a request that needs none."""


class TableFilter(Asked):
    """Which tables a list has."""

    contains: StrictStr = Field(default="", description="A part of the name, in any case.")
    status: Literal["INITIALIZING", "ACTIVATED", "SUSPENDED"] | None = None
    refresh_mode: Literal["CONTINUOUS", "FULL"] | None = None
    promise: Promise | None = None
    failing: bool | None = Field(default=None, description="Whether the newest refresh failed.")
    after: StrictStr = Field(default="", description="The `next` of the page before.")
    limit: int | None = Field(default=None, ge=1, description="All tables if left out.")
    recent: int = Field(
        default=RECENT, ge=0, le=RECENT, description="How many refreshes each table shows."
    )


@dataclass(frozen=True, slots=True)
class RefreshAnswer:
    """A refresh that was accepted, with the names of seed 435.

    Args:
        jobID: Works in `GET /v3/jobs/{jobID}` and in DESC JOB.
        clusterInfo: Where it runs, by label.
    """

    jobID: str  # noqa: N815 - the paper's name
    clusterInfo: dict[str, str]  # noqa: N815 - the paper's name

    @classmethod
    def of(cls, submitted: RefreshSubmitted) -> RefreshAnswer:
        """Say it in the paper's words."""
        return cls(submitted.job_id, dict(submitted.cluster))


@dataclass(frozen=True, slots=True)
class TableList:
    """Tables, ordered by name.

    Args:
        tables: Those of this page.
        total: How many tables pass the filter, on all pages.
        next: What `after` takes for the next page; null on the last.
    """

    tables: tuple[TableView, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """A refresh as the log of refreshes knows it.

    Args:
        job_id: Works in DESC JOB.
        table: The full name.
        kind: What asked for it: CONTINUOUS, SCHEDULED or MANUAL.
        status: RUNNING, FINISHED, SKIPPED (there was nothing to do), FAILED or CANCELED.
        trigger: The statement that it is a part of: CREATE, REFRESH …
        creates: Whether the table did not exist when it began.
        refresh_mode: Of the definition that it computes.
        freshness: As it stands in a statement.
        owner: Who runs it, for people.
        started_at_ms: Milliseconds since the epoch, UTC, as all times here.
        heard_at_ms: When it was last heard of.
        ended_at_ms: Null while it runs.
        rows: Rows written, where they were counted.
        error: Why it failed or was canceled, empty otherwise.
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
    heard_at_ms: int
    ended_at_ms: int | None
    rows: int | None
    error: str

    @classmethod
    def of(cls, job: Job) -> JobAnswer:
        """Take what the log has."""
        return cls(
            job_id=job.job_id,
            table=str(job.table),
            kind=job.kind.value,
            status=job.status.value,
            trigger=job.trigger,
            creates=job.creates,
            refresh_mode=job.refresh_mode,
            freshness=job.freshness,
            owner=str(job.owner),
            started_at_ms=job.started_at_ms,
            heard_at_ms=job.heard_at_ms,
            ended_at_ms=job.ended_at_ms,
            rows=job.rows,
            error=job.error,
        )


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

    view: TableView
    statement: str
    expanded_query: str
    description: tuple[LineAnswer, ...]
    columns: tuple[ColumnAnswer, ...]
    positions: tuple[SourcePosition, ...]
    history: tuple[JobAnswer, ...]

    @classmethod
    def of(cls, details: TableDetails) -> TableAnswer:
        """Give names to what has none."""
        return cls(
            view=details.view,
            statement=details.statement,
            expanded_query=details.expanded_query,
            description=tuple(LineAnswer(*line) for line in details.description),
            columns=tuple(ColumnAnswer(*column) for column in details.columns),
            positions=details.positions,
            history=tuple(map(JobAnswer.of, details.history)),
        )


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
