"""Jobs of the refresh log, and the owners, leases and handlers that run them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.columns import Pairs, TableName
    from dbt.adapters.spark_mt.definition.verification import Verification


SILENCE_MS = 60_000
"""After how long without a heartbeat a manager counts as gone, unless it says otherwise."""
_WORKFLOW = "workflow"


class JobKind(Enum):
    """What asked for a refresh."""

    CONTINUOUS = "CONTINUOUS"
    SCHEDULED = "SCHEDULED"
    MANUAL = "MANUAL"
    VERIFICATION = "VERIFICATION"
    """No refresh: a comparison of the rows that a refresh wrote with those of the query."""


class JobStatus(Enum):
    """How far a refresh has come."""

    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that runs a refresh.

    Args:
        host: The machine's name.
        pid: The process's number on that machine.
        process: Distinguishes this process from a later one with the same number, and from one in
            another container of the same name; empty where the system has no such identity.
        user: Who runs it, empty where that is unknown.
    """

    host: str
    pid: int
    process: str = ""
    user: str = ""

    def __str__(self) -> str:
        """For people: who, where."""
        who = f"{self.user}, " if self.user else ""
        return f"{who}process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Job:
    """One refresh. While it is RUNNING it holds its table.

    Args:
        job_id: The refresh's id, which its commit carries as well.
        started_at_ms: Milliseconds since the epoch, UTC, as all times here.
        last_heartbeat_ms: When its owner wrote this. A running refresh writes every 20 seconds. A
            manager's lease shows that its streams and refreshes run, and those it has accepted.
        trigger: The statement that it is a part of: `CREATE`, `REFRESH` …
        creates: Whether the table did not exist when it began.
        refresh_mode: Of the definition that it computes, for listings.
        freshness: As a statement has it.
        ended_at_ms: None while it runs.
        rows: Rows written, where they were counted.
        error: Why it failed or was canceled, empty otherwise.
        scheduled_at_ms: The scheduled time that a SCHEDULED one stands for; None for others.
        strategy: How its rows are computed: `incremental/append`; empty where that is unknown.
        reason: Why, each reason with its code.
        request: Of a refresh that a manager has accepted and that has not begun: what was asked
            for, as text. Empty for every other one.
        verification: What a verification found; None for a refresh.
        unknown: What a newer release stored in addition, as text; written back as it was.
    """

    job_id: str
    table: TableName
    kind: JobKind
    status: JobStatus
    started_at_ms: int
    last_heartbeat_ms: int
    owner: Owner
    trigger: str
    creates: bool = False
    refresh_mode: str = ""
    freshness: str = ""
    ended_at_ms: int | None = None
    rows: int | None = None
    error: str = ""
    scheduled_at_ms: int | None = None
    strategy: str = ""
    reason: str = ""
    request: str = ""
    verification: Verification | None = None
    unknown: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lease:
    """One manager's claim to a catalog; of all claims, the one with the highest term holds.

    Args:
        catalog: Whose tables.
        term: Grows by one with every takeover.
        owner: The manager's process.
        last_heartbeat_ms: When it said so last, on its own clock: milliseconds since the epoch,
            UTC.
        address: Of its REST interface; empty without one.
        settings: The settings under `spark.materialized-table.` that are in force in it, which
            hold for the tables that it hosts.
        silence_ms: After how long without a word it may be taken for gone.
        is_released: Whether it has given the lease up in good order.
    """

    catalog: str
    term: int
    owner: Owner
    last_heartbeat_ms: int
    address: str = ""
    settings: Pairs = ()
    silence_ms: int = SILENCE_MS
    is_released: bool = False


def renewed(lease: Lease, last_heartbeat_ms: int) -> Lease:
    """Return a lease whose last heartbeat was at an instant, if that is later."""
    return replace(lease, last_heartbeat_ms=max(lease.last_heartbeat_ms, last_heartbeat_ms))


class RefreshHandler(Protocol):
    """Identifies what runs a table's refresh; a workflow scheduler may have a type of its own."""

    def describe(self) -> str:
        """Return a summary for people."""
        ...


Handler = TypeVar("Handler", bound=RefreshHandler)


@dataclass(frozen=True, slots=True)
class ContinuousRefreshHandler:
    """A streaming query or change-driven loop that some host runs."""

    host: str
    query_id: str
    run_id: str
    checkpoint: str

    def describe(self) -> str:
        """A summary for people."""
        return f"query {self.query_id}, run {self.run_id}, on {self.host}"


