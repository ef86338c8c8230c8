"""JSON bodies that ask for a refresh: of FLIP-435, and of Flink's SQL Gateway.

FLIP-435 drafts a route with the table in the body. Released Flink (2.0 and later) has the table in
the path, other keys, and a session before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import Field, StrictBool, StrictStr, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import Self

from dbt.adapters.spark_mt.manager.http.errors import ScheduleTimeMissingError
from dbt.adapters.spark_mt.manager.http.schemas import RequestBody
from dbt.adapters.spark_mt.manager.views import RefreshRequest

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.manager.views import RefreshSubmitted


_DIFFER = "isPeriodic and periodic differ"


class RefreshTableRequest(RequestBody):
    """A refresh, as FLIP-435 describes the request of a workflow scheduler."""

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


class GatewayRefreshRequest(RequestBody):
    """A refresh, as workflow schedulers ask Flink's SQL Gateway for it (Flink 2.0 and later)."""

    isPeriodic: StrictBool = Field(  # noqa: N815 - Flink's name
        default=False,
        description="Whether a schedule asks: of a table with date formatters only the partitions "
        "of the scheduled time are written.",
    )
    periodic: StrictBool | None = Field(
        default=None,
        description="The same as isPeriodic: Flink's own client sends the value under both names.",
    )
    scheduleTime: StrictStr | None = Field(  # noqa: N815 - Flink's name
        default=None,
        description="The scheduled time in the table's time zone, as yyyy-MM-dd HH:mm:ss; needed "
        "if isPeriodic.",
        examples=["2026-11-21 00:00:00"],
    )
    staticPartitions: dict[StrictStr, StrictStr] | None = Field(  # noqa: N815 - Flink's name
        default=None,
        description="The value of each partition column to refresh; the whole table without it. "
        "As in Flink, it does not count if isPeriodic.",
        examples=[{"ds": "2026-11-21"}],
    )
    dynamicOptions: dict[StrictStr, StrictStr] | None = Field(  # noqa: N815 - Flink's name
        default=None, description="Run options, which hold for this refresh only."
    )
    executionConfig: dict[StrictStr, StrictStr] | None = Field(  # noqa: N815 - Flink's name
        default=None, description="Run options, too: SQL confs of Spark."
    )

    @model_validator(mode="after")
    def _is_periodic_or_not(self) -> Self:
        if self.periodic not in {None, self.isPeriodic}:
            raise PydanticCustomError(_DIFFER, _DIFFER)
        return self


@dataclass(frozen=True, slots=True)
class RefreshAnswer:
    """A refresh that was accepted, with the names of FLIP-435.

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


def refresh_request(body: RefreshTableRequest) -> RefreshRequest:
    """Check what can be checked without the table.

    Raises:
        ScheduleTimeMissingError: A periodic refresh without its time (FLIP-435).
    """
    request = RefreshRequest(
        body.materializedTable,
        is_periodic=body.isPeriodic,
        schedule_time=_time(body, body.materializedTable),
        run_options=tuple(body.config.items()),
    )
    pattern = (body.scheduleTimeFormat or "").strip()
    return replace(request, schedule_time_format=pattern) if pattern else request


def gateway_request(name: str, body: GatewayRefreshRequest) -> RefreshRequest:
    """Check what can be checked without the table; as in Flink, a schedule names no partition.

    Raises:
        ScheduleTimeMissingError: A periodic refresh without its time.
    """
    options = (*(body.dynamicOptions or {}).items(), *(body.executionConfig or {}).items())
    partition = {} if body.isPeriodic else body.staticPartitions or {}
    return RefreshRequest(
        name,
        is_periodic=body.isPeriodic,
        schedule_time=_time(body, name),
        run_options=options,
        partition=tuple(partition.items()),
    )


def _time(body: RefreshTableRequest | GatewayRefreshRequest, table: str) -> str | None:
    time = (body.scheduleTime or "").strip() or None
    if body.isPeriodic and time is None:
        raise ScheduleTimeMissingError(table=table)
    return time
