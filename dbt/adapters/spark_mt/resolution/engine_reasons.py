"""Why an engine was chosen, as far as it follows from a query's shape and its sources alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.analysis import SourceKind
from dbt.adapters.spark_mt.resolution.query_shape import Shape
from dbt.adapters.spark_mt.resolution.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.resolution.analysis import Source
    from dbt.adapters.spark_mt.resolution.query_shape import RowShape

NEVER_STREAMED = frozenset({"TIME_DEPENDENT", "FUNCTION", "LOOKED_UP_AND_FOLLOWED"})
"""Shapes that no stream can have, whatever its state."""

_GROUPS = frozenset({"NO_KEY", "KEY_IS_NOT_GROUP", "STAR"})
"""What keeps grouped rows from being followed by their key is no matter without a key to go by."""


def shape_reason(shape: RowShape) -> Reason:
    """Return why a query of this shape is computed as a whole."""
    if shape.shape is Shape.KEYED or shape.reason in _GROUPS:
        return Reason("GROUPS", "", "it groups rows, and no watermark asks for a stream")
    return Reason(shape.reason, "", shape.problem)


def kind_of(source: Source) -> str:
    """Return what a source is, for people."""
    return f"a {source.format} table" if source.format else "a table of unknown format"


def streamed(sources: Sequence[Source]) -> Iterator[Reason]:
    """Yield by what each source is followed."""
    for source in sources:
        name = str(source.name)
        if source.kind is SourceKind.VERSIONED:
            yield Reason("VERSIONED_SOURCE", name, f"{name} is followed by its versions")
        else:
            text = f"{name} is followed by its {source.format} log"
            yield Reason("LOG_SOURCE", name, text)


def read_whole(sources: Sequence[Source]) -> Iterator[Reason]:
    """Yield the sources of which nobody can tell what changed."""
    for source in sources:
        if source.kind is SourceKind.UNVERSIONED:
            text = f"{source.name}, {kind_of(source)}, is read as a whole each time"
            yield Reason("READ_WHOLE", str(source.name), text)
