"""The JSON bodies of a statement that the manager carries out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field, StrictStr

from dbt.adapters.spark_mt.execution.relayed import document_of
from dbt.adapters.spark_mt.service.http.schemas import Asked

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.execution.results import StatementResult


class ExecuteAsked(Asked):
    """A statement that is to be carried out in the manager's driver."""

    statement: StrictStr = Field(
        min_length=1,
        description="A CREATE, ALTER or REFRESH of a materialized table; the answer comes when it "
        "has ended.",
        examples=["ALTER MATERIALIZED TABLE flights.live_departures REFRESH"],
    )
    currentCatalog: StrictStr = Field(  # noqa: N815 - as the other keys
        default="spark_catalog", description="Where names without a catalog belong."
    )
    currentSchema: StrictStr = Field(  # noqa: N815 - as the other keys
        default="default", description="Where names without a schema belong."
    )
    owner: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Who declares the table, as its definition keeps it."
    )


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
        return cls(**document_of(result))
