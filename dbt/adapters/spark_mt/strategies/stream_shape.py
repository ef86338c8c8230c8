"""Support of a query by Structured Streaming, checked on its operator tree.

Each operator is checked from the sources up: by the rules of Spark 4.2's
UnsupportedOperationChecker, and by the needs of a table. A row that a later batch removes (HAVING)
would stay in the table for ever. So would a row that cannot be found again, because a grouping
column is not in the result. A part of a query that is not understood is not a stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from dbt.adapters.spark_mt.definition.errors import InvalidValueError
from dbt.adapters.spark_mt.query import operators as ops
from dbt.adapters.spark_mt.query.analyzer import SourceKind
from dbt.adapters.spark_mt.query.boundary import UNEXPECTED, guarded
from dbt.adapters.spark_mt.query.expressions import call_name
from dbt.adapters.spark_mt.query.operator_builder import MAY_AGGREGATE
from dbt.adapters.spark_mt.resolution.durations import describe_duration, parse_duration
from dbt.adapters.spark_mt.strategies.reasons import Reason
from dbt.adapters.spark_mt.strategies.strategy import OutputMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import Source
    from dbt.adapters.spark_mt.query.expressions import Expression, Named


_TABLES = frozenset({SourceKind.VERSIONED, SourceKind.UNVERSIONED})
LATE = "WATERMARK"
_NEVERLATE = Reason(
    "WATERMARK_UNUSED", "", "the watermark has no effect, because no row waits for others"
)
_UPDATES = Reason("UPDATE_MODE", "", "each batch replaces the rows that it changes")
_APPENDS = Reason("APPEND_MODE", "", "rows come when nothing can change them any more")
_KEY_GONE = Reason(
    "KEY_NOT_IN_RESULT", "", "a column that it groups by is not in the result, so that a row that "
    "changes could not be found again"
)  # fmt: skip
_UNKNOWN_NAMES = frozenset(
    {"AMBIGUOUS_COLUMN", "COLUMNS", "SET_OPERATION", "STAR", "UNKNOWN_COLUMNS"}
    | {"UNRESOLVED_COLUMN", "VIEW_COLUMNS"}
)
_WINDOW, _SESSION = "window", "session_window"
_OF_TIME = frozenset({_WINDOW, _SESSION, "window_time"})
_BOTH_MODES = frozenset(OutputMode)
_FILTER, _AGGREGATE, _DISTINCT, _JOIN = "Filter", "Aggregate", "Distinct", "Join"
PROBLEMS = {
    "Window": ("WINDOW_FUNCTION", "it uses a window function"),
    "Sort": ("SORT", "it sorts its rows"),
    "Limit": ("LIMIT", "it uses LIMIT"),
    "Offset": ("OFFSET", "it uses OFFSET"),
    "Intersect": ("INTERSECT", "it uses INTERSECT"),
    "Except": ("EXCEPT", "it uses EXCEPT"),
}
"""Codes and parts of sentences for operators that no stream has."""
_OPEN = "no watermark determines when {rows} can no longer change"
_UNBOUNDED = "its state grows with the number of {rows}, because no watermark bounds it"
_SECOND = "it groups rows that are groups themselves, whose earlier values would still be counted"
_UNMATCHED = frozenset(
    {ops.JoinKind.LEFT, ops.JoinKind.RIGHT, ops.JoinKind.FULL, ops.JoinKind.SEMI}
)
_STREAM_LEFT = ops.INNER_JOINS | {ops.JoinKind.LEFT, ops.JoinKind.SEMI, ops.JoinKind.ANTI}
_STREAM_RIGHT = ops.INNER_JOINS | {ops.JoinKind.RIGHT}
_SPARK_NAMES = {
    ops.JoinKind.LEFT: "LeftOuter",
    ops.JoinKind.RIGHT: "RightOuter",
    ops.JoinKind.FULL: "FullOuter",
    ops.JoinKind.SEMI: "LeftSemi",
    ops.JoinKind.ANTI: "LeftAnti",
}


class NotAStreamError(Exception):
    """Structured Streaming cannot run a part of a query, or the table would be wrong.

    Args:
        reasons: Why; if several apply only together, all of them.
    """

    def __init__(self, *reasons: Reason) -> None:
        super().__init__("; ".join(reason.text for reason in reasons))
        self.reasons = reasons


class State(Enum):
    """State that an operator keeps between batches."""

    JOIN = "rows of both sides, until their partners came"
    GROUPS = "groups"
    ROWS = "rows that were seen"


@dataclass(frozen=True, slots=True)
class StreamShape:
    """Execution of a query by Structured Streaming.

    Args:
        output_mode: Which rows each batch emits.
        key: For mode UPDATE: the key by which a row of a batch replaces the row before. For each
            part, the columns of the query, counted from 0, each of which identifies it.
        stateful: Whether any state is kept between batches.
        reasons: Why, operator by operator.
        followed: Full names of the relations that are read as streams.
        watermarks: Those that are not in the query, by the full names of their relations.
    """

    output_mode: OutputMode
    key: tuple[frozenset[int], ...]
    stateful: bool
    reasons: tuple[Reason, ...]
    followed: tuple[str, ...]
    watermarks: tuple[tuple[str, Watermark], ...] = ()


def _not_a_stream(problem: str) -> NoReturn:
    raise NotAStreamError(Reason(UNEXPECTED, "", problem))


@guarded(_not_a_stream, NotAStreamError)
def stream_shape(
    tree: ops.Tree,
    sources: Sequence[Source],
    followed: Iterable[str] = (),
    watermarks: Sequence[Watermark] = (),
) -> StreamShape:
    """Return how Structured Streaming runs a query.

    Args:
        tree: Its operators.
        sources: What it reads, by Spark's own answer.
        followed: Full names of those to be read as streams, in addition to those that the query
            reads as a STREAM.
        watermarks: Those that the query does not have.

    Raises:
        NotAStreamError: It cannot run it, or the table would be wrong.
    """
    followed = frozenset(followed)
    tables = [str(s.name) for s in sources if s.kind in _TABLES]
    views = [str(s.name) for s in sources if s.kind not in _TABLES]
    walk = _Walk(
        _by_spelling(tables), _by_spelling(views), _by_spelling(followed), tuple(watermarks)
    )
    rows = walk.rows(tree.root)
    if not rows.streaming:
        raise NotAStreamError(Reason("NO_STREAM", "", "it reads no source that can be followed"))
    if hidden := followed.difference(rows.followed):
        raise NotAStreamError(_unclear(f"where it reads {min(hidden)} is not known"))
    marks = tuple(sorted(walk.found.items()))
    if rows.state and (problem := _unclear_names(tree)):
        rows = rows.without(OutputMode.UPDATE, _unclear(problem))
    key = _key(rows, tree)
    if rows.state and key:
        reasons = (*rows.reasons, _UPDATES)
        return StreamShape(OutputMode.UPDATE, key, True, reasons, rows.followed, marks)  # noqa: FBT003 - readable
    if OutputMode.APPEND not in rows.modes:
        raise NotAStreamError(*rows.lost)
    if rows.state:
        reasons = (*rows.reasons, *(rows.lost if rows.key else ()), _APPENDS)
    else:
        late = any(reason.code == LATE for reason in rows.reasons)
        reasons = tuple(reason for reason in rows.reasons if reason.code != LATE)
        reasons += (_NEVERLATE,) if late else ()
    return StreamShape(OutputMode.APPEND, (), bool(rows.state), reasons, rows.followed, marks)


def _unclear_names(tree: ops.Tree) -> str:
    """Return why a name in a query may mean another column; empty if none can."""
    return next((problem for code, problem in tree.gaps if code in _UNKNOWN_NAMES), "")


def _unclear(problem: str) -> Reason:
    text = f"its text does not show clearly what a stream of it keeps: {problem}"
    return Reason("UNCLEAR_PLAN", "", text)


def _key(rows: _Rows, tree: ops.Tree) -> tuple[frozenset[int], ...]:
    """Return the columns that identify each part of the key; empty if rows are only added."""
    if OutputMode.UPDATE not in rows.modes or not rows.key:
        return ()
    keys = [attribute.key for attribute in tree.root.output]
    return tuple(
        dict.fromkeys(frozenset(i for i, k in enumerate(keys) if k in part) for part in rows.key)
    )


def _by_spelling(names: Iterable[str]) -> Mapping[str, str]:
    """Return full names as they are, and in lower case."""
    listed = tuple(names)
    return {name.lower(): name for name in listed} | {name: name for name in listed}


def _named(scan: ops.Scan, names: Mapping[str, str]) -> str:
    """Return which of some names a scan means; empty if none."""
    full = str(scan.relation)
    return names.get(full) or names.get(full.lower()) or ""


def followed_scans(tree: ops.Tree, followed: Iterable[str]) -> frozenset[ops.Scan]:
    """Return the places that are read as streams.

    Args:
        tree: The operators of a query.
        followed: Full names of relations that are; a query with a STREAM says itself where.
    """
    scans = ops.scans(tree.root)
    names = {} if any(scan.stream for scan in scans) else _by_spelling(followed)
    return frozenset(scan for scan in scans if _is_stream(scan, names))


def _is_stream(scan: ops.Scan, followed: Mapping[str, str]) -> bool:
    return scan.stream or (not scan.version and bool(_named(scan, followed)))


@dataclass(frozen=True, slots=True)
class _Times:
    """Keys of attributes of time.

    Args:
        events: Those that a watermark bounds.
        windows: Windows of a fixed length, which their start or their end alone identifies.
        sessions: Windows whose length follows from the rows.
    """

    events: frozenset[str] = frozenset()
    windows: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()

    def passed_on(self, columns: Iterable[Named]) -> _Times:
        """Return the times, and those among computed columns."""
        events, windows, sessions = set(self.events), set(self.windows), set(self.sessions)
        for column in columns:
            key, source = column.attribute.key, column.expression.attribute
            call = _call(column.expression)
            if source in self.events or (call in _OF_TIME and column.expression.keys & self.events):
                events.add(key)
            if source in self.windows or call == _WINDOW:
                windows.add(key)
            if source in self.sessions or call == _SESSION:
                sessions.add(key)
        return _Times(frozenset(events), frozenset(windows), frozenset(sessions))


def _call(expression: Expression) -> str:
    """Return the function that an expression calls last; empty for another expression."""
    tree = expression.tree.unnest()
    return call_name(tree) if isinstance(tree, exp.Anonymous) else ""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows out of one operator.

    Args:
        streaming: Whether they come from a stream; of others nothing else matters.
        times: What is known of time.
        key: For each part of the rows' key, the attributes that hold it. None if rows are only
            added.
        state: The state of the operators up to here.
        modes: The modes in which Spark can run them with the right rows.
        lost: Why a mode is missing.
        reasons: What was decided on the way.
        followed: Full names of the relations that are read as streams.
    """

    streaming: bool
    times: _Times = _Times()
    key: tuple[frozenset[str], ...] | None = None
    state: tuple[State, ...] = ()
    modes: frozenset[OutputMode] = _BOTH_MODES
    lost: tuple[Reason, ...] = ()
    reasons: tuple[Reason, ...] = ()
    followed: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether a row may change from batch to batch."""
        return State.GROUPS in self.state

    def without(self, mode: OutputMode, why: Reason) -> _Rows:
        """Return the same rows with one mode less.

        Raises:
            NotAStreamError: None is left.
        """
        if mode not in self.modes:
            return self
        lost = (*self.lost, why)
        if self.modes == {mode}:
            raise NotAStreamError(*lost)
        return replace(self, modes=self.modes - {mode}, lost=lost)

    def because(self, *reasons: Reason) -> _Rows:
        """Return the same rows with more reasons."""
        return replace(self, reasons=(*self.reasons, *reasons))


def _merged(inputs: Iterable[_Rows]) -> _Rows:
    """Return the facts about the rows of several streams together, without a key."""
    first, *others = inputs
    result = replace(first, key=None)
    for rows in others:
        times = _Times(
            result.times.events | rows.times.events,
            result.times.windows | rows.times.windows,
            result.times.sessions | rows.times.sessions,
        )
        result = replace(
            result,
            times=times,
            state=(*result.state, *rows.state),
            modes=result.modes & rows.modes,
            lost=(*result.lost, *rows.lost),
            reasons=(*result.reasons, *rows.reasons),
            followed=tuple(dict.fromkeys((*result.followed, *rows.followed))),
        )
    if not result.modes:
        raise NotAStreamError(*result.lost)
    return result


@dataclass(slots=True)
class _Walk:
    """Walk through a tree from the sources up; `found` has the watermark of each relation.

    `views` are relations that a complete tree has no scan of.
    """

    tables: Mapping[str, str]
    views: Mapping[str, str]
    followed: Mapping[str, str]
    watermarks: Sequence[Watermark]
    found: dict[str, Watermark] = field(default_factory=dict)

    def rows(self, node: ops.Operator) -> _Rows:
        """Return the facts about the rows out of an operator.

        Raises:
            NotAStreamError: Spark cannot run it as a stream, or the table would be wrong.
        """
        if isinstance(node, ops.Scan):
            return self._scanned(node)
        inputs = [self.rows(each) for each in node.inputs]
        if isinstance(node, ops.Opaque):
            return _not_understood(node, inputs)
        if any(rows.streaming for rows in inputs):
            return _OPERATORS.get(type(node), _unsupported)(node, *inputs)
        return _Rows(streaming=False)

    def _scanned(self, scan: ops.Scan) -> _Rows:
        if view := _named(scan, self.views):
            raise NotAStreamError(_unclear(f"the query of {view} is not known"))
        if not _is_stream(scan, self.followed):
            return _Rows(streaming=False)
        name = _named(scan, self.tables)
        if not name:
            text = "it reads a stream that has no name in a catalog"
            raise NotAStreamError(Reason("UNNAMED_STREAM", str(scan.relation), text))
        rows = _Rows(streaming=True, followed=(name,))
        mark = self._mark(scan, name)
        if mark is None:
            return rows
        self.found[name] = mark
        keys = (a.key for a in scan.output if a.name.lower() == mark.column.lower())
        late = _late_rows(mark.column, describe_duration(mark.delay), name)
        return replace(rows, times=_Times(frozenset(keys))).because(late)

    def _mark(self, scan: ops.Scan, name: str) -> Watermark | None:
        """Return the watermark of a relation that has the column, or that must have it."""
        if not _named(scan, self.followed):
            return None
        marks = [mark for mark in self.watermarks if mark.is_of(scan.relation)]
        if scan.output:
            columns = {attribute.name.lower() for attribute in scan.output}
            return next((mark for mark in marks if mark.column.lower() in columns), None)
        several = len(set(self.followed.values())) > 1
        if several and any(mark.source is None for mark in marks):
            raise NotAStreamError(_unclear(f"the columns of {name} are not known"))
        return marks[0] if marks else None


def _not_understood(node: ops.Opaque, inputs: Sequence[_Rows]) -> _Rows:
    """Return the rows of a part that is not understood, where it cannot read another stream."""
    why = Reason(node.reason, "", node.problem)
    if node.is_complete and not any(rows.streaming for rows in inputs):
        return _Rows(streaming=False)
    if node.reason != MAY_AGGREGATE:
        raise NotAStreamError(why)
    # Without a watermark to group by, Spark refuses to add the rows of an aggregate.
    return inputs[0].without(OutputMode.UPDATE, why)


def _unsupported(node: ops.Operator, *_: _Rows) -> NoReturn:
    name = type(node).__name__
    if isinstance(node, ops.Limit) and node.offset is not None:
        name = "Offset"
    if isinstance(node, ops.SetOperation):
        name = "Intersect" if node.intersect else "Except"
    code, text = PROBLEMS.get(name, ("OPERATOR", f"it uses the operator {name}"))
    raise NotAStreamError(Reason(code, name, text))


def _with_subquery(rows: _Rows, query: _Rows) -> _Rows:
    """Return the rows of an operator that has a subquery in an expression."""
    if query.streaming:
        text = "it reads a source that is followed in a subquery of an expression"
        raise NotAStreamError(Reason("SUBQUERY", _FILTER, text))
    return rows


def _projected(node: ops.Project, rows: _Rows) -> _Rows:
    if node.event_time is not None:
        return _watermarked(node.event_time, rows)
    if node.view is not None:
        # Spark casts the columns of a view to its types: that ends a watermark, and may make two
        # keys equal.
        rows = replace(rows, times=_Times())
        return rows if rows.key is None else rows.without(OutputMode.UPDATE, _cast_by(node.view))
    times = rows.times.passed_on(node.columns)
    if rows.key is None:
        return replace(rows, times=times)
    key = tuple(_identified_by(part, node.columns, rows.times) for part in rows.key)
    if any(_WINDOW in column.expression.calls for column in node.columns):
        rows = _multiplied(node, rows)  # sliding windows overlap
    rows = replace(rows, times=times, key=key)
    return rows if all(key) else rows.without(OutputMode.UPDATE, _KEY_GONE)


def _cast_by(view: TableName) -> Reason:
    text = (
        f"it groups rows in the view {view}, which gives its columns types of its own; write the "
        "query of the view in its place"
    )
    return Reason("KEY_NOT_IN_RESULT", "", text)


def _identified_by(part: frozenset[str], columns: Iterable[Named], times: _Times) -> frozenset[str]:
    """Return the columns that identify a part of a key: it itself, or a window's start or end."""
    return frozenset(
        column.attribute.key
        for column in columns
        if _source(column.expression.tree.unnest(), times.windows) in part
    )


