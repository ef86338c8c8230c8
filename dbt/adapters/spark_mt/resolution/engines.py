"""Which engine brings a table's rows up to date, by which strategy, and why (design section 5).

The choice follows from the query, its sources and the table's clauses alone; what is not recognised
is computed as a whole, with the reason. Nothing here looks at data or at what is running.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.modes import RefreshMode
from dbt.adapters.spark_mt.resolution.analysis import SourceKind
from dbt.adapters.spark_mt.resolution.columns import Names
from dbt.adapters.spark_mt.resolution.content import query_positions
from dbt.adapters.spark_mt.resolution.engine_reasons import (
    NEVER_STREAMED,
    kind_of,
    read_whole,
    shape_reason,
    streamed,
)
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.query_shape import Shape, pinned_names, row_shape
from dbt.adapters.spark_mt.resolution.reasons import NotAStreamError, Reason
from dbt.adapters.spark_mt.resolution.stream_flow import OutputMode
from dbt.adapters.spark_mt.resolution.stream_shape import StreamShape, has_watermark, stream_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.resolution.analysis import AnalyzedQuery, Source
    from dbt.adapters.spark_mt.resolution.query_shape import RowShape

_FILES = ("parquet", "json", "csv", "orc", "avro", "text", "xml")
LOG_FORMATS = ("kafka", "rate", "rate-micro-batch", *_FILES)
"""Formats of tables without versions that can be read as streams: logs, and folders of files."""

WITH_POSITIONS = ("delta", "kafka")
"""Formats of sources that can be read from any position on."""

BATCH, INCREMENTAL, STREAM = "batch", "incremental", "stream"
RECOMPUTE, APPEND, STATEFUL = "recompute", "append", "stateful"


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
        watermarks: For a stream: those of the option `watermark`, by the full names of sources.
    """

    engine: str
    strategy: str
    reasons: tuple[Reason, ...]
    output_mode: OutputMode | None = None
    key: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    watermarks: tuple[tuple[str, Watermark], ...] = ()

    @property
    def name(self) -> str:
        """Engine and strategy: `stream/append`."""
        return f"{self.engine}/{self.strategy}"

    @property
    def is_stream(self) -> bool:
        """Whether Structured Streaming runs the query."""
        return self.engine == STREAM

    @property
    def reason(self) -> str:
        """Every reason, for people, with what it is about."""
        return "; ".join(dict.fromkeys(reason.text for reason in self.reasons))


