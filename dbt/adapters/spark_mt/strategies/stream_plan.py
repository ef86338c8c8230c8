"""Support of a query by Structured Streaming, checked on Spark's plan.

Each operator is checked from the sources up: by the rules of Spark 4.2's
UnsupportedOperationChecker, and by the needs of a table. A row that a later batch removes (HAVING)
would stay in the table for ever. So would a row that cannot be found again, because a grouping
column is not in the result. A plan that is not recognised is not a stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.durations import describe_duration
from dbt.adapters.spark_mt.strategies.reasons import Reason
from dbt.adapters.spark_mt.strategies.strategy import OutputMode
from dbt.adapters.spark_mt.strategies.stream_flow import (
    UNCLEAR,
    Flow,
    NotAStreamError,
    State,
    Times,
    attribute_id,
    attribute_name,
    identified_by,
    ids_in,
    items_of,
    key_lost,
    lists_of,
    merged,
    names,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.query.analyzer import PlanOperator
    from dbt.adapters.spark_mt.strategies.stream_flow import Item


EVENT_TIME = "EventTimeWatermark"
LATE = "WATERMARK"
_TRANSPARENT = frozenset(
    {"SubqueryAlias", "View", "CTERelationDef", "ResolvedHint"}
    | {"Repartition", "RepartitionByExpression"}
)
_MULTIPLYING = frozenset({"Generate", "Expand"})
ROW_BY_ROW = _TRANSPARENT | _MULTIPLYING | {EVENT_TIME, "Filter"}
PROBLEMS = {
    "Window": ("WINDOW_FUNCTION", "it uses a window function"),
    "Sort": ("SORT", "it sorts its rows"),
    "GlobalLimit": ("LIMIT", "it uses LIMIT"),
    "LocalLimit": ("LIMIT", "it uses LIMIT"),
    "Offset": ("OFFSET", "it uses OFFSET"),
    "Sample": ("SAMPLE", "it takes a sample"),
    "Intersect": ("INTERSECT", "it uses INTERSECT"),
    "Except": ("EXCEPT", "it uses EXCEPT"),
}


def _row_by_row(node: PlanOperator, flow: Flow) -> Flow:
    """Return the rows of an operator over a stream that processes each row separately."""
    if node.name == EVENT_TIME:
        return _watermarked(node, flow)
    if node.name in _MULTIPLYING:
        return _multiplied(node, flow)
    if node.name == "Filter" and flow.changes:
        text = "it filters groups: one that no longer fits would stay in the table"
        return flow.without(OutputMode.UPDATE, Reason("FILTER_AFTER_GROUPS", "Filter", text))
    if node.name in ROW_BY_ROW:
        return flow
    code, text = PROBLEMS.get(node.name, ("OPERATOR", f"it uses the operator {node.name}"))
    raise NotAStreamError(Reason(code, node.name, text))


def _multiplied(node: PlanOperator, flow: Flow) -> Flow:
    """Return the rows of a generator or of overlapping windows, which make several of one row."""
    if flow.key is not None:
        text = "it makes several rows of one that may change"
        flow = flow.without(OutputMode.UPDATE, Reason("ROWS_OF_STATE", node.name, text))
    lists = lists_of(node.detail)
    if node.name == "Generate" or len(lists) < 2:
        return replace(flow, output=())
    output, computed = items_of(lists[-1]), lists_of(lists[0][0])
    if not computed or len(output) != len(computed[0]):
        return replace(flow, output=())
    pairs = zip(output, computed[0], strict=True)
    windows = tuple(replace(item, expression=plain(text)) for item, text in pairs)
    return replace(flow, output=output, times=flow.times.passed_on(windows))


def _watermarked(node: PlanOperator, flow: Flow) -> Flow:
    """Return the rows of a watermark in the query: `<id>, ts#12: timestamp, 10 seconds`."""
    parts = [part.strip() for part in node.detail.split(", ")]
    event, delay = parts[1].partition(":")[0] if len(parts) > 2 else "", parts[-1]
    if not attribute_id(event):
        return flow
    events = flow.times.events | {attribute_id(event)}
    flow = replace(flow, times=replace(flow.times, events=events))
    return flow.because(late_rows(attribute_name(event), delay, node.name))


def late_rows(column: str, delay: str, subject: str) -> Reason:
    """Return the effect of a watermark as a reason."""
    text = f"rows that come more than {delay} late by {column} may be left out"
    return Reason(LATE, subject, text)


_AGGREGATE, _DISTINCT = "Aggregate", "Distinct"
_SESSION_NAME = "session_window"
_SETS_NAME = "spark_grouping_id"
_OPEN = "no watermark determines when {rows} can no longer change"
_UNBOUNDED = "its state grows with the number of {rows}, because no watermark bounds it"
_SECOND = "it groups rows that are groups themselves, whose earlier values would still be counted"


def _aggregated(node: PlanOperator, flow: Flow) -> Flow:
    if "(distinct " in node.detail:
        text = "it aggregates DISTINCT values"
        raise NotAStreamError(Reason("DISTINCT_AGGREGATE", _AGGREGATE, text))
    lists = lists_of(node.detail)
    if not lists:
        raise NotAStreamError(UNCLEAR)
    groups = tuple(map(plain, lists[0])) if len(lists) > 1 else ()
    _check_groups(groups)
    output = items_of(lists[-1])
    flow = _bounded(flow, frozenset(map(attribute_id, groups)), "groups", _AGGREGATE)
    if any(
        attribute_id(group) in flow.times.sessions or attribute_name(group) == _SESSION_NAME
        for group in groups
    ):
        text = "sessions can grow together, so they come when they are closed"
        flow = flow.without(OutputMode.UPDATE, Reason("SESSION_WINDOW", _AGGREGATE, text))
    key = tuple(_part(group, output, flow) for group in groups)
    if not all(key):
        flow = flow.without(OutputMode.UPDATE, key_lost(output))
    listed = ", ".join(attribute_name(group) or group for group in groups)
    reason = Reason("GROUPS", _AGGREGATE, f"groups are kept as state: {listed}")
    times = flow.times.passed_on(output)
    state = (*flow.state, State.GROUPS)
    return replace(flow, output=output, times=times, key=key, state=state).because(reason)


def _deduplicated(flow: Flow) -> Flow:
    output = flow.output
    clear = bool(output) and all(item.id for item in output)
    flow = _bounded(flow, frozenset(item.id for item in output), "rows", _DISTINCT)
    if not clear:
        flow = flow.without(OutputMode.UPDATE, UNCLEAR)
    key = tuple(frozenset({item.id}) for item in output)
    reason = Reason("DISTINCT", _DISTINCT, "rows that were seen are kept as state")
    return replace(flow, key=key, state=(*flow.state, State.ROWS)).because(reason)


def _bounded(flow: Flow, attributes: frozenset[int], rows: str, operator: str) -> Flow:
    """Decide by the watermark: without one no row is ever final, and state grows for ever."""
    if {State.GROUPS, State.ROWS} & set(flow.state):
        flow = flow.without(OutputMode.UPDATE, Reason("SECOND_STATE", operator, _SECOND))
    if attributes & flow.times.events:
        return flow
    why = Reason("NO_WATERMARK", operator, _OPEN.format(rows=rows))
    unbounded = Reason("UNBOUNDED_STATE", operator, _UNBOUNDED.format(rows=rows))
    return flow.without(OutputMode.APPEND, why).because(unbounded)


def _check_groups(groups: tuple[str, ...]) -> None:
    named = [attribute_name(group) for group in groups]
    if not groups:
        text = "it aggregates all rows to one, which is there even when there are no rows"
        raise NotAStreamError(Reason("GLOBAL_AGGREGATE", _AGGREGATE, text))
    if _SETS_NAME in named:
        text = "it groups by several sets of columns"
        raise NotAStreamError(Reason("GROUPING_SETS", _AGGREGATE, text))
    if named == [_SESSION_NAME]:
        text = "it groups by a session window alone, which Spark cannot in a stream"
        raise NotAStreamError(Reason("SESSION_WINDOW_ALONE", _AGGREGATE, text))


def _part(group: str, output: tuple[Item, ...], flow: Flow) -> frozenset[int]:
    """Return the columns that identify one grouping expression."""
    same = frozenset(item.id for item in output if item.id and item.expression == group)
    attribute = attribute_id(group)
    return same | (identified_by(frozenset({attribute}), output, flow.times) if attribute else same)


_JOIN = "Join"
_INNER = frozenset({"Inner", "Cross"})
_UNMATCHED = frozenset({"LeftOuter", "RightOuter", "FullOuter", "LeftSemi"})
_STREAM_LEFT = frozenset({"Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"})
_STREAM_RIGHT = frozenset({"Inner", "Cross", "RightOuter"})
_LEFT_ONLY = frozenset({"LeftSemi", "LeftAnti"})


def _united(inputs: Sequence[Flow]) -> Flow:
    if not all(flow.streaming for flow in inputs):
        text = "it adds rows of a stream to rows that are none"
        raise NotAStreamError(Reason("UNION_WITH_STATIC", "Union", text))
    if any(set(flow.state) - {State.JOIN} for flow in inputs):
        text = "it adds groups of several sides together"
        raise NotAStreamError(Reason("UNION_OF_STATE", "Union", text))
    return replace(merged(inputs), output=inputs[0].output, times=Times())


def _joined(node: PlanOperator, inputs: Sequence[Flow]) -> Flow:
    left, right = inputs
    kind = node.detail.partition(",")[0].strip()
    if left.streaming and right.streaming:
        flow = _of_streams(node, kind, left, right)
    else:
        flow = _with_static(kind, left, right)
    shown = left.output and right.output
    both = (*left.output, *right.output) if shown else ()
    return replace(flow, output=left.output if kind in _LEFT_ONLY else both)


def _with_static(kind: str, left: Flow, right: Flow) -> Flow:
    flow = left if left.streaming else right
    if kind not in (_STREAM_LEFT if left.streaming else _STREAM_RIGHT):
        text = f"it keeps unmatched rows of a side that is no stream ({kind})"
        raise NotAStreamError(Reason("OUTER_JOIN", _JOIN, text))
    if flow.key is not None:
        text = "it joins rows that may change with a table whose rows may change, too"
        flow = flow.without(OutputMode.UPDATE, Reason("JOIN_AFTER_STATE", _JOIN, text))
    text = "one side is no stream: each batch reads it as it is then"
    return flow.because(Reason("STATIC_SIDE", _JOIN, text))


def _of_streams(node: PlanOperator, kind: str, left: Flow, right: Flow) -> Flow:
    if kind not in _INNER | _UNMATCHED:
        raise NotAStreamError(Reason("JOIN", _JOIN, f"Spark cannot join streams so ({kind})"))
    flow = merged((left, right))
    named = ids_in(node.detail)
    bounded = bool(named & left.times.events) and bool(named & right.times.events)
    if kind in _UNMATCHED:
        if not bounded:
            text = f"no watermark in its condition determines when a row has no partner ({kind})"
            raise NotAStreamError(Reason("NO_WATERMARK", _JOIN, text))
        text = f"rows without a partner come when none can come any more ({kind})"
        flow = flow.without(OutputMode.UPDATE, Reason("OUTER_JOIN", _JOIN, text))
    if left.key is not None or right.key is not None:
        text = "it joins rows that may change"
        flow = flow.without(OutputMode.UPDATE, Reason("JOIN_AFTER_STATE", _JOIN, text))
    text = "rows of both streams are kept as state, until their partners came"
    flow = replace(flow, state=(*flow.state, State.JOIN)).because(Reason("JOIN", _JOIN, text))
    if bounded:
        return flow
    text = "its state grows with the rows of both sides, because no watermark bounds it"
    return flow.because(Reason("UNBOUNDED_STATE", _JOIN, text))


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
        watermarks: Those that are not in the plan, by the full names of their relations.
    """

    output_mode: OutputMode
    key: tuple[frozenset[int], ...]
    stateful: bool
    reasons: tuple[Reason, ...]
    followed: tuple[str, ...]
    watermarks: tuple[tuple[str, Watermark], ...] = ()


