"""What runs a table's refresh, as a description and in serialized form (seed 435)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Protocol


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


RefreshHandler = ContinuousRefreshHandler | FullRefreshHandler


class RefreshHandlerSerializer(Protocol):
    """Turns a handler into the bytes that the catalog keeps, and back."""

    def serialize(self, handler: RefreshHandler) -> bytes:
        """Return the bytes to store."""
        ...

    def deserialize(self, serialized: bytes) -> RefreshHandler:
        """Return the handler that `serialize` was given."""
        ...


_KINDS = {"continuous": ContinuousRefreshHandler, "full": FullRefreshHandler}


class JsonRefreshHandlerSerializer:
    """Keeps a handler as JSON with the name of its kind."""

    def serialize(self, handler: RefreshHandler) -> bytes:
        """Return the bytes to store."""
        kind = "continuous" if isinstance(handler, ContinuousRefreshHandler) else "full"
        return json.dumps({"kind": kind, **asdict(handler)}, sort_keys=True).encode()

    def deserialize(self, serialized: bytes) -> RefreshHandler:
        """Return the handler that `serialize` was given.

        Raises:
            ValueError: The bytes hold no known handler.
        """
        fields = json.loads(serialized)
        kind = fields.pop("kind", None)
        if kind not in _KINDS:
            raise ValueError(f"unknown kind of refresh handler: {kind!r}")  # noqa: TRY003, EM102
        handler: RefreshHandler = _KINDS[kind](**fields)
        return handler
