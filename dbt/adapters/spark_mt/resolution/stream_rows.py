"""Operators that look at each row of a stream for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.plan_items import (
    attribute_id,
    attribute_name,
    items_of,
    lists_of,
    plain,
)
from dbt.adapters.spark_mt.resolution.reasons import NotAStreamError, Reason
from dbt.adapters.spark_mt.resolution.stream_flow import OutputMode

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.resolution.analysis import PlanOperator
    from dbt.adapters.spark_mt.resolution.stream_flow import Flow

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


def row_by_row(node: PlanOperator, flow: Flow) -> Flow:
    """Return what an operator makes of a stream that looks at each row for itself.

    Raises:
        NotAStreamError: It does not, or Spark cannot run it.
    """
    if node.name in _TRANSPARENT:
        return flow
    if node.name == EVENT_TIME:
        return _watermarked(node, flow)
    if node.name == "Filter":
        return _filtered(flow)
    if node.name in _MULTIPLYING:
        return _multiplied(node, flow)
    code, text = PROBLEMS.get(node.name, ("OPERATOR", f"it uses the operator {node.name}"))
    raise NotAStreamError(Reason(code, node.name, text))


def _filtered(flow: Flow) -> Flow:
    if not flow.changes:
        return flow
    text = "it filters groups: one that no longer fits would stay in the table"
    return flow.without(OutputMode.UPDATE, Reason("FILTER_AFTER_GROUPS", "Filter", text))


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


def _watermarked(node: PlanOperator, flow: Flow) -> Flow:
    """A watermark in the query: `<id>, ts#12: timestamp, 10 seconds`."""
    parts = [part.strip() for part in node.detail.split(", ")]
    event, delay = parts[1].partition(":")[0] if len(parts) > 2 else "", parts[-1]
    if not attribute_id(event):
        return flow
    events = flow.times.events | {attribute_id(event)}
    flow = replace(flow, times=replace(flow.times, events=events))
    return flow.because(late_rows(attribute_name(event), delay, node.name))


def late_rows(column: str, delay: str, subject: str) -> Reason:
    """Return what a watermark means."""
    text = f"rows that come more than {delay} late by {column} may be left out"
    return Reason(LATE, subject, text)
