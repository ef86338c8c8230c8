"""Grouping and deduplication of a stream's rows."""

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
from dbt.adapters.spark_mt.resolution.stream_flow import (
    UNCLEAR,
    OutputMode,
    State,
    key_lost,
    told_by,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.resolution.analysis import PlanOperator
    from dbt.adapters.spark_mt.resolution.plan_items import Item
    from dbt.adapters.spark_mt.resolution.stream_flow import Flow

_AGGREGATE, _DISTINCT = "Aggregate", "Distinct"
_SESSION_NAME = "session_window"
_SETS_NAME = "spark_grouping_id"
_OPEN = "no watermark tells when {rows} can no longer change"
_UNBOUNDED = "its state grows with the number of {rows}, because no watermark bounds it"
_SECOND = "it groups rows that are groups themselves, whose earlier values would still be counted"


def aggregated(node: PlanOperator, flow: Flow) -> Flow:
    """Return the rows of an Aggregate over a stream.

    Raises:
        NotAStreamError: Spark cannot run it, or the table would be wrong.
    """
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
    if _is_session(groups, flow):
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


def deduplicated(flow: Flow) -> Flow:
    """Return the rows of a Distinct over a stream.

    Raises:
        NotAStreamError: Spark cannot run it, or the table would be wrong.
    """
    output = flow.output
    clear = bool(output) and all(item.id for item in output)
    flow = _bounded(flow, frozenset(item.id for item in output), "rows", _DISTINCT)
    if not clear:
        flow = flow.without(OutputMode.UPDATE, UNCLEAR)
    key = tuple(frozenset({item.id}) for item in output)
    reason = Reason("DISTINCT", _DISTINCT, "rows that were seen are kept as state")
    return replace(flow, key=key, state=(*flow.state, State.ROWS)).because(reason)


def _bounded(flow: Flow, attributes: frozenset[int], rows: str, operator: str) -> Flow:
    """Decide by the watermark: without one nothing is ever final, and state grows for ever."""
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


def _is_session(groups: tuple[str, ...], flow: Flow) -> bool:
    return any(
        attribute_id(group) in flow.times.sessions or attribute_name(group) == _SESSION_NAME
        for group in groups
    )


def _part(group: str, output: tuple[Item, ...], flow: Flow) -> frozenset[int]:
    """The columns that tell one grouping expression."""
    same = frozenset(item.id for item in output if item.id and item.expression == group)
    attribute = attribute_id(group)
    return same | (told_by(frozenset({attribute}), output, flow.times) if attribute else same)
