"""Rows of a definition's query, over fixed source versions or over source changes.

What reads a version is written in the place of each name, by offset. Persistent views in between
are inlined as temporary views of the private session. These have the current schema, confs and
columns with which the persistent ones were made. If that fails, the caller compares the source
versions before and after instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.columns import quote
from dbt.adapters.spark_mt.definition.positions import OffsetPosition, VersionedPosition, unmoved
from dbt.adapters.spark_mt.execution.table_format import VersionRange
from dbt.adapters.spark_mt.resolution.columns import content_query
from dbt.adapters.spark_mt.resolution.query_options import PROCESS_FUNCTION
from dbt.adapters.spark_mt.resolution.validation import result_problems
from dbt.adapters.spark_mt.spark.catalog import objects
from dbt.adapters.spark_mt.spark.formats.installed import FORMATS
from dbt.adapters.spark_mt.spark.query import query_relations
from dbt.adapters.spark_mt.spark.query.binding import accepted_text, bound_query
from dbt.adapters.spark_mt.spark.query.offsets import KAFKA, KafkaSource
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error, unlogged
from dbt.adapters.spark_mt.spark.session.private_session import enter_context
from dbt.adapters.spark_mt.spark.session.types import columns_of, ddl_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.definition.columns import (
        Column,
        QueryContext,
        SourceColumns,
        TableName,
    )
    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Position, Positions, SourcePositions
    from dbt.adapters.spark_mt.planning.steps import RefreshRun
    from dbt.adapters.spark_mt.query.text import RelationRef
    from dbt.adapters.spark_mt.spark.catalog.objects import ViewDefinition
    from dbt.adapters.spark_mt.spark.catalog.table_details import SparkTables, TableDetails
    from dbt.adapters.spark_mt.spark.query.query_relations import Inspection, StandIns
    from dbt.adapters.spark_mt.spark.query.sources import SparkSourceReader
    from dbt.adapters.spark_mt.spark.query.stored_queries import StoredQueries, TextAt
    from dbt.adapters.spark_mt.spark.session.private_session import PrivateSession

    RangeRows = Callable[[VersionRange], str | None]


_INLINED = "__materialized_table_view_"


_ATTEMPTS = 5
_RESULT = "__materialized_table_result"
_CHANGES = "__materialized_table_changes_"
_ADDED, _REMOVED = "added_", "removed_"
_LOG = "__materialized_table_log_"


@dataclass(frozen=True, slots=True)
class Pins:
    """Replacements of the sources of a query: fixed versions, temporary views and streams.

    Args:
        reads: What reads each source that has versions as of one of them, by full name; also those
            that views read.
        replaced: The temporary view to read in the place of a source, by full name.
        label: Distinguishes the temporary views of this query from others of the session.
        streams: Whether the query may read streams; what stands for these are streams then.
        stand_ins: What stands for sources while the query itself is analysed.
        recorded: The columns that the query's relations had when it was defined.
    """

    reads: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    streams: bool = False
    stand_ins: StandIns = query_relations.NO_STAND_INS
    recorded: tuple[SourceColumns, ...] = ()

    def place(self, name: str, sql: str) -> str:
        """Return what is read for a source, from its full name and its SQL."""
        name = name.lower()
        replaced = {source.lower(): view for source, view in self.replaced.items()}
        reads = {source.lower(): text for source, text in self.reads.items()}
        return replaced.get(name) or reads.get(name, sql)


@dataclass(frozen=True, slots=True)
class PinnedQuery:
    """A query at fixed versions.

    Args:
        text: The text to run in the session that pinned it; None if the query cannot be pinned.
        reason: Why not; empty otherwise.
        columns: Of its result.
        text_at: Returns the text as of other versions with the same columns; None where the session
            has views of its own for it.
    """

    text: str | None
    reason: str = ""
    columns: tuple[Column, ...] = ()
    text_at: TextAt | None = None


class _NotPinnableError(Exception):
    """Some relation cannot be read as of a version; the message says which and why."""


def pin_query(private: SparkSession, query: str, context: QueryContext, pins: Pins) -> PinnedQuery:
    """Pin a query to versions of its sources.

    Args:
        private: A private session, which can read versions of any age: its current schema and
            confs become the context's, and temporary views named `__materialized_table_view_<n>`
            are made in it. The text has its meaning only there.
        query: A query, best the expanded one.
        context: Where and under which confs it was analysed.
        pins: What to read in the place of each source.

    Raises:
        QueryError: Recorded columns are gone, or cannot be selected in the query.
        pyspark.errors.PySparkException: The context's schema is gone.
    """
    enter_context(private, context)
    forms: tuple[str, ...] = (query,)
    if pins.recorded:
        forms = bound_query(private, query, context, pins.recorded, pins.place).forms
    found = [_pinned(private, text, context, pins) for text in forms[:1]]
    if found[0].text is None:
        found += [_pinned(private, text, context, pins) for text in forms[1:]]
    return next((each for each in found if each.text is not None), found[0])


def _pinned(private: SparkSession, query: str, context: QueryContext, pins: Pins) -> PinnedQuery:
    try:
        with unlogged():
            pinner = _Pinner(private, pins)
            text = pinner.pinned(query, context)
            enter_context(private, context)
            if pins.recorded:  # whose names the caller looks for in the result
                columns = columns_of(query_relations.analysed(private, text).schema)
                return PinnedQuery(text, columns=columns, text_at=pinner.text_at)
            return _checked(private, pins.stand_ins.inserted(query, context), text)
    except _NotPinnableError as no:
        reason = str(no)
    except Exception as error:
        if not is_spark_error(error):
            raise
        reason = failure_of(error).message
    enter_context(private, context)
    return PinnedQuery(None, reason)


def _checked(private: SparkSession, query: str, text: str) -> PinnedQuery:
    """Check that the pinned query gives the very same columns."""
    pinned, plain = (
        query_relations.analysed(private, text).schema,
        query_relations.analysed(private, query).schema,
    )
    same = [(f.name, f.dataType) for f in pinned] == [(f.name, f.dataType) for f in plain]
    if not same:
        return PinnedQuery(None, "its columns were others at that time")
    return PinnedQuery(text, columns=columns_of(pinned))


class _Pinner:
    def __init__(self, private: SparkSession, pins: Pins) -> None:
        self._spark = private
        self._reads = {name.lower(): text for name, text in pins.reads.items()}
        self._replaced = {name.lower(): view for name, view in pins.replaced.items()}
        self._label = pins.label
        self._streams = pins.streams
        self._stand_ins = pins.stand_ins
        self._inlined: dict[TableName, str] = {}
        self.text_at: TextAt | None = None

    def pinned(self, text: str, context: QueryContext) -> str:
        """Pin one text in its own context; leaves the session in some context."""
        enter_context(self._spark, context)
        inspection = query_relations.inspect(self._spark, text, context, self._stand_ins)
        if inspection is None:
            raise _NotPinnableError("Spark shows no plan of it")  # noqa: TRY003, EM101
        gap = inspection.hidden if self._streams else inspection.gap
        if gap:
            raise _NotPinnableError(gap)
        self._refuse_unknown(inspection)
        views = {r.name for r in inspection.plan.relations if r.kind == "view" and not r.via}
        for _, name in inspection.matched:
            if name.parts in views and name not in self._inlined:
                self._inlined[name] = self._inline(objects.describe_view(self._spark, name))
        self.text_at = None if self._inlined or self._replaced else partial(_at, inspection)
        return inspection.rewritten(self._place, self._alias)

    def _refuse_unknown(self, inspection: Inspection) -> None:
        """Refuse a table without a given version: it would be read at another time."""
        read = {n for ref, n in inspection.matched if not ref.pinned}
        tables = {r.name for r in inspection.plan.relations if r.kind == "table" and not r.via}
        known = self._reads.keys() | self._replaced.keys()
        unknown = [n for n in read if n.parts in tables and str(n).lower() not in known]
        for name, provider in objects.providers_of(self._spark, unknown).items():
            format_ = FORMATS.of(provider)
            if format_ is not None and objects.keeps_versions(self._spark, name, format_):
                raise _NotPinnableError(f"no version of {name} is given")  # noqa: TRY003, EM102

    def _place(self, ref: RelationRef, name: TableName) -> str:
        view = self._view(ref, name)
        if view is not None:
            return view
        return name.sql if ref.pinned else self._reads.get(str(name).lower(), name.sql)

    def _alias(self, ref: RelationRef, name: TableName) -> str:
        """Return the alias that a view needs: columns may be qualified by the relation's name."""
        if self._view(ref, name) is None or ref.aliased:
            return ""
        if ref.sampled:
            raise _NotPinnableError(f"the view {name} is sampled without an alias")  # noqa: TRY003, EM102
        return f" AS {quote(name.name)}"

    def _view(self, ref: RelationRef, name: TableName) -> str | None:
        """Return the temporary view that stands for a relation; None where it stands for itself."""
        return (
            None if ref.pinned else self._inlined.get(name) or self._replaced.get(str(name).lower())
        )

    def _inline(self, view: ViewDefinition) -> str:
        """Make a temporary view with the content of `view` at the versions, and return its name."""
        schema = self._spark.table(view.name.sql).schema
        body = self.pinned(view.text, view.context)
        enter_context(self._spark, view.context)
        inner, alias = self._outputs(view, body, len(schema.fields))
        columns = ",\n".join(
            f"CAST({quote(source)} AS {ddl_type(field.dataType)}) AS {quote(field.name)}"
            for source, field in zip(inner, schema.fields, strict=True)
        )
        name = f"{_INLINED}{self._label}{len(self._inlined)}"
        self._spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n"
            f"SELECT {columns}\nFROM (\n{body}\n) AS {alias}"
        )
        return name

    def _outputs(self, view: ViewDefinition, body: str, count: int) -> tuple[list[str], str]:
        """Return a name within the body for each column of a view, and the alias of the body.

        Spark finds the columns of a view by the names that its query had when it was made. It
        finds those of the same name by their order, and a view without such names by position.
        """
        if len(view.output) == len(set(view.output)) == count:
            return list(view.output), "_"
        found = [name.lower() for name in query_relations.analysed(self._spark, body).columns]
        numbered = [f"c{number}" for number in range(len(found))]
        alias = f"_({', '.join(numbered)})"
        if len(view.output) != count:
            return numbered, alias
        inner, wanted = [], [name.lower() for name in view.output]
        for at, name in enumerate(wanted):
            places = [place for place, other in enumerate(found) if other == name]
            if len(places) != wanted.count(name):
                raise _NotPinnableError(f"the view {view.name} has no longer its columns")  # noqa: TRY003, EM102
            inner.append(numbered[places[wanted[:at].count(name)]])
        return inner, alias


