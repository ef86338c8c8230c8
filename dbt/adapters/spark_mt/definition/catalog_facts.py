"""What anybody can change about a table without our statements, as the catalog has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """Comments, properties and clustering of a table.

    Args:
        comment: Empty without one.
        column_comments: By column; those without comment are absent.
        properties: Values may be redacted.
        clustered_by: The clustering columns, without backticks.
    """

    comment: str
    column_comments: Mapping[str, str]
    properties: Mapping[str, str]
    clustered_by: tuple[str, ...]