def _source(tree: exp.Expr, windows: frozenset[str]) -> str:
    """Return the attribute that an expression passes on, or whose start or end it is."""
    if isinstance(tree, exp.Dot) and tree.expression.name.lower() in {"start", "end"}:
        inner = tree.this.unnest()
        return inner.name if isinstance(inner, exp.Column) and inner.name in windows else ""
    return tree.name if isinstance(tree, exp.Column) else ""


def _watermarked(event_time: ops.EventTime, rows: _Rows) -> _Rows:
    events = rows.times.events | {event_time.attribute.key}
    rows = replace(rows, times=replace(rows.times, events=events))
    late = _late_rows(event_time.attribute.name, delay_of(event_time), "EventTimeWatermark")
    return rows.because(late)


def delay_of(event_time: ops.EventTime) -> str:
    """Return how late a row may come, for people."""
    try:
        return describe_duration(parse_duration(event_time.delay))
    except InvalidValueError:
        return event_time.delay.lower()


def _late_rows(column: str, delay: str, subject: str) -> Reason:
    """Return the effect of a watermark as a reason."""
    text = f"rows that come more than {delay} late by {column} may be left out"
    return Reason(LATE, subject, text)


def _filtered(_: ops.Operator, rows: _Rows) -> _Rows:
    if not rows.changes:
        return rows
    text = "it filters groups: one that no longer fits would stay in the table"
    return rows.without(OutputMode.UPDATE, Reason("FILTER_AFTER_GROUPS", _FILTER, text))