def stream_shape(
    root: PlanOperator,
    columns: tuple[str, ...],
    followed: Iterable[TableName] = (),
    watermarks: Sequence[Watermark] = (),
) -> StreamShape:
    """Return how Structured Streaming runs a query with the plan `root` and the result `columns`.

    Args:
        root: Spark's plan.
        columns: The names of the result.
        followed: Full names of relations to be read as streams, in addition to those that the plan
            marks as such.
        watermarks: Those that the plan does not have.

    Raises:
        NotAStreamError: It cannot run it, or the table would be wrong.
    """
    walk = _Walk({str(name): name for name in followed}, watermarks)
    flow = walk.flow(root)
    if not flow.streaming:
        raise NotAStreamError(Reason("NO_STREAM", "", "it reads no source that can be followed"))
    marks = tuple(sorted(walk.found.items()))
    key = _key(flow, columns)
    if flow.state and key:
        reasons = (*flow.reasons, _UPDATES)
        return StreamShape(OutputMode.UPDATE, key, True, reasons, flow.followed, marks)  # noqa: FBT003 - readable
    if OutputMode.APPEND not in flow.modes:
        raise NotAStreamError(*flow.lost, UNCLEAR)
    if flow.state:
        reasons = (*flow.reasons, *(flow.lost if flow.key else ()), _APPENDS)
    else:
        late = any(reason.code == LATE for reason in flow.reasons)
        reasons = tuple(reason for reason in flow.reasons if reason.code != LATE)
        reasons += (_NEVERLATE,) if late else ()
    return StreamShape(OutputMode.APPEND, (), bool(flow.state), reasons, flow.followed, marks)


