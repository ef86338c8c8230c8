"""Positions up to which a table has read its sources, and the baseline.

Both have a form as documents, in commit metadata and in definitions. Another kind of position, or
another form of one, needs a new major version of the document that contains it.

A table with a baseline has the rows that were kept when the baseline was set, and the query over
the source rows that were added after it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

ADOPTED = "adopted"
"""The reason of a table whose rows were there before it became a materialized table."""


@dataclass(frozen=True, slots=True)
class VersionedPosition:
    """A state of a table with versions.

    Args:
        version: The table's version; grows with each of its commits, by one or more.
        identity: The format's own identity of that version, such as the id of its transaction. A
            table that was dropped and created again may reach the same version, never with the
            same identity.
    """

    version: int
    identity: str

    def same_state(self, other: Position) -> bool:
        """Whether both name one and the same version of one table."""
        return self == other

    def reaches(self, other: Position) -> bool:
        """Whether this is the version of `other`, or a later one."""
        return isinstance(other, VersionedPosition) and self.version >= other.version

    def __str__(self) -> str:
        """For people: `version 7`."""
        return "its beginning" if self == BEFORE_ALL else f"version {self.version}"


BEFORE_ALL = VersionedPosition(-1, "")
"""Before the first version of any table: all of its rows come after it."""


def most_commits(version: int) -> int:
    """Return the largest number of commits that a table with this newest version can have.

    Versions begin at 0 or later and grow with each commit, by one or more.
    """
    return version + 1


@dataclass(frozen=True, slots=True)
class DefinitionPosition:
    """A view or function on the path: it counts by a hash of what defines it.

    Args:
        fingerprint: The hash; of a view followed by a period and a hash of the types of its
            columns. Positions that were stored before these counted do not have the second hash.
    """

    fingerprint: str

    @classmethod
    def of(cls, definition: str, types: str = "") -> DefinitionPosition:
        """Return the position of a definition and of the types of its columns, if it has these."""
        own, typed = (hashlib.sha256(text.encode()).hexdigest() for text in (definition, types))
        return cls(f"{own[:32]}.{typed[:16]}" if types else own[:32])

    def same_state(self, other: Position) -> bool:
        """Whether the definition is the same."""
        if not isinstance(other, DefinitionPosition):
            return False
        (own, _, types), (its, _, its_types) = (
            each.fingerprint.partition(".") for each in (self, other)
        )
        return own == its and (types == its_types or "" in {types, its_types})

    def reaches(self, other: Position) -> bool:
        """Whether the definition is the same."""
        return self.same_state(other)

    def __str__(self) -> str:
        """For people: `definition 1a2b3c4d`."""
        return f"definition {self.fingerprint[:8]}"


@dataclass(frozen=True, slots=True)
class UnknownPosition:
    """A source without versions: whether it moved is unknown."""

    def same_state(self, other: Position) -> bool:  # noqa: ARG002 - the answer is the same for all
        """Never: what cannot be compared must be read again."""
        return False

    def reaches(self, other: Position) -> bool:  # noqa: ARG002 - the answer is the same for all
        """Never: it is unknown."""
        return False

    def __str__(self) -> str:
        """For people: `unknown`."""
        return "unknown"


@dataclass(frozen=True, slots=True)
class OffsetPosition:
    """A place in a log, in the notation of the source itself.

    Args:
        format: The source's format: `kafka`, `json`, `rate` …
        offset: Its own offset as canonical JSON (sorted keys, no blanks): for Kafka the next offset
            of every partition, `{"orders":{"0":12,"1":7}}`.
    """

    format: str
    offset: str

    def same_state(self, other: Position) -> bool:
        """Whether both name the same place in the log."""
        return self == other

    def reaches(self, other: Position) -> bool:
        """Whether no number in this offset is lower than the same one in `other`.

        True of every offset that only counts up: entries of a log, offsets of partitions. A
        partition that is not named here has given nothing yet.
        """
        if not isinstance(other, OffsetPosition) or other.format != self.format:
            return False
        here, there = _numbers(json.loads(self.offset)), _numbers(json.loads(other.offset))
        return all(here.get(path, 0) >= number for path, number in there.items())

    def __str__(self) -> str:
        """For people: `kafka offset {"orders":{"0":12}}`."""
        return f"{self.format} offset {self.offset}"


def _numbers(document: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    if isinstance(document, dict):
        found: dict[tuple[str, ...], int] = {}
        for key, value in document.items():
            found |= _numbers(value, (*path, str(key)))
        return found
    return {path: document} if isinstance(document, int) else {}


Position = VersionedPosition | DefinitionPosition | UnknownPosition | OffsetPosition
FollowedPosition = VersionedPosition | OffsetPosition
"""A position from which a source can be followed."""
Positions = Mapping[str, Position]
"""Positions by the full name of the source."""


def reaches(positions: Positions | None, wanted: Positions, left: Positions | None = None) -> bool:
    """Whether rows that reflect `positions` reflect everything up to `wanted`, too.

    Args:
        positions: What the rows reflect.
        wanted: Where the sources were.
        left: Positions that the sources have left, and that so reach nothing.
    """
    if positions is None:
        return False
    return all(
        name in positions
        and positions[name].reaches(position)
        and positions[name] != (left or {}).get(name)
        for name, position in wanted.items()
    )


def left_positions(before: Positions | None, now: Positions) -> Positions:
    """Return the positions of rows that their sources have left.

    A source that was rolled back, or created again, is at a lower version than rows that reflect
    what it was before.

    Args:
        before: What the rows reflect, read before `now`.
        now: Where the sources are.
    """
    return {
        name: position
        for name, position in (before or {}).items()
        if isinstance(position, VersionedPosition)
        and isinstance(newest := now.get(name), VersionedPosition)
        and position.version >= newest.version
        and position != newest
    }


def same_positions(one: Positions, other: Positions) -> bool:
    """Whether two sets of positions name the same sources, each in the same known state."""
    return one.keys() == other.keys() and all(one[name].same_state(other[name]) for name in one)


def unmoved(before: Positions, after: Positions) -> bool:
    """Whether every source that has versions has the same position."""
    return before.keys() == after.keys() and all(
        isinstance(position, UnknownPosition) or position.same_state(after[name])
        for name, position in before.items()
    )


class ChangeKind(Enum):
    """What happened to the rows of a source between two of its positions."""

    NONE = "no row changed"
    ADDED = "rows were added"
    REMOVED = "rows were removed or changed"
    GONE = "what happened in between can no longer be read"
    REPLACED = "the source was created again in between"


@dataclass(frozen=True, slots=True)
class ChangeExtent:
    """How much happened to a source between two of its positions, from its log.

    Args:
        kind: What happened. Rows that were removed and added again count as removed.
        changed: At most about how many rows came, changed or went.
        rows: How many rows the source has at the end.
        compared: What to set so that the changes can be read without a comparison of all rows of
            both positions; empty where they can.
    """

    kind: ChangeKind
    changed: int = 0
    rows: int = 0
    compared: str = ""


SourcePositions = tuple[tuple[str, FollowedPosition], ...]
"""Positions of followed sources by their full names, sorted."""


def positions_of(followed: tuple[str, ...], positions: Positions) -> SourcePositions:
    """Return the positions of the sources that are followed."""
    found = ((name, positions.get(name)) for name in followed)
    return tuple((name, at) for name, at in found if isinstance(at, FollowedPosition))


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a table was when its query began to count, and from where it counts its sources.

    Args:
        positions: Rows added to a followed source after its position count. Sources that are only
            looked up have none: they are read whole.
        kept_version: The table's own version whose rows stay; None where none were kept.
        reason: Why, for people: `START_MODE = FROM_NOW`.
    """

    positions: SourcePositions
    kept_version: int | None
    reason: str

    @property
    def keeps_rows(self) -> bool:
        """Whether the table has rows that its query does not account for."""
        return self.kept_version is not None

    @property
    def is_adopted(self) -> bool:
        """Whether the kept rows were trusted to be what the query has up to the positions.

        They stay until a refresh computes the whole table, which is always allowed.
        """
        return self.reason == ADOPTED

    def describe(self) -> str:
        """Say it for people, in one line."""
        if self.is_adopted:
            return (
                f"rows up to version {self.kept_version} come from the adopted table until the "
                "first full refresh, which computes all rows from the sources"
            )
        kept = "no older rows are kept"
        if self.kept_version is not None:
            kept = f"the rows of its version {self.kept_version} are kept"
        counted = ", ".join(f"{name} after {position}" for name, position in self.positions)
        return f"{self.reason}: {kept}; rows count from {counted}"