def _multiplied(node: ops.Operator, rows: _Rows) -> _Rows:
    """Return the rows of an operator that makes several of one."""
    if rows.key is None:
        return rows
    text = "it makes several rows of one that may change"
    return rows.without(OutputMode.UPDATE, Reason("ROWS_OF_STATE", type(node).__name__, text))


def _aggregated(node: ops.Aggregate, rows: _Rows) -> _Rows:
    times = rows.times.passed_on(node.groups)
    keys = tuple(group.attribute.key for group in node.groups)
    _check_groups(node, times)
    rows = _bounded(replace(rows, times=times), frozenset(keys), "groups", _AGGREGATE)
    if times.sessions & frozenset(keys):
        text = "sessions can grow together, so they come when they are closed"
        rows = rows.without(OutputMode.UPDATE, Reason("SESSION_WINDOW", _AGGREGATE, text))
    listed = ", ".join(map(_described, node.groups))
    reason = Reason("GROUPS", _AGGREGATE, f"groups are kept as state: {listed}")
    key = tuple(frozenset({each}) for each in keys)
    return replace(rows, key=key, state=(*rows.state, State.GROUPS)).because(reason)


def _check_groups(node: ops.Aggregate, times: _Times) -> None:
    if any(call.distinct for call in node.calls):
        text = "it aggregates DISTINCT values"
        raise NotAStreamError(Reason("DISTINCT_AGGREGATE", _AGGREGATE, text))
    if not node.groups:
        text = "it aggregates all rows to one, which is there even when there are no rows"
        raise NotAStreamError(Reason("GLOBAL_AGGREGATE", _AGGREGATE, text))
    if node.sets is not None:
        text = "it groups by several sets of columns"
        raise NotAStreamError(Reason("GROUPING_SETS", _AGGREGATE, text))
    if len(node.groups) == 1 and node.groups[0].attribute.key in times.sessions:
        text = "it groups by a session window alone, which Spark cannot in a stream"
        raise NotAStreamError(Reason("SESSION_WINDOW_ALONE", _AGGREGATE, text))


