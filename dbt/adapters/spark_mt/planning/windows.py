"""How a table that does not count its sources from their beginning is brought up to date.

Semantics 7, "Baseline". Pure: what changed in the sources is told by the ports.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import FollowedPosition
from dbt.adapters.spark_mt.resolution.query_shape import Shape, row_shape

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.baseline import Baseline, SourcePositions
    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery
    from dbt.adapters.spark_mt.resolution.query_shape import RowShape
    from dbt.adapters.spark_mt.resolution.resolver import Resolution


class ChangeKind(Enum):
    """What happened to the rows of a source between two of its positions."""

    NONE = "no row changed"
    ADDED = "rows were added"
    REMOVED = "rows were removed or changed"
    GONE = "what happened in between can no longer be read"
    REPLACED = "the source was made anew in between"


class Strategy(Enum):
    """How a table with a baseline follows its sources."""

    APPEND = "append"
    """The query over the added rows is added."""
    MERGE = "merge"
    """Rows whose key the changes touch are computed over all source data."""
    WINDOW = "window"
    """All rows are computed over the source rows added since the baseline."""


def strategy_of(
    shape: RowShape, definition: ResolvedDefinition, *, keeps_rows: bool
) -> Strategy | None:
    """Return how the table follows its sources; None where it cannot.

    Groups that nothing was kept of are computed over the window, never over all source data: the
    table would otherwise mix totals of the window with totals of all time.

    Args:
        shape: Of the query.
        definition: Tells whether there is a key.
        keeps_rows: Whether the table has rows that its query does not account for.
    """
    if not shape.can_be_limited:
        return None
    if shape.shape is Shape.ROW_WISE:
        return Strategy.MERGE if definition.asked.primary_key else Strategy.APPEND
    if not keeps_rows:
        return Strategy.WINDOW
    return Strategy.MERGE if shape.shape is Shape.KEYED else None


def can_follow(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> bool:
    """Whether a table that keeps rows can be brought up to date by what changed in its sources."""
    shape = row_shape(definition, analyzed)
    return strategy_of(shape, definition, keeps_rows=True) is not None


def why_not_followed(baseline: Baseline, resolution: Resolution) -> str:
    """Say why a table with this baseline could not follow its sources; empty if it could.

    An adopted table that cannot is computed as a whole, which nothing forbids.
    """
    definition = resolution.definition
    shape = row_shape(definition, resolution.analyzed)
    strategy = strategy_of(shape, definition, keeps_rows=baseline.keeps_rows)
    if baseline.is_adopted or strategy is not None:
        return ""
    return shape.problem or f"nobody can tell what changes in {', '.join(shape.unversioned)}"


def positions_of(followed: tuple[str, ...], positions: Positions) -> SourcePositions:
    """Return the positions of the sources that are followed."""
    found = ((name, positions.get(name)) for name in followed)
    return tuple((name, at) for name, at in found if isinstance(at, FollowedPosition))
