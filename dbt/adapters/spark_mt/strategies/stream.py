"""Strategy `stream`: Structured Streaming keeps the rows, with state (`stateful`) or without.

A stream without state resumes after the positions of the table's rows. A stream with state, or over
a source without positions, resumes in the checkpoint from which the rows came.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.positions import positions_of
from dbt.adapters.spark_mt.query.analyzer import (
    LOG_FORMATS,
    ONLY_STREAMS,
    SourceKind,
)
from dbt.adapters.spark_mt.resolution.columns import Names, query_positions
from dbt.adapters.spark_mt.resolution.row_lineage import Shape, not_pinnable, pinned_names
from dbt.adapters.spark_mt.strategies import reasons, strategy
from dbt.adapters.spark_mt.strategies.reasons import Reason
from dbt.adapters.spark_mt.strategies.strategy import OutputMode
from dbt.adapters.spark_mt.strategies.stream_shape import (
    NotAStreamError,
    StreamShape,
    stream_shape,
)
from dbt.adapters.spark_mt.strategies.table_facts import TableFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbt.adapters.spark_mt.definition.definition import ResolvedDefinition
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery, Source
    from dbt.adapters.spark_mt.resolution.row_lineage import RowShape
    from dbt.adapters.spark_mt.strategies.strategy import RefreshInputs


NEVER_STREAMED = frozenset({"TIME_DEPENDENT", "FUNCTION", "LOOKED_UP_AND_FOLLOWED"})
"""Shapes that no stream can have, whatever its state."""
_GROUPS = frozenset({"NO_KEY", "KEY_IS_NOT_GROUP", "STAR"})
"""Reasons about the key of groups; a stream is refused because rows are grouped at all."""


def _possible(table: TableFacts) -> strategy.Choice | strategy.Refusal:
    """Return the stream that keeps a table, or why none can."""
    try:
        return _Streams(table).of_table()
    except NotAStreamError as no:
        return strategy.Refusal(strategy.STREAM, no.reasons)


def _usable(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs
) -> strategy.Choice | strategy.Refusal:
    """Return the stream that resumes after the rows of a table, or why it cannot."""
    if inputs.request not in (strategy.Request.REFRESH, strategy.Request.HOST):
        return strategy.all_rows(strategy.STREAM, inputs)
    if inputs.positions is None:
        return strategy.unread(strategy.STREAM, own.followed)
    if inputs.redefined:
        return strategy.changed_views(strategy.STREAM, inputs)
    problem = _checkpoint_problem(inputs) if own.keeps_checkpoint else _problem(own, inputs)
    return problem or _retyped(table, own, inputs) or own


STREAMING = strategy.Strategy(strategy.STREAM, _possible, _usable)


def _retyped(
    table: TableFacts, own: strategy.Choice, inputs: RefreshInputs
) -> strategy.Refusal | None:
    """Refuse to resume where the rows before have other types than those that come."""
    since = positions_of(own.followed, inputs.positions or {})
    return strategy.retyped(strategy.STREAM, inputs, since, is_final=table.baseline is not None)


def _checkpoint_problem(inputs: RefreshInputs) -> strategy.Refusal | None:
    text = "the checkpoint that belongs to its rows is not there"
    return (
        None
        if inputs.can_resume()
        else strategy.Refusal.of(strategy.STREAM, "CHECKPOINT_LOST", text)
    )


def _problem(own: strategy.Choice, inputs: RefreshInputs) -> strategy.Refusal | None:
    """Return why a stream cannot resume after the positions of the table's rows."""
    if inputs.request is not strategy.Request.HOST:
        text = "a refresh on request applies all changes in one commit"
        return strategy.Refusal.of(strategy.STREAM, "ONE_COMMIT", text)
    since = positions_of(own.followed, inputs.positions or {})
    if len(since) < len(own.followed):
        return strategy.unread(strategy.STREAM, own.followed)
    if not inputs.is_readable(since):
        names = ", ".join(own.followed)
        text = f"{names} was dropped and created again"
        return strategy.Refusal.of(strategy.STREAM, "SOURCE_RECREATED", text, names)
    return None


def stream_problems(definition: ResolvedDefinition, analyzed: AnalyzedQuery) -> tuple[Reason, ...]:
    """Return why a query that must be run as a stream cannot; empty if it can."""
    streams = _Streams(TableFacts(definition, analyzed))
    try:
        _ = streams.of_process() if analyzed.process else streams.of_stream_query()
    except NotAStreamError as no:
        return no.reasons
    return ()