def _described(group: Named) -> str:
    """Return a grouping expression as the query names it: a column, a time window, or its text."""
    if group.expression.attribute or _call(group.expression) in {_WINDOW, _SESSION}:
        return group.attribute.name
    names = {
        column.name: exp.column(column.name.rpartition("#")[0])
        for column in group.expression.tree.find_all(exp.Column)
    }
    return group.expression.over(names).sql


def _deduplicated(node: ops.Distinct, rows: _Rows) -> _Rows:
    rows = _bounded(rows, ops.keys_in(node), "rows", _DISTINCT)
    key = tuple(frozenset({attribute.key}) for attribute in node.output)
    reason = Reason("DISTINCT", _DISTINCT, "rows that were seen are kept as state")
    return replace(rows, key=key, state=(*rows.state, State.ROWS)).because(reason)


def _bounded(rows: _Rows, keys: frozenset[str], what: str, operator: str) -> _Rows:
    """Decide by the watermark: without one no row is ever final, and state grows for ever."""
    if {State.GROUPS, State.ROWS} & set(rows.state):
        rows = rows.without(OutputMode.UPDATE, Reason("SECOND_STATE", operator, _SECOND))
    if keys & rows.times.events:
        return rows
    why = Reason("NO_WATERMARK", operator, _OPEN.format(rows=what))
    unbounded = Reason("UNBOUNDED_STATE", operator, _UNBOUNDED.format(rows=what))
    return rows.without(OutputMode.APPEND, why).because(unbounded)


