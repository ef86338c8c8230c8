"""What a change does to a table, and the words that changes are described with."""

from __future__ import annotations

from enum import Enum

from dbt.adapters.spark_mt.definition.identifier import quote_text


class Effect(Enum):
    """What a change does to a table, the lightest first."""

    TEXT = "metadata only"
    STORAGE = "storage properties, constraints or clustering"
    REFRESH = "the schedule or trigger of the refresh"
    CONTENT = "the table is filled again"
    IMPOSSIBLE = "cannot be done in place"


def describe_change(old: str | None, new: str | None) -> str:
    """Return what happened to a value, to follow its name; None stands for no value."""
    if old is None:
        return f"set to {new}"
    return f"removed, it was {old}" if new is None else f"changed from {old} to {new}"


def describe_text_change(old: str | None, new: str | None) -> str:
    """Return the same for free text, in quotes."""
    return describe_change(*(None if text is None else quote_text(text) for text in (old, new)))
