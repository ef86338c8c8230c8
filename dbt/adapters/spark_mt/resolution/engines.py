"""Which engine brings a table's rows up to date, by which strategy, and why (design section 5).

The choice follows from the query, its sources and the table's clauses alone; what is not recognised
is computed as a whole, with the reason. Nothing here looks at data or at what is running.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.resolution.analysis import SourceKind
from dbt.adapters.spark_mt.resolution.query_shape import Shape, row_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery, Source
    from dbt.adapters.spark_mt.resolution.query_shape import RowShape

LOG_FORMATS = ("kafka", "parquet", "json", "csv", "orc", "avro", "text")
"""Formats of tables without versions that can be read as streams: logs, and folders of files."""


class OutputMode(Enum):
    """Which rows a stream hands over after each batch."""

    APPEND = "append"
    """Rows that never change again."""
    UPDATE = "update"
    """The new state of every group that the batch touched."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a choice.

    Args:
        code: For machines, such as `ROW_WISE`.
        subject: The operator or the source that it is about; empty for the query as a whole.
        text: For people, a part of a sentence.
    """

    code: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Engine:
    """The choice, for people and for the plan.

    Args:
        engine: `batch`, `incremental` or `stream`.
        strategy: `recompute`, `append` or `stateful`.
        reasons: Every reason, the one that decided first.
        output_mode: For a stream: which rows each batch hands over.
        key: For a stream: columns of the table by which the rows of a batch replace rows; empty
            where they are added.
        followed: For a stream: full names of the sources that it reads as streams; it reads all
            others as they are at each batch.
    """

    engine: str
    strategy: str
    reasons: tuple[Reason, ...]
    output_mode: OutputMode | None = None
    key: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Engine and strategy: `stream/append`."""
        return f"{self.engine}/{self.strategy}"

    @property
    def is_stream(self) -> bool:
        """Whether Structured Streaming runs the query."""
        return self.engine == "stream"

    @property
    def reason(self) -> str:
        """Every reason, for people."""
        return "; ".join(reason.text for reason in self.reasons)


def choose_engine(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> Engine:
    """Return the engine and strategy of a table.

    Args:
        definition: The table as wanted, or as it is stored.
        analyzed: Its query as the engine sees it now.
    """
    if definition.refresh_mode is RefreshMode.FULL:
        return Engine("batch", "recompute", (Reason("FULL_MODE", "", "REFRESH_MODE is FULL"),))
    shape = row_shape(definition, analyzed)
    followed = [source for source in analyzed.sources if str(source.name) in shape.followed]
    if shape.shape is Shape.ROW_WISE:
        return _row_wise(definition, shape, followed)
    return _recompute(_shape_reason(shape))


def _row_wise(definition: ResolvedDefinition, shape: RowShape, followed: list[Source]) -> Engine:
    blocked = tuple(_not_streamed(followed))
    if blocked:
        return _recompute(*blocked)
    rows = Reason("ROW_WISE", "", "every row of the result is made of one row of a source")
    streamed = tuple(_streamed(followed))
    key = definition.asked.primary_key
    if key is None:
        reasons = (rows, *streamed)
        return Engine("stream", "append", reasons, OutputMode.APPEND, (), shape.followed)
    if all(source.kind is SourceKind.UNVERSIONED for source in followed):
        upsert = Reason("UPSERT", "", "rows replace rows of the same PRIMARY KEY")
        reasons = (rows, upsert, *streamed)
        return Engine("stream", "append", reasons, OutputMode.APPEND, key.columns, shape.followed)
    text = "the table has a PRIMARY KEY, and its sources may change rows"
    return _recompute(Reason("PRIMARY_KEY", "", text))


def _shape_reason(shape: RowShape) -> Reason:
    if shape.shape is Shape.KEYED:
        return Reason("GROUPS", "", "the query groups rows")
    return Reason(shape.reason, "", f"of the query, {shape.problem}")


def _recompute(*reasons: Reason) -> Engine:
    return Engine("incremental", "recompute", reasons)


def _not_streamed(sources: Iterable[Source]) -> Iterator[Reason]:
    for source in sources:
        if source.kind is SourceKind.UNVERSIONED and source.format not in LOG_FORMATS:
            name = str(source.name)
            format_ = f"a {source.format} table" if source.format else "a table of unknown format"
            yield Reason("NOT_A_STREAM", name, f"{name} is {format_}, which no stream can follow")


def _streamed(sources: Iterable[Source]) -> Iterator[Reason]:
    for source in sources:
        name = str(source.name)
        if source.kind is SourceKind.VERSIONED:
            yield Reason("VERSIONED_SOURCE", name, f"{name} is followed by its versions")
        else:
            yield Reason("LOG_SOURCE", name, f"{name} is followed by its {source.format} log")