def _united(_: ops.Union, *inputs: _Rows) -> _Rows:
    if not all(rows.streaming for rows in inputs):
        text = "it adds rows of a stream to rows that are none"
        raise NotAStreamError(Reason("UNION_WITH_STATIC", "Union", text))
    if any(set(rows.state) - {State.JOIN} for rows in inputs):
        text = "it adds groups of several sides together"
        raise NotAStreamError(Reason("UNION_OF_STATE", "Union", text))
    return replace(_merged(inputs), times=_Times())


def _joined(node: ops.Join, left: _Rows, right: _Rows) -> _Rows:
    if node.subquery:
        return _filtered(node, _with_subquery(left, right))
    name = _SPARK_NAMES.get(node.kind, "Inner")
    if left.streaming and right.streaming:
        return _of_streams(node, name, left, right)
    rows = left if left.streaming else right
    if node.kind not in (_STREAM_LEFT if left.streaming else _STREAM_RIGHT):
        text = f"it keeps unmatched rows of a side that is no stream ({name})"
        raise NotAStreamError(Reason("OUTER_JOIN", _JOIN, text))
    if rows.key is not None:
        text = "it joins rows that may change with a table whose rows may change, too"
        rows = rows.without(OutputMode.UPDATE, Reason("JOIN_AFTER_STATE", _JOIN, text))
    text = "one side is no stream: each batch reads it as it is then"
    return rows.because(Reason("STATIC_SIDE", _JOIN, text))


