"""Whether Structured Streaming can run a query such that the table comes out right.

Decided on Spark's own plan of the query, operator by operator, from the sources up, by the rules of
Spark 4.2's UnsupportedOperationChecker and by what a table needs beyond them: a row that goes away
(HAVING) or that cannot be found again (a grouping column that is not in the result) would stay in
the table for ever. What is not recognised is no stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.durations import describe_duration
from dbt.adapters.spark_mt.resolution.plan_items import items_of, lists_of, names
from dbt.adapters.spark_mt.resolution.reasons import NotAStreamError, Reason
from dbt.adapters.spark_mt.resolution.stream_flow import UNCLEAR, Flow, OutputMode, Times
from dbt.adapters.spark_mt.resolution.stream_groups import aggregated, deduplicated
from dbt.adapters.spark_mt.resolution.stream_joins import joined, united
from dbt.adapters.spark_mt.resolution.stream_rows import (
    EVENT_TIME,
    LATE,
    ROW_BY_ROW,
    late_rows,
    row_by_row,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.watermark import Watermark
    from dbt.adapters.spark_mt.resolution.analysis import PlanOperator
    from dbt.adapters.spark_mt.resolution.plan_items import Item


@dataclass(frozen=True, slots=True)
class StreamShape:
    """How Structured Streaming runs a query.

    Args:
        output_mode: Which rows each batch hands over.
        key: For mode UPDATE: by what a row of a batch replaces the row before. Of each part the
            columns of the query, counted from 0, that tell it; any of them will do.
        stateful: Whether anything is kept between batches.
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
    """Return how Structured Streaming runs a query.

    Args:
        root: Spark's plan of it.
        columns: The names of its result.
        followed: Full names of relations that shall be read as streams, beside those that the plan
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
    """The columns that tell each part of the key; empty where rows are only added."""
    if OutputMode.UPDATE not in flow.modes or not flow.key or not names(flow.output, columns):
        return ()
    ids = [item.id for item in flow.output]
    return tuple(
        dict.fromkeys(frozenset(i for i, id_ in enumerate(ids) if id_ in part) for part in flow.key)
    )


def has_watermark(node: PlanOperator | None) -> bool:
    """Whether the query itself has a watermark, on a stream or on a table."""
    if node is None:
        return False
    return node.name == EVENT_TIME or any(map(has_watermark, node.children))


@dataclass(slots=True)
class _Walk:
    """Goes through a plan from the sources up.

    `ctes` holds what was found out of each CTE, `found` the watermark of each relation.
    """

    followed: Mapping[str, TableName]
    watermarks: Sequence[Watermark]
    found: dict[str, Watermark] = field(default_factory=dict)
    ctes: dict[str, Flow] = field(default_factory=dict)

    def flow(self, node: PlanOperator) -> Flow:
        """Return what is known of the rows out of an operator."""
        if node.name == "CTERelationRef" and _number(node) in self.ctes:
            return _referred(node, self.ctes[_number(node)])
        if not node.children:
            return _leaf(node)
        if node.relation and not node.children[0].children:
            return self._relation(node, node.children[0])
        if any(self.flow(query).streaming for query in node.subqueries):
            text = "it reads a source that is followed in a subquery of an expression"
            raise NotAStreamError(Reason("SUBQUERY", node.name, text))
        return self._inner(node)

    def _inner(self, node: PlanOperator) -> Flow:
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
        """The watermark of a relation that has the column, or that must have it.

        Where the plan does not show all columns, a watermark that names no source cannot be given
        to one of several.
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


def _leaf(node: PlanOperator) -> Flow:
    """Rows that no named relation gives."""
    if node.streaming or node.name == "CTERelationRef":
        text = "it reads a stream that has no name in a catalog"
        raise NotAStreamError(Reason("UNNAMED_STREAM", node.name, text))
    return Flow(streaming=False)


def _referred(node: PlanOperator, flow: Flow) -> Flow:
    """The rows of a CTE in one of the places that name it: its columns have other ids there."""
    lists = lists_of(node.detail)
    items = items_of(lists[0]) if lists else ()
    if not flow.streaming or len(items) != len(flow.output):
        return flow
    pairs = zip(items, flow.output, strict=True)
    return flow.projected(
        tuple(replace(item, expression=f"{column.name}#{column.id}") for item, column in pairs)
    )


_INPUTS = {"Join": 2, **dict.fromkeys(("Project", "Aggregate", "Distinct", *ROW_BY_ROW), 1)}
"""How many inputs operators have; a plan that shows others was misread."""


def _operator(node: PlanOperator, inputs: list[Flow]) -> Flow:
    """What an operator does to rows of which some come from a stream."""
    if len(inputs) != _INPUTS.get(node.name, len(inputs)):
        raise NotAStreamError(UNCLEAR)
    flow = inputs[0]
    match node.name:
        case "Project":
            lists = lists_of(node.detail)
            result = flow.projected(items_of(lists[0]) if lists else ())
        case "Union":
            result = united(inputs)
        case "Join":
            result = joined(node, inputs)
        case "Aggregate":
            result = aggregated(node, flow)
        case "Distinct":
            result = deduplicated(flow)
        case _:
            result = row_by_row(node, flow)
    return result


def _number(cte: PlanOperator) -> str:
    """The number of a CTE's definition, or of the one that a reference means."""
    return cte.detail.partition(",")[0].strip()