def _at(inspection: Inspection, reads: Mapping[str, str]) -> str:
    """Return the text of a query without views as of versions of its sources."""

    def place(ref: RelationRef, name: TableName) -> str:
        return name.sql if ref.pinned else reads.get(str(name), name.sql)

    return inspection.rewritten(place)


class QueryRows:
    """Texts of a definition's query over the rows that a refresh reads."""

    def __init__(
        self,
        sources: SparkSourceReader,
        tables: SparkTables,
        details: TableDetails,
        stored: StoredQueries,
    ) -> None:
        self._sources = sources
        self._tables = tables
        self._details = details
        self._stored = stored

    def whole(
        self, session: PrivateSession, definition: StoredDefinition, run: RefreshRun
    ) -> tuple[str, Positions]:
        """Return the rows over all source data as a query, and the state that it reads.

        Raises:
            MaterializedTableError: The query cannot be pinned, and its sources moved each time.
            MaterializedTableError: The same, where only the given positions will do.
        """
        _raise_if_processed(definition)
        resolved = definition.resolved
        text = self._stored.text_at(resolved, run.positions)
        if text is not None:
            return content_query(resolved, text), run.positions
        recorded = resolved.source_columns
        pins = Pins(self._reads(run), _whole_logs(session, run), recorded=recorded)
        pinned = pin_query(session.spark, resolved.expanded_query, resolved.context, pins)
        if pinned.text is not None:
            raise_if_unfit(definition, pinned.columns)
            self._stored.keep_text(resolved, run.positions, pinned.text_at)
            return content_query(resolved, pinned.text), run.positions
        return self._settled(session, definition, run, pinned.reason)

    def added(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        since: SourcePositions,
    ) -> str:
        """Return the rows over what was added to the followed sources since some positions.

        Raises:
            RefreshFailedError: The query cannot be limited to these rows.
        """
        readers = self._tables.changes(session.spark)
        limit = (_ADDED, lambda range_: readers(range_.table).added(range_))
        return self._limited(session, definition, run, since, limit)

    def touched(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        since: SourcePositions,
    ) -> list[str]:
        """Return the rows over what was added, and those over what was removed.

        Rows that were removed are joined with tables that are looked up as these are now.

        Raises:
            RefreshFailedError: The query cannot be limited to these rows.
        """
        readers = self._tables.changes(session.spark)

        def removed(range_: VersionRange) -> str | None:
            rows: str | None = readers(range_.table).removed(range_)
            return rows

        parts = [self.added(session, definition, run, since)]
        if any(map(removed, self.ranges(run, since))):
            limit = (_REMOVED, removed)
            parts.append(self._limited(session, definition, run, since, limit))
        return parts

    def _limited(
        self,
        session: PrivateSession,
        definition: StoredDefinition,
        run: RefreshRun,
        since: SourcePositions,
        limit: tuple[str, RangeRows],
    ) -> str:
        """Replace each followed source by a temporary view of some rows."""
        _raise_if_processed(definition)
        label, rows_of = limit
        views = _whole_logs(session, run, label)
        for name, after in since:
            if name in views:
                rows = _log(session, run, name, after if label == _ADDED else run.positions[name])
                rows.createOrReplaceTempView(views[name])
        for number, range_ in enumerate(self.ranges(run, since)):
            view = f"{_CHANGES}{label}{number}"
            body = rows_of(range_) or f"SELECT * FROM {self._at_end(range_)} WHERE false"
            session.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS\n{body}")
            views[str(range_.table.name)] = view
        resolved = definition.resolved
        pins = Pins(self._reads(run), views, label, recorded=resolved.source_columns)
        pinned = pin_query(session.spark, resolved.expanded_query, resolved.context, pins)
        if pinned.text is None:
            raise conditions.REFRESH_FAILED(table=definition.name, problem=pinned.reason)
        raise_if_unfit(definition, pinned.columns)
        return content_query(resolved, pinned.text)

    def ranges(self, run: RefreshRun, since: SourcePositions) -> list[VersionRange]:
        """Return what happened to tables between some positions and those of a run."""
        names = {str(source.name): source.name for source in run.sources}
        upto = run.positions
        return [
            VersionRange(
                self._sources.table(names[name]),
                after,
                end,
                run.columns_of(name),
            )
            for name, after in since
            if isinstance(end := upto[name], VersionedPosition)
            and isinstance(after, VersionedPosition)
        ]

    def _reads(self, run: RefreshRun) -> dict[str, str]:
        """Return what reads each source with versions at its position in a run."""
        names = {str(source.name): source.name for source in run.sources}
        return {
            name: self._tables.as_of(self._sources.table(names[name]), position.version)
            for name, position in run.positions.items()
            if isinstance(position, VersionedPosition)
        }

    def _at_end(self, range_: VersionRange) -> str:
        return self._tables.as_of(range_.table, range_.upto.version)

    def are_there(self, run: RefreshRun) -> bool:
        """Whether the tables have the very versions that a run reads: none was made again."""
        names = {str(source.name): source.name for source in run.sources}
        wanted = {
            (self._sources.table(names[name]), position.version): position.identity
            for name, position in run.positions.items()
            if isinstance(position, VersionedPosition)
        }
        found = self._tables.commits(wanted)
        return all(key in found and found[key].identity == wanted[key] for key in wanted)

    def _settled(
        self, session: PrivateSession, definition: StoredDefinition, run: RefreshRun, reason: str
    ) -> tuple[str, Positions]:
        """Compute a query that cannot be pinned while nothing moves, and keep its rows."""
        before = run.positions
        names = ", ".join(str(source.name) for source in run.sources)
        for _ in range(_ATTEMPTS):
            text = accepted_text(session.spark, definition.resolved).text
            raise_if_unfit(
                definition, columns_of(query_relations.analysed(session.spark, text).schema)
            )
            content = content_query(definition.resolved, text)
            rows = session.spark.sql(content).localCheckpoint(eager=True)
            self._details.forget()
            after = self._sources.positions(run.sources)
            if unmoved(before, after):
                rows.createOrReplaceTempView(_RESULT)
                return f"SELECT * FROM {_RESULT}", after
            if run.fixed:
                raise conditions.POSITIONS_NOT_READABLE(sources=names, problem=reason)
            before = after
        raise conditions.SOURCES_TOO_BUSY(sources=names, attempts=_ATTEMPTS, reason=reason)