def _of_streams(node: ops.Join, name: str, left: _Rows, right: _Rows) -> _Rows:
    if node.kind not in ops.INNER_JOINS | _UNMATCHED:
        raise NotAStreamError(Reason("JOIN", _JOIN, f"Spark cannot join streams so ({name})"))
    rows = _merged((left, right))
    named = frozenset().union(*(expression.keys for expression in node.expressions))
    bounded = bool(named & left.times.events) and bool(named & right.times.events)
    if node.kind in _UNMATCHED:
        if not bounded:
            text = f"no watermark in its condition determines when a row has no partner ({name})"
            raise NotAStreamError(Reason("NO_WATERMARK", _JOIN, text))
        text = f"rows without a partner come when none can come any more ({name})"
        rows = rows.without(OutputMode.UPDATE, Reason("OUTER_JOIN", _JOIN, text))
    if left.key is not None or right.key is not None:
        text = "it joins rows that may change"
        rows = rows.without(OutputMode.UPDATE, Reason("JOIN_AFTER_STATE", _JOIN, text))
    text = "rows of both streams are kept as state, until their partners came"
    rows = replace(rows, state=(*rows.state, State.JOIN)).because(Reason("JOIN", _JOIN, text))
    if bounded:
        return rows
    text = "its state grows with the rows of both sides, because no watermark bounds it"
    return rows.because(Reason("UNBOUNDED_STATE", _JOIN, text))


_OPERATORS: dict[type[ops.Operator], Callable[..., _Rows]] = {
    ops.Aggregate: _aggregated,
    ops.Apply: lambda _, rows, query: _with_subquery(rows, query),
    ops.Distinct: _deduplicated,
    ops.Filter: _filtered,
    ops.Generate: _multiplied,
    ops.Join: _joined,
    ops.Project: _projected,
    ops.Union: _united,
}
"""By operator: its rows, of which some inputs are streams."""
