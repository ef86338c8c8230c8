"""A query of a corpus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """A query of a corpus.

    Args:
        name: The name of its file, without the ending.
        text: The query.
    """

    name: str
    text: str
