"""Metadata that every commit of this package carries, as text in the commit."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.definition import (
    EarlierRefresh,
    StreamMetadata,
    unknown_keys,
    with_unknown_keys,
)
from dbt.adapters.spark_mt.definition.positions import decode_positions, encode_positions

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.definition import Unknown
    from dbt.adapters.spark_mt.definition.positions import Positions


MARK = "materialized-table"
FORMAT_VERSION = 1
"""The major version: a release that adds keys leaves it as it is, see docs/formats.md."""
MOST_FOREIGN = 20
"""How many changes by others a commit lists."""
_OURS = re.compile(rf'\{{"{MARK}":\d')
"""How every text of ours begins, whole or not."""
_DAMAGED = "the text is damaged"


class UnreadableMetadataError(ValueError):
    """A commit's user metadata is ours, and of another format, or damaged; its text says which."""


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
class CommitMetadata:
    """The facts of one commit.

    Args:
        seq: The fence: one more than that of the commit before; 0 for PUBLISH, which has none.
        generation: The generation of the definition that is valid from this commit on.
        definition: The encoded definition, where this commit changes it.
        positions: Up to where the table's rows reflect the sources after this commit.
        partition_positions: For PARTITION: up to where those partitions do.
        refresh: Facts of the refresh that wrote the rows which the table has.
        stream: Which batch of which stream this is, where a stream wrote it.
        foreign: Data changes by others that the table had before this commit and still has, as
            (version, operation), oldest first; the newest of many.
        applied_to: The version of the table whose rows the commit changed, where it left other rows
            as they were; -1 where it did not, or where a release before did not store it.
        token: Read by no release; kept as it was stored.
    """

    table_id: str
    kind: CommitKind
    seq: int
    generation: int
    definition: str = ""
    positions: Positions | None = None
    partition_positions: Positions | None = None
    refresh: RefreshMetadata | None = None
    stream: StreamMetadata | None = None
    foreign: tuple[tuple[int, str], ...] = ()
    applied_to: int = -1
    token: str = ""


@dataclass(frozen=True, slots=True)
class RefreshMetadata:
    """Which refresh wrote a table's rows.

    Commits without rows repeat it, so it carries what a newer release stored in addition.

    Args:
        started_at_ms: Milliseconds since the epoch, UTC.
        repeated: How many refreshes in a row used the strategy, this one included.
        earlier: The last refresh by each other strategy.
        source_rows: How many rows of the sources it was about; None where a release before did not
            store it.
        is_cold: Whether it was one of the first of its process; None where a release before did not
            store it.
    """

    refresh_id: str
    strategy: str
    trigger: str
    started_at_ms: int
    repeated: int = 1
    earlier: tuple[EarlierRefresh, ...] = ()
    source_rows: int | None = None
    is_cold: bool | None = None
    unknown_keys: Unknown = field(default_factory=dict, compare=False, repr=False)


def encode_commit(metadata: CommitMetadata) -> str:
    """Return the facts as the text for a commit's user metadata."""
    document: dict[str, Any] = {
        MARK: FORMAT_VERSION,
        "table": metadata.table_id,
        "kind": metadata.kind.value,
        "seq": metadata.seq,
        "token": metadata.token,
        "generation": metadata.generation,
    }
    if metadata.definition:
        document["definition"] = metadata.definition
    if metadata.positions is not None:
        document["positions"] = encode_positions(metadata.positions)
    if metadata.partition_positions is not None:
        document["partition_positions"] = encode_positions(metadata.partition_positions)
    if metadata.refresh is not None:
        document["refresh"] = with_unknown_keys(
            _refresh(metadata.refresh), metadata.refresh.unknown_keys
        )
    if metadata.stream is not None:
        document["stream"] = [metadata.stream.checkpoint, metadata.stream.batch]
    if metadata.foreign:
        document["foreign"] = metadata.foreign[-MOST_FOREIGN:]
    if metadata.applied_to >= 0:
        document["applied_to"] = metadata.applied_to
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))


def decode_commit(text: str | None) -> CommitMetadata | None:
    """Return the facts in a commit's user metadata, or None if the commit is not one of ours.

    Raises:
        UnreadableMetadataError: It is one of ours, of another major version or damaged.
    """
    if not text or MARK not in text:
        return None
    try:
        document = json.loads(text)
    except ValueError:
        if _OURS.match(text):
            raise UnreadableMetadataError(_DAMAGED) from None
        return None
    if not isinstance(document, dict) or type(document.get(MARK)) is not int:
        return None
    if document[MARK] != FORMAT_VERSION:
        problem = f"its format is {document[MARK]}, and this release reads {FORMAT_VERSION}"
        raise UnreadableMetadataError(problem)
    try:
        return _metadata(document)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableMetadataError(_DAMAGED) from error


def _metadata(document: dict[str, Any]) -> CommitMetadata:
    refresh, stream = document.get("refresh"), document.get("stream")
    return CommitMetadata(
        table_id=document["table"],
        kind=CommitKind(document["kind"]),
        seq=int(document["seq"]),
        token=document.get("token", ""),
        generation=int(document["generation"]),
        definition=document.get("definition", ""),
        positions=_optional_positions(document.get("positions")),
        partition_positions=_optional_positions(document.get("partition_positions")),
        refresh=None if refresh is None else _read_refresh(refresh),
        stream=None if stream is None else StreamMetadata(checkpoint=stream[0], batch=stream[1]),
        foreign=tuple((change[0], change[1]) for change in document.get("foreign", ())),
        applied_to=int(document.get("applied_to", -1)),
    )


def _refresh(refresh: RefreshMetadata) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": refresh.refresh_id,
        "strategy": refresh.strategy,
        "trigger": refresh.trigger,
        "started_at_ms": refresh.started_at_ms,
    }
    if refresh.repeated != 1:
        document["repeated"] = refresh.repeated
    if refresh.earlier:
        document["earlier"] = [_earlier(each) for each in refresh.earlier]
    if refresh.source_rows is not None:
        document["source_rows"] = refresh.source_rows
    if refresh.is_cold is not None:
        document["cold"] = refresh.is_cold
    return document


def _earlier(refresh: EarlierRefresh) -> list[Any]:
    facts = [refresh.strategy, refresh.duration_ms, refresh.ago, refresh.source_rows]
    facts.append(refresh.is_cold)
    while facts[-1] is None:
        facts.pop()
    return facts


def _read_refresh(document: dict[str, Any]) -> RefreshMetadata:
    refresh = RefreshMetadata(
        refresh_id=document["id"],
        strategy=document["strategy"],
        trigger=document["trigger"],
        started_at_ms=document["started_at_ms"],
        repeated=int(document.get("repeated", 1)),
        source_rows=document.get("source_rows"),
        is_cold=document.get("cold"),
        earlier=tuple(EarlierRefresh(*each[:5]) for each in document.get("earlier", ())),
    )
    unknown = unknown_keys(document, _refresh(refresh))
    return replace(refresh, unknown_keys=unknown) if unknown else refresh


def _optional_positions(document: dict[str, Any] | None) -> Positions | None:
    return None if document is None else decode_positions(document)
