"""Whether Structured Streaming can run a query such that the table comes out right.

Decided on Spark's own plan of the query, operator by operator, from the sources up, by the rules of
Spark 4.2's UnsupportedOperationChecker and by what a table needs beyond them: a row that goes away
(HAVING) or that cannot be found again (a grouping column that is not in the result) would stay in
the table for ever. What is not recognised is no stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.plan_items import (
    attribute_id,
    items_of,
    lists_of,
    names,
    plain,
)
from dbt.adapters.spark_mt.resolution.reasons import NotAStreamError, Reason
from dbt.adapters.spark_mt.resolution.stream_flow import UNCLEAR, Flow, OutputMode, Times
from dbt.adapters.spark_mt.resolution.stream_groups import aggregated, deduplicated
from dbt.adapters.spark_mt.resolution.stream_joins import joined, united

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dbt.adapters.spark_mt.resolution.analysis import PlanOperator

_TRANSPARENT = frozenset(
    {"SubqueryAlias", "View", "CTERelationDef", "Repartition", "RepartitionByExpression"}
)
_PROBLEMS = {
    "Window": ("WINDOW_FUNCTION", "it uses a window function"),
    "Sort": ("SORT", "it sorts its rows"),
    "GlobalLimit": ("LIMIT", "it uses LIMIT"),
    "LocalLimit": ("LIMIT", "it uses LIMIT"),
    "Offset": ("OFFSET", "it uses OFFSET"),
    "Sample": ("SAMPLE", "it takes a sample"),
    "Intersect": ("INTERSECT", "it uses INTERSECT"),
    "Except": ("EXCEPT", "it uses EXCEPT"),
}


@dataclass(frozen=True, slots=True)
class StreamShape:
    """How Structured Streaming runs a query.

    Args:
        output_mode: Which rows each batch hands over.
        key: For mode UPDATE: the columns of the query, counted from 0, by which a row of a batch
            replaces the row before.
        stateful: Whether anything is kept between batches.
        reasons: Why, operator by operator.
        followed: Full names of the relations that are read as streams.
    """

    output_mode: OutputMode
    key: tuple[int, ...]
    stateful: bool
    reasons: tuple[Reason, ...]
    followed: tuple[str, ...]


def stream_shape(
    root: PlanOperator,
    columns: tuple[str, ...],
    followed: Iterable[str] = (),
    watermarks: Mapping[str, str] | None = None,
) -> StreamShape:
    """Return how Structured Streaming runs a query.

    Args:
        root: Spark's plan of it.
        columns: The names of its result.
        followed: Full names of relations that shall be read as streams, beside those that the plan
            marks as such.
        watermarks: By full name of a relation the column on which it has a watermark, beside those
            in the plan.

    Raises:
        NotAStreamError: It cannot run it, or the table would be wrong.
    """
    flow = _Walk(frozenset(followed), dict(watermarks or {})).flow(root)
    if not flow.streaming:
        raise NotAStreamError(Reason("NO_STREAM", "", "it reads no source that can be followed"))
    key = _key(flow, columns)
    if flow.state and key:
        reasons = (*flow.reasons, _UPDATES)
        return StreamShape(OutputMode.UPDATE, key, True, reasons, flow.followed)  # noqa: FBT003 - readable
    if OutputMode.APPEND not in flow.modes:
        raise NotAStreamError(*flow.lost, UNCLEAR)
    reasons = (*flow.reasons, *(flow.lost if flow.key else ()))
    reasons += (_APPENDS,) if flow.state else ()
    return StreamShape(OutputMode.APPEND, (), bool(flow.state), reasons, flow.followed)


_UPDATES = Reason("UPDATE_MODE", "", "each batch replaces the rows that it changes")
_APPENDS = Reason("APPEND_MODE", "", "rows come when nothing can change them any more")


def _key(flow: Flow, columns: tuple[str, ...]) -> tuple[int, ...]:
    """The columns that tell the key, the first of several that tell the same; empty without one."""
    if OutputMode.UPDATE not in flow.modes or not flow.key or not names(flow.output, columns):
        return ()
    ids = [item.id for item in flow.output]
    return tuple(dict.fromkeys(min(map(ids.index, part)) for part in flow.key))


@dataclass(slots=True)
class _Walk:
    """Goes through a plan from the sources up; `ctes` holds what was found out of each CTE."""

    followed: frozenset[str]
    watermarks: Mapping[str, str]
    ctes: dict[str, Flow] = field(default_factory=dict)

    def flow(self, node: PlanOperator) -> Flow:
        """Return what is known of the rows out of an operator."""
        if node.name == "CTERelationRef" and _number(node) in self.ctes:
            return self.ctes[_number(node)]
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
        column = self.watermarks.get(node.relation, "").lower()
        events = frozenset(item.id for item in output if column and item.name.lower() == column)
        followed = (node.relation,)
        return Flow(streaming=True, output=output, times=Times(events), followed=followed)


def _leaf(node: PlanOperator) -> Flow:
    """Rows that no named relation gives."""
    if node.streaming or node.name == "CTERelationRef":
        text = "it reads a stream that has no name in a catalog"
        raise NotAStreamError(Reason("UNNAMED_STREAM", node.name, text))
    return Flow(streaming=False)


def _operator(node: PlanOperator, inputs: list[Flow]) -> Flow:
    """What an operator does to rows of which some come from a stream."""
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
            result = _row_by_row(node, flow)
    return result


def _row_by_row(node: PlanOperator, flow: Flow) -> Flow:
    """What an operator does that looks at each row for itself, and leaves its columns alone."""
    if node.name in _TRANSPARENT:
        return flow
    if node.name == "EventTimeWatermark":
        events = _watermarked(node)
        return replace(flow, times=replace(flow.times, events=flow.times.events | events))
    if node.name == "Filter":
        text = "it filters groups: one that no longer fits would stay in the table"
        return (
            flow.without(OutputMode.UPDATE, Reason("FILTER_AFTER_GROUPS", "Filter", text))
            if flow.changes
            else flow
        )
    if node.name in {"Generate", "Expand"}:
        return _multiplied(node, flow)
    code, text = _PROBLEMS.get(node.name, ("OPERATOR", f"it uses the operator {node.name}"))
    raise NotAStreamError(Reason(code, node.name, text))


def _multiplied(node: PlanOperator, flow: Flow) -> Flow:
    """A generator, or windows that overlap: a row becomes several."""
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


def _watermarked(node: PlanOperator) -> frozenset[int]:
    """The attribute of a watermark: `<id>, ts#12: timestamp, 10 seconds`."""
    parts = node.detail.split(", ")
    found = (attribute_id(part.partition(":")[0]) for part in parts[1:])
    return frozenset(attribute for attribute in found if attribute)


def _number(cte: PlanOperator) -> str:
    """The number of a CTE's definition, or of the one that a reference means."""
    return cte.detail.partition(",")[0].strip()
