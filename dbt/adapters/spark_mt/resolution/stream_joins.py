"""Joins and unions of streams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.resolution.plan_items import ids_in
from dbt.adapters.spark_mt.resolution.reasons import NotAStreamError, Reason
from dbt.adapters.spark_mt.resolution.stream_flow import Flow, OutputMode, State, Times, merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt.adapters.spark_mt.resolution.analysis import PlanOperator

_JOIN = "Join"
_INNER = frozenset({"Inner", "Cross"})
_UNMATCHED = frozenset({"LeftOuter", "RightOuter", "FullOuter", "LeftSemi"})
_STREAM_LEFT = frozenset({"Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"})
_STREAM_RIGHT = frozenset({"Inner", "Cross", "RightOuter"})
_LEFT_ONLY = frozenset({"LeftSemi", "LeftAnti"})


def united(inputs: Sequence[Flow]) -> Flow:
    """Return the rows of a UNION ALL, of which at least one side is a stream.

    Raises:
        NotAStreamError: A side is no stream, or keeps state.
    """
    if not all(flow.streaming for flow in inputs):
        text = "it adds rows of a stream to rows that are none"
        raise NotAStreamError(Reason("UNION_WITH_STATIC", "Union", text))
    if any(set(flow.state) - {State.JOIN} for flow in inputs):
        text = "it adds groups of several sides together"
        raise NotAStreamError(Reason("UNION_OF_STATE", "Union", text))
    return replace(merged(inputs), output=inputs[0].output, times=Times())


def joined(node: PlanOperator, inputs: Sequence[Flow]) -> Flow:
    """Return the rows of a join, of which at least one side is a stream.

    Raises:
        NotAStreamError: Spark cannot run it, or the table would be wrong.
    """
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
            text = f"no watermark in its condition tells when a row has no partner ({kind})"
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