def choose_engine(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> Engine:
    """Return the engine and strategy of a table.

    Args:
        definition: The table as wanted, or as it is stored.
        analyzed: Its query as the engine sees it now.
    """
    if definition.refresh_mode is RefreshMode.FULL:
        return Engine(BATCH, RECOMPUTE, (Reason("FULL_MODE", "", "REFRESH_MODE is FULL"),))
    try:
        return _Choice(definition, analyzed).made()
    except NotAStreamError as no:
        return Engine(INCREMENTAL, RECOMPUTE, no.reasons)


def keeps_checkpoint(engine: Engine, sources: Sequence[Source]) -> bool:
    """Whether a stream cannot go on without the checkpoint in which it ran before.

    It holds state, or what was read of a source that has no positions of its own. A query that
    reads a STREAM keeps one in any case: nothing but a stream can compute its rows.
    """
    if not engine.is_stream:
        return False
    if any(reason.code == "STREAM_QUERY" for reason in engine.reasons):
        return True
    followed = [source for source in sources if str(source.name) in engine.followed]
    return engine.strategy == STATEFUL or any(s.format not in WITH_POSITIONS for s in followed)


def stream_problems(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> tuple[Reason, ...]:
    """Return why a query that must be run as a stream cannot; empty if it can."""
    choice = _Choice(definition, analyzed)
    try:
        _ = choice.of_process() if analyzed.process else choice.of_stream_query()
    except NotAStreamError as no:
        return no.reasons
    return ()


@dataclass(frozen=True, slots=True)
class _Choice:
    definition: ResolvedDefinition
    analyzed: AnalyzedQuery

    def made(self) -> Engine:
        """Return the engine of a table in mode CONTINUOUS.

        Raises:
            NotAStreamError: It is computed as a whole, for these reasons.
        """
        if self.analyzed.nondeterministic:
            functions = ", ".join(f"{name}()" for name in self.analyzed.nondeterministic)
            raise NotAStreamError(Reason("NONDETERMINISTIC", "", f"it uses {functions}"))
        if self.analyzed.process is not None:
            return self.of_process()
        if self.analyzed.streaming:
            return self.of_stream_query()
        shape = row_shape(self.definition, self.analyzed)
        followed = [s for s in self.analyzed.sources if str(s.name) in shape.followed]
        if shape.shape is Shape.ROW_WISE:
            return self._row_wise(shape, followed)
        logs = bool(followed) and all(s.kind is SourceKind.UNVERSIONED for s in followed)
        if logs or self._marks or has_watermark(self.analyzed.operators):
            try:
                return self._stateful(shape, followed)
            except NotAStreamError as no:
                raise NotAStreamError(*no.reasons, *read_whole(followed)) from no
        raise NotAStreamError(shape_reason(shape), *read_whole(followed))

    def of_stream_query(self) -> Engine:
        """Return the engine of a query that says itself which sources are streams."""
        stream = self._stream((), ())
        names = set(stream.followed)
        sources = [s for s in self.analyzed.sources if str(s.name) in names]
        asked = Reason("STREAM_QUERY", "", "the query reads a STREAM")
        times = tuple(
            Reason("TIME_OF_BATCH", f"{name}()", f"{name}() has the value of a row's batch")
            for name in self.analyzed.time_dependent
        )
        return self._engine(stream, (asked, *times), sources)

    def of_process(self) -> Engine:
        """Return the engine of a table whose rows are made by a stateful processor.

        Its input keeps no state of its own, so that the processor's is all that there is.
        """
        call = self.analyzed.process
        shape = row_shape(self.definition, self.analyzed)
        names = () if self.analyzed.streaming else shape.followed
        followed = [s for s in self.analyzed.sources if str(s.name) in names]
        _check_streamed(followed)
        stream = self._stream(followed, self._marks)
        if stream.stateful:
            text = "the query that feeds a process function groups, deduplicates or joins streams"
            raise NotAStreamError(Reason("PROCESS_INPUT", "", text))
        sources = [s for s in self.analyzed.sources if str(s.name) in stream.followed]
        asked = Reason("PROCESS_FUNCTION", call.name if call else "", f"{call} keeps state")
        kept = replace(stream, stateful=True, reasons=())
        return self._engine(kept, (asked,), sources)

    def _row_wise(self, shape: RowShape, followed: Sequence[Source]) -> Engine:
        _check_streamed(followed)
        versioned = any(source.kind is SourceKind.VERSIONED for source in followed)
        if self.definition.asked.primary_key and versioned:
            text = "the table has a PRIMARY KEY, and rows of its sources may change"
            raise NotAStreamError(Reason("PRIMARY_KEY", "", text))
        rows = Reason("ROW_WISE", "", "every row of the result is made of one row of a source")
        if len(followed) > 1 and all(s.has_positions for s in followed) and not self._primary_key:
            text = "what several sources gained is read over one state of all of them"
            several = Reason("SEVERAL_SOURCES", "", text)
            return Engine(INCREMENTAL, APPEND, (rows, several, *streamed(followed)))
        stream = StreamShape(OutputMode.APPEND, (), False, (), shape.followed)  # noqa: FBT003 - readable
        if self.analyzed.operators is not None:
            stream = self._stream(followed, self._marks)
        return self._engine(stream, (rows,), followed)

    def _stateful(self, shape: RowShape, followed: Sequence[Source]) -> Engine:
        """A plain query over several rows at a time, which is kept by a stream's state."""
        if shape.reason in NEVER_STREAMED:
            raise NotAStreamError(shape_reason(shape))
        if not self.analyzed.pinnable:
            text = "its text does not tell where it reads its sources"
            raise NotAStreamError(Reason("NOT_PINNABLE", "", text))
        fixed = pinned_names(self.definition)
        for source in followed:
            if str(source.name).lower() in fixed:
                text = f"it reads {source.name} at a fixed version as well"
                raise NotAStreamError(Reason("VERSION", str(source.name), text))
        _check_streamed(followed)
        why = Reason("ONLY_LOGS", "", "all of its sources are logs or folders of files")
        if any(source.kind is SourceKind.VERSIONED for source in followed):
            why = Reason("WATERMARK_ASKED", "", "a watermark asks for a stream")
        return self._engine(self._stream(followed, self._marks), (why,), followed)

    def _stream(self, followed: Sequence[Source], marks: Sequence[Watermark]) -> StreamShape:
        root = self.analyzed.operators
        if root is None:
            raise NotAStreamError(Reason("NO_PLAN", "", "nobody can tell its operators"))
        columns = self.definition.query_columns
        return stream_shape(root, columns, [s.name for s in followed], marks)

    def _engine(
        self, stream: StreamShape, why: tuple[Reason, ...], sources: Sequence[Source]
    ) -> Engine:
        strategy = STATEFUL if stream.stateful else APPEND
        key = self._key(stream)
        upsert: tuple[Reason, ...] = ()
        if key and stream.output_mode is OutputMode.APPEND:
            upsert = (Reason("UPSERT", "", "rows replace rows of the same PRIMARY KEY"),)
        reasons = (*why, *stream.reasons, *upsert, *streamed(sources))
        mode, followed = stream.output_mode, stream.followed
        return Engine(STREAM, strategy, reasons, mode, key, followed, stream.watermarks)

    def _key(self, stream: StreamShape) -> tuple[str, ...]:
        """The columns by which rows replace rows: the declared key, or what is grouped by."""
        if stream.output_mode is OutputMode.APPEND:
            return self._primary_key
        places = query_positions(self.definition)
        declared = self._primary_key
        if not declared:
            chosen = [min(part) for part in stream.key]
            return tuple(self.definition.columns[places.index(i)].name for i in chosen)
        names = Names.of(self.definition.context)
        wanted = {names.fold(column) for column in declared}
        columns = zip(places, self.definition.columns, strict=True)
        key = {place for place, column in columns if names.fold(column.name) in wanted}
        if not all(part & key for part in stream.key) or key - frozenset().union(*stream.key):
            text = "the PRIMARY KEY is not what it groups by"
            raise NotAStreamError(Reason("KEY_IS_NOT_GROUP", "", text))
        return declared

    @property
    def _primary_key(self) -> tuple[str, ...]:
        key = self.definition.asked.primary_key
        return key.columns if key is not None else ()

    @property
    def _marks(self) -> tuple[Watermark, ...]:
        return read_options(self.definition.asked.options).watermarks


def _check_streamed(sources: Sequence[Source]) -> None:
    no_streams = [
        Reason(
            "NOT_A_STREAM",
            str(source.name),
            f"no stream can follow {source.name}, {kind_of(source)}",
        )
        for source in sources
        if source.kind is SourceKind.UNVERSIONED and source.format not in LOG_FORMATS
    ]
    if no_streams:
        raise NotAStreamError(*no_streams)
