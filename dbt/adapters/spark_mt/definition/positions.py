"""Up to where a table has read its sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionedPosition:
    """A state of a table with versions.

    Args:
        version: The table's version; grows with each of its commits.
        identity: The format's own identity of that version: for Delta the id of its transaction. A
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


@dataclass(frozen=True, slots=True)
class DefinitionPosition:
    """A view or function on the path: it counts by a hash of what defines it."""

    fingerprint: str

    def same_state(self, other: Position) -> bool:
        """Whether the definition is the same."""
        return self == other

    def reaches(self, other: Position) -> bool:
        """Whether the definition is the same."""
        return self == other

    def __str__(self) -> str:
        """For people: `definition 1a2b3c4d`."""
        return f"definition {self.fingerprint[:8]}"


@dataclass(frozen=True, slots=True)
class UnknownPosition:
    """A source without versions: nobody can tell whether it moved."""

    def same_state(self, other: Position) -> bool:  # noqa: ARG002 - the answer is the same for all
        """Never: what cannot be compared must be read again."""
        return False

    def reaches(self, other: Position) -> bool:  # noqa: ARG002 - the answer is the same for all
        """Never: nobody can tell."""
        return False

    def __str__(self) -> str:
        """For people: `unknown`."""
        return "unknown"


@dataclass(frozen=True, slots=True)
class OffsetPosition:
    """Where a log stands, in the words of the source itself.

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


def same_positions(one: Positions, other: Positions) -> bool:
    """Whether two sets of positions name the same sources, each in the same known state."""
    return one.keys() == other.keys() and all(one[name].same_state(other[name]) for name in one)


def unmoved(before: Positions, after: Positions) -> bool:
    """Whether every source that has versions stands where it stood."""
    return before.keys() == after.keys() and all(
        isinstance(position, UnknownPosition) or position.same_state(after[name])
        for name, position in before.items()
    )