def raise_if_unfit(definition: StoredDefinition, columns: tuple[Column, ...]) -> None:
    """Refuse a result whose columns are not those of the table.

    Raises:
        RefreshSchemaError: As `result_problems` says.
    """
    if problems := result_problems(definition.resolved, columns):
        raise conditions.RESULT_CHANGED(violations=problems, table=definition.name)


def _raise_if_processed(definition: StoredDefinition) -> None:
    """Refuse a table whose rows a stream's state makes: those of its query are others."""
    if PROCESS_FUNCTION in dict(definition.resolved.declared.options):
        problem = "only the stream of its process function makes its rows, and only all of them"
        raise conditions.REFRESH_FAILED(table=definition.name, problem=problem)


def _whole_logs(session: PrivateSession, run: RefreshRun, label: str = "") -> dict[str, str]:
    """Make temporary views of all that logs held at the run's positions; by the logs' names."""
    logs = sorted(n for n, at in run.positions.items() if _is_kafka(at))
    views = {name: f"{_LOG}{label}{number}" for number, name in enumerate(logs)}
    for name, view in views.items():
        _log(session, run, name).createOrReplaceTempView(view)
    return views


def _log(
    session: PrivateSession, run: RefreshRun, name: str, after: Position | None = None
) -> DataFrame:
    """Return what a log held at the run's position, less what it held at an earlier one."""
    source = next(each.name for each in run.sources if str(each.name) == name)
    return KafkaSource(session.spark, source).batch(after, run.positions[name])


def _is_kafka(position: Position) -> bool:
    return isinstance(position, OffsetPosition) and position.format == KAFKA