_NEVERLATE = Reason(
    "WATERMARK_UNUSED", "", "the watermark has no effect, because no row waits for others"
)
_UPDATES = Reason("UPDATE_MODE", "", "each batch replaces the rows that it changes")
_APPENDS = Reason("APPEND_MODE", "", "rows come when nothing can change them any more")


def _key(flow: Flow, columns: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    """Return the columns that identify each part of the key; empty if rows are only added."""
    if OutputMode.UPDATE not in flow.modes or not flow.key or not names(flow.output, columns):
        return ()
    ids = [item.id for item in flow.output]
    return tuple(
        dict.fromkeys(frozenset(i for i, id_ in enumerate(ids) if id_ in part) for part in flow.key)
    )


def has_watermark(node: PlanOperator | None) -> bool:
    """Return whether the query itself has a watermark, on a stream or on a table."""
    if node is None:
        return False
    return node.name == EVENT_TIME or any(map(has_watermark, node.children))


@dataclass(slots=True)
class _Walk:
    """Walk through a plan from the sources up.

    `ctes` holds the rows of each CTE, `found` the watermark of each relation.
    """

    followed: Mapping[str, TableName]
    watermarks: Sequence[Watermark]
    found: dict[str, Watermark] = field(default_factory=dict)
    ctes: dict[str, Flow] = field(default_factory=dict)

    def flow(self, node: PlanOperator) -> Flow:
        """Return the facts about the rows out of an operator."""
        if node.name == "CTERelationRef" and _number(node) in self.ctes:
            return _referred(node, self.ctes[_number(node)])
        if not node.children:
            if node.streaming or node.name == "CTERelationRef":
                text = "it reads a stream that has no name in a catalog"
                raise NotAStreamError(Reason("UNNAMED_STREAM", node.name, text))
            return Flow(streaming=False)
        if node.relation and not node.children[0].children:
            return self._relation(node, node.children[0])
        return self._inner(node)

    def _inner(self, node: PlanOperator) -> Flow:
        if any(self.flow(query).streaming for query in node.subqueries):
            text = "it reads a source that is followed in a subquery of an expression"
            raise NotAStreamError(Reason("SUBQUERY", node.name, text))
        inputs = [self.flow(child) for child in node.children]
        if node.name == "CTERelationDef":
            self.ctes[_number(node)] = inputs[0]
        if node.name == "WithCTE":
            return inputs[-1]
        streams = any(flow.streaming for flow in inputs)
        return _operator(node, inputs) if streams else Flow(streaming=False)

    def _relation(self, node: PlanOperator, leaf: PlanOperator) -> Flow:
        if not (leaf.streaming or node.relation in self.followed):
            return Flow(streaming=False)
        lists = lists_of(leaf.detail)
        output = items_of(lists[-1]) if lists else ()
        flow = Flow(streaming=True, output=output, followed=(node.relation,))
        mark = self._mark(node.relation, output)
        if mark is None:
            return flow
        self.found[node.relation] = mark
        ids = (item.id for item in output if item.name.lower() == mark.column.lower())
        delay = describe_duration(mark.delay)
        late = late_rows(mark.column, delay, node.relation)
        return replace(flow, times=Times(frozenset(ids))).because(late)

    def _mark(self, relation: str, output: tuple[Item, ...]) -> Watermark | None:
        """Return the watermark of a relation that has the column, or that must have it.

        If the plan does not show all columns, a watermark without a source cannot be assigned to
        one of several.
        """
        name = self.followed.get(relation)
        marks = [mark for mark in self.watermarks if name is not None and mark.is_of(name)]
        columns = {item.name.lower() for item in output if item.id}
        for mark in marks:
            if mark.column.lower() in columns:
                return mark
        if not marks or (output and all(item.id for item in output)):
            return None
        if len(self.followed) > 1 and any(mark.source is None for mark in marks):
            raise NotAStreamError(UNCLEAR)
        return marks[0]


def _referred(node: PlanOperator, flow: Flow) -> Flow:
    """Return the rows of a CTE in a place that names it, where its columns have other IDs."""
    lists = lists_of(node.detail)
    items = items_of(lists[0]) if lists else ()
    if not flow.streaming or len(items) != len(flow.output):
        return flow
    pairs = zip(items, flow.output, strict=True)
    return flow.projected(
        tuple(replace(item, expression=f"{column.name}#{column.id}") for item, column in pairs)
    )


_INPUTS = {"Join": 2, **dict.fromkeys(("Project", "Aggregate", "Distinct", *ROW_BY_ROW), 1)}
"""Number of inputs of operators; a plan that shows another number was misread."""


def _operator(node: PlanOperator, inputs: list[Flow]) -> Flow:
    """Return the rows of an operator of which some inputs are streams.

    Raises:
        NotAStreamError: Spark cannot run it, or the table would be wrong.
    """
    if len(inputs) != _INPUTS.get(node.name, len(inputs)):
        raise NotAStreamError(UNCLEAR)
    match node.name:
        case "Project":
            lists = lists_of(node.detail)
            result = inputs[0].projected(items_of(lists[0]) if lists else ())
        case "Union":
            result = _united(inputs)
        case "Join":
            result = _joined(node, inputs)
        case "Aggregate":
            result = _aggregated(node, inputs[0])
        case "Distinct":
            result = _deduplicated(inputs[0])
        case _:
            result = _row_by_row(node, inputs[0])
    return result


def _number(cte: PlanOperator) -> str:
    """Return the number of a CTE's definition, or of the one that a reference means."""
    return cte.detail.partition(",")[0].strip()