def _shape_reason(shape: RowShape) -> Reason:
    if shape.shape is Shape.KEYED or shape.reason in _GROUPS:
        return Reason("GROUPS", "", "it groups rows, and no watermark asks for a stream")
    return Reason(shape.reason, "", shape.problem)


def _read_whole(sources: Sequence[Source]) -> Iterator[Reason]:
    """Yield the sources that do not record their changes."""
    for source in sources:
        if source.kind is SourceKind.UNVERSIONED:
            text = f"{source.name}, {strategy.kind_of(source)}, is read as a whole each time"
            yield Reason("READ_WHOLE", str(source.name), text)


@dataclass(frozen=True, slots=True)
class _Streams:
    """The stream that a definition in mode CONTINUOUS allows."""

    table: TableFacts

    def of_table(self) -> strategy.Choice:
        """Return the stream of a table, with its baseline.

        Raises:
            NotAStreamError: There is none, for these reasons.
        """
        if self.table.is_full:
            raise NotAStreamError(reasons.FULL_MODE)
        choice = self._of_query()
        if choice.keeps_checkpoint:
            return choice
        if self.table.baseline is not None:
            text = "rows count from a baseline, which a stream without a checkpoint does not know"
            raise NotAStreamError(Reason("BASELINE", "", text))
        if len(choice.followed) > 1:
            raise NotAStreamError(reasons.ROW_WISE, reasons.SEVERAL_SOURCES)
        return choice

    def _of_query(self) -> strategy.Choice:
        analyzed, shape = self.table.analyzed, self.table.shape
        if analyzed.nondeterministic:
            functions = ", ".join(f"{name}()" for name in analyzed.nondeterministic)
            raise NotAStreamError(Reason("NONDETERMINISTIC", "", f"it uses {functions}"))
        if analyzed.process is not None:
            return self.of_process()
        if analyzed.streaming:
            return self.of_stream_query()
        followed = self.table.followed
        if self.table.is_row_wise:
            return self._row_wise(followed)
        logs = bool(followed) and all(s.kind is SourceKind.UNVERSIONED for s in followed)
        if logs or self.table.watermarks or self.table.tree.has_watermark:
            try:
                return self._stateful(followed)
            except NotAStreamError as no:
                raise NotAStreamError(*no.reasons, *_read_whole(followed)) from no
        raise NotAStreamError(_shape_reason(shape), *_read_whole(followed))

    def of_stream_query(self) -> strategy.Choice:
        """Return the stream of a query that says itself which sources are streams."""
        analyzed = self.table.analyzed
        stream = self._stream((), ())
        names = set(stream.followed)
        sources = [s for s in analyzed.sources if str(s.name) in names]
        cause = Reason("STREAM_QUERY", "", "the query reads a STREAM")
        times = tuple(
            Reason("TIME_OF_BATCH", f"{name}()", f"{name}() has the value of a row's batch")
            for name in analyzed.time_dependent
        )
        # Only a stream can compute the rows of such a query, also after positions without state.
        return replace(self._choice(stream, (cause, *times), sources), keeps_checkpoint=True)

    def of_process(self) -> strategy.Choice:
        """Return the stream of a table whose rows are made by a stateful processor.

        Its input keeps no state of its own, so that the processor's is all that there is.
        """
        analyzed = self.table.analyzed
        call = analyzed.process
        followed = () if analyzed.streaming else self.table.followed
        _check_streamed(followed)
        stream = self._stream(followed, self.table.watermarks)
        if stream.stateful:
            text = "the query that feeds a process function groups, deduplicates or joins streams"
            raise NotAStreamError(Reason("PROCESS_INPUT", "", text))
        sources = [s for s in analyzed.sources if str(s.name) in stream.followed]
        cause = Reason("PROCESS_FUNCTION", call.name if call else "", f"{call} keeps state")
        kept = replace(stream, stateful=True, reasons=())
        return self._choice(kept, (cause,), sources)

    def _row_wise(self, followed: Sequence[Source]) -> strategy.Choice:
        _check_streamed(followed)
        versioned = any(source.kind is SourceKind.VERSIONED for source in followed)
        if self.table.primary_key and versioned:
            text = "the table has a PRIMARY KEY, and rows of its sources may change"
            raise NotAStreamError(Reason("PRIMARY_KEY", "", text))
        names = self.table.shape.followed
        if len(followed) > 1 and all(s.has_positions for s in followed):
            stream = StreamShape(OutputMode.APPEND, (), False, (), names)  # noqa: FBT003 - readable
        else:
            stream = self._stream(followed, self.table.watermarks)
        return self._choice(stream, (reasons.ROW_WISE,), followed)

    def _stateful(self, followed: Sequence[Source]) -> strategy.Choice:
        """A plain query over several rows at a time, which is kept by a stream's state."""
        if self.table.shape.reason in NEVER_STREAMED:
            raise NotAStreamError(_shape_reason(self.table.shape))
        if not self.table.analyzed.pinnable:
            raise NotAStreamError(Reason("NOT_PINNABLE", "", not_pinnable(self.table.analyzed)))
        fixed = pinned_names(self.table.definition)
        for source in followed:
            if str(source.name).lower() in fixed:
                text = f"it reads {source.name} at a fixed version as well"
                raise NotAStreamError(Reason("VERSION", str(source.name), text))
        _check_streamed(followed)
        why = Reason("ONLY_LOGS", "", "all of its sources are logs or folders of files")
        if any(source.kind is SourceKind.VERSIONED for source in followed):
            why = Reason("WATERMARK_DECLARED", "", "a watermark asks for a stream")
        stream = self._stream(followed, self.table.watermarks)
        return self._choice(stream, (why,), followed)

    def _stream(self, followed: Sequence[Source], marks: Sequence[Watermark]) -> StreamShape:
        streams = (s for s in self.table.analyzed.sources if s.format in ONLY_STREAMS)
        tree, names = self.table.tree, [str(source.name) for source in (*followed, *streams)]
        if self.table.analyzed.process is not None:  # whose columns are those of the result
            tree = replace(tree, gaps=tuple(gap for gap in tree.gaps if gap[0] != "COLUMNS"))
        return stream_shape(tree, self.table.analyzed.sources, names, marks)

    def _choice(
        self, stream: StreamShape, why: tuple[Reason, ...], sources: Sequence[Source]
    ) -> strategy.Choice:
        key = self._key(stream)
        upsert: tuple[Reason, ...] = ()
        if key and stream.output_mode is OutputMode.APPEND:
            upsert = (Reason("UPSERT", "", "rows replace rows of the same PRIMARY KEY"),)
        timeless = not all(source.has_positions for source in sources)
        return strategy.Choice(
            strategy.STREAM,
            strategy.STATEFUL if stream.stateful else strategy.APPEND,
            (*why, *stream.reasons, *upsert, *strategy.follows(sources)),
            strategy.Write.BATCHES,
            output_mode=stream.output_mode,
            key=key,
            followed=stream.followed,
            watermarks=stream.watermarks,
            keeps_checkpoint=stream.stateful or timeless,
        )

    def _key(self, stream: StreamShape) -> tuple[str, ...]:
        """The columns by which rows replace rows: the declared key, or what is grouped by."""
        declared = self.table.primary_key
        if stream.output_mode is OutputMode.APPEND:
            return declared
        definition = self.table.definition
        places = query_positions(definition)
        if not declared:
            chosen = [min(part) for part in stream.key]
            return tuple(definition.columns[places.index(i)].name for i in chosen)
        names = Names.of(definition.context)
        wanted = {names.fold(column) for column in declared}
        columns = zip(places, definition.columns, strict=True)
        key = {place for place, column in columns if names.fold(column.name) in wanted}
        if not all(part & key for part in stream.key) or key - frozenset().union(*stream.key):
            text = "the PRIMARY KEY is not what it groups by"
            raise NotAStreamError(Reason("KEY_IS_NOT_GROUP", "", text))
        return declared


def _check_streamed(sources: Sequence[Source]) -> None:
    no_streams = [
        Reason(
            "NOT_A_STREAM",
            str(source.name),
            f"no stream can follow {source.name}, {strategy.kind_of(source)}",
        )
        for source in sources
        if source.kind is SourceKind.UNVERSIONED and source.format not in LOG_FORMATS
    ]
    if no_streams:
        raise NotAStreamError(*no_streams)
