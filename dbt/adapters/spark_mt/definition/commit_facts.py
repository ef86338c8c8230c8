"""What every commit of ours says about itself, in the commit (design section 3)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dbt.adapters.spark_mt.definition.positions import (
    DefinitionPosition,
    OffsetPosition,
    Position,
    Positions,
    UnknownPosition,
    VersionedPosition,
)

MARK = "materialized-table"
FORMAT_VERSION = 1
MOST_FOREIGN = 20
"""How many changes by others a commit tells on."""


class CommitKind(Enum):
    """What a commit of ours does."""

    CONTENT = "content"
    """All rows, or those that changes of the sources reach; the definition where it changed."""
    PARTITION = "partition"
    """The rows of some partitions; the table's positions stay."""
    DEFINITION = "definition"
    """No rows: the definition only."""
    ADOPTION = "adoption"
    """No rows: the definition of a table that was a plain one until now; its rows are trusted."""
    RELEASE = "release"
    """No rows: the table is a plain one from now on."""
    FENCE = "fence"
    """No rows: only a number, above whatever the log may hold that can no longer be read."""
    PUBLISH = "publish"
    """Properties or comments that follow from a definition which is committed already."""


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """The facts of one commit.

    Args:
        seq: The fence: one more than that of the commit before; 0 for PUBLISH, which has none.
        token: Random, so that a writer can tell its own commit from another with the same seq.
        generation: The generation of the definition that is valid from this commit on.
        definition: The encoded definition, where this commit changes it.
        positions: Up to where the table's rows reflect the sources after this commit.
        partition_positions: For PARTITION: up to where those partitions do.
        refresh: Facts of the refresh that wrote the rows which the table has.
        stream: Which batch of which stream this is, where a stream wrote it.
        foreign: Data changes by others that stood in the table before this commit and still do, as
            (version, operation), oldest first; the newest of many.
    """

    table_id: str
    kind: CommitKind
    seq: int
    token: str
    generation: int
    definition: str = ""
    positions: Positions | None = None
    partition_positions: Positions | None = None
    refresh: RefreshFacts | None = None
    stream: StreamFacts | None = None
    foreign: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshFacts:
    """Which refresh wrote a table's rows; `started_at_ms` counts from the epoch, UTC."""

    refresh_id: str
    strategy: str
    trigger: str
    started_at_ms: int


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """The batch of a stream that a commit holds.

    Args:
        checkpoint: The name of the stream's checkpoint below that of the table.
        batch: Its number in that checkpoint, from 0.
    """

    checkpoint: str
    batch: int


def encode_commit(facts: CommitFacts) -> str:
    """Return the facts as the text for a commit's user metadata."""
    document: dict[str, Any] = {
        MARK: FORMAT_VERSION,
        "table": facts.table_id,
        "kind": facts.kind.value,
        "seq": facts.seq,
        "token": facts.token,
        "generation": facts.generation,
    }
    if facts.definition:
        document["definition"] = facts.definition
    for key in ("positions", "partition_positions"):
        positions = getattr(facts, key)
        if positions is not None:
            document[key] = encode_positions(positions)
    if (refresh := facts.refresh) is not None:
        document["refresh"] = {
            "id": refresh.refresh_id,
            "strategy": refresh.strategy,
            "trigger": refresh.trigger,
            "started_at_ms": refresh.started_at_ms,
        }
    if (stream := facts.stream) is not None:
        document["stream"] = [stream.checkpoint, stream.batch]
    if facts.foreign:
        document["foreign"] = facts.foreign[-MOST_FOREIGN:]
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))


def decode_commit(text: str | None) -> CommitFacts | None:
    """Return the facts in a commit's user metadata, or None if the commit is not one of ours."""
    document = _document(text)
    if document is None or document.get(MARK) != FORMAT_VERSION:
        return None
    refresh, stream = document.get("refresh"), document.get("stream")
    return CommitFacts(
        table_id=document["table"],
        kind=CommitKind(document["kind"]),
        seq=document["seq"],
        token=document["token"],
        generation=document["generation"],
        definition=document.get("definition", ""),
        positions=_optional_positions(document.get("positions")),
        partition_positions=_optional_positions(document.get("partition_positions")),
        refresh=refresh
        and RefreshFacts(
            refresh["id"], refresh["strategy"], refresh["trigger"], refresh["started_at_ms"]
        ),
        stream=stream and StreamFacts(*stream),
        foreign=tuple((version, operation) for version, operation in document.get("foreign", ())),
    )


def encode_positions(positions: Positions) -> dict[str, Any]:
    """Return positions as a document.

    A list for a version, a text for a fingerprint, an object for an offset, null for unknown.
    """
    return {name: _encode_position(position) for name, position in sorted(positions.items())}


def decode_positions(document: dict[str, Any]) -> Positions:
    """Return the positions that `encode_positions` was given."""
    return {name: _decode_position(value) for name, value in document.items()}


def _optional_positions(document: dict[str, Any] | None) -> Positions | None:
    return None if document is None else decode_positions(document)


def _encode_position(position: Position) -> list[object] | dict[str, str] | str | None:
    match position:
        case VersionedPosition(version, identity):
            return [version, identity]
        case DefinitionPosition(fingerprint):
            return fingerprint
        case OffsetPosition(format_, offset):
            return {"format": format_, "offset": offset}
        case UnknownPosition():
            return None


def _decode_position(value: list[Any] | dict[str, str] | str | None) -> Position:
    if value is None:
        return UnknownPosition()
    if isinstance(value, str):
        return DefinitionPosition(value)
    if isinstance(value, dict):
        return OffsetPosition(value["format"], value["offset"])
    version, identity = value
    return VersionedPosition(version, identity)


def _document(text: str | None) -> dict[str, Any] | None:
    if not text or MARK not in text:
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