def encode_positions(positions: Positions) -> dict[str, Any]:
    """Return positions as a document.

    A list for a version, a text for a fingerprint, an object for an offset, null for unknown.
    """
    return {name: _encode_position(position) for name, position in sorted(positions.items())}


def decode_positions(document: dict[str, Any]) -> Positions:
    """Return the positions that `encode_positions` was given."""
    return {name: _decode_position(value) for name, value in document.items()}


def encode_source_positions(positions: SourcePositions) -> list[Any]:
    """Return the positions of followed sources as pairs, each position an object."""
    return [[name, _followed(at)] for name, at in positions]


def decode_source_positions(doc: list[Any]) -> SourcePositions:
    """Return the positions that `encode_source_positions` was given."""
    return tuple((name, _read_followed(at)) for name, at in doc)


def _followed(position: FollowedPosition) -> dict[str, Any]:
    if isinstance(position, OffsetPosition):
        return {"format": position.format, "offset": position.offset}
    return {"version": position.version, "identity": position.identity}


def _read_followed(doc: dict[str, Any]) -> FollowedPosition:
    if "offset" in doc:
        return OffsetPosition(doc["format"], doc["offset"])
    return VersionedPosition(doc["version"], doc["identity"])


def _encode_position(position: Position) -> list[object] | dict[str, str] | str | None:
    match position:
        case VersionedPosition():
            return [position.version, position.identity]
        case DefinitionPosition():
            return position.fingerprint
        case OffsetPosition():
            return _followed(position)
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
    return VersionedPosition(version=int(version), identity=identity)
