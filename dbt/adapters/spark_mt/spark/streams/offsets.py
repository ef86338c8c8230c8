"""What a checkpoint's log of offsets says, which Spark writes before it computes a batch."""

from __future__ import annotations

import json
from typing import Any

_HEADER_LINES = 2
"""The version of the format, and the batch's own metadata."""
_NOTHING = "-"
"""Stands for a source that has no offset yet."""


def source_offsets(text: str) -> list[dict[str, Any] | None]:
    """Return the offsets of an entry, one for each source in the plan's order.

    Args:
        text: A file `offsets/<batch>` of a checkpoint, in format v1.
    """
    lines = text.splitlines()[_HEADER_LINES:]
    return [None if line == _NOTHING else json.loads(line) for line in lines]


def delta_version(offset: dict[str, Any]) -> int:
    """Return the newest version of a Delta source that an offset includes completely.

    `index: -1` says that everything before `reservoirVersion` was read.

    Raises:
        ValueError: It ends inside a version, which no limit of ours lets happen.
    """
    if offset["index"] != -1:
        raise ValueError(offset)
    return int(offset["reservoirVersion"]) - 1