@dataclass(frozen=True, slots=True)
class FullRefreshHandler:
    """A workflow in a scheduler."""

    scheduler: str
    workflow_id: str
    schedule: str

    def describe(self) -> str:
        """A summary for people."""
        return f"workflow {self.workflow_id} in {self.scheduler}, {self.schedule}"


class RefreshHandlerSerializer(Protocol[Handler]):
    """Turns a handler into the bytes that the catalog keeps, and back."""

    def serialize(self, handler: Handler) -> bytes:
        """Return the bytes to store."""
        ...

    def deserialize(self, serialized: bytes) -> Handler:
        """Return the handler that `serialize` was given."""
        ...


class JsonRefreshHandlerSerializer:
    """Keeps the handlers of this module as JSON with the name of their kind."""

    def serialize(self, handler: RefreshHandler) -> bytes:
        """Return the bytes to store.

        Raises:
            TypeError: The handler is of another type.
        """
        match handler:
            case ContinuousRefreshHandler():
                document = {
                    "kind": "continuous",
                    "host": handler.host,
                    "query_id": handler.query_id,
                    "run_id": handler.run_id,
                    "checkpoint": handler.checkpoint,
                }
            case FullRefreshHandler():
                document = {
                    "kind": "full",
                    "scheduler": handler.scheduler,
                    "workflow_id": handler.workflow_id,
                    "schedule": handler.schedule,
                }
            case _:
                name = type(handler).__name__
                raise TypeError(f"{name} is not FullRefreshHandler")  # noqa: TRY003, EM102
        return json.dumps(document, sort_keys=True).encode()

    def deserialize(self, serialized: bytes) -> ContinuousRefreshHandler | FullRefreshHandler:
        """Return the handler that `serialize` was given; keys that are not known are ignored.

        Raises:
            ValueError: The bytes hold no known handler.
        """
        try:
            return _handler(json.loads(serialized))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no refresh handler: {error}") from error  # noqa: TRY003, EM102


def _handler(document: dict[str, Any]) -> ContinuousRefreshHandler | FullRefreshHandler:
    match document["kind"]:
        case "continuous":
            run_id, checkpoint = document.get("run_id", ""), document.get("checkpoint", "")
            host, query_id = document["host"], document["query_id"]
            return ContinuousRefreshHandler(host, query_id, run_id, checkpoint)
        case "full":
            scheduler, workflow_id = document["scheduler"], document["workflow_id"]
            return FullRefreshHandler(scheduler, workflow_id, document.get("schedule", ""))
        case kind:
            raise ValueError(f"unknown kind of refresh handler: {kind!r}")  # noqa: TRY003, EM102


@dataclass(frozen=True, slots=True)
class StoredHandler:
    """What the registry keeps of a table's refresh handler.

    Processes that do not have the scheduler read the description.

    Args:
        description: For people.
        scheduler: The workflow scheduler by the name under which the setting chooses it. Empty for
            a table that a manager follows itself.
        table_id: The identity of the workflow's table.
        serialized: The handler, by the scheduler's serializer; empty if that failed.
    """

    description: str
    scheduler: str = ""
    table_id: str = ""
    serialized: bytes = b""

    def encode(self) -> bytes:
        """Return the text that the registry stores, in UTF-8."""
        document = {
            "kind": _WORKFLOW,
            "description": self.description,
            "scheduler": self.scheduler,
            "table_id": self.table_id,
            "handler": b64encode(self.serialized).decode(),
        }
        return json.dumps(document, sort_keys=True).encode()

    @classmethod
    def decode(cls, text: bytes) -> StoredHandler:
        """Return what `encode` or `JsonRefreshHandlerSerializer` made.

        Raises:
            ValueError: The text is neither.
        """
        document = json.loads(text)
        if isinstance(document, dict) and document.get("kind") == _WORKFLOW:
            return cls(
                document.get("description", ""),
                document.get("scheduler", ""),
                document.get("table_id", ""),
                b64decode(document.get("handler", "")),
            )
        handler = JsonRefreshHandlerSerializer().deserialize(text)
        scheduler = handler.scheduler if isinstance(handler, FullRefreshHandler) else ""
        return cls(handler.describe(), scheduler)
