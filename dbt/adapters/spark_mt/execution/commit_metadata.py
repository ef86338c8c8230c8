"""Commit metadata of a plan's steps."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.commit_metadata import CommitFacts, CommitKind, RefreshFacts
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    Fill,
    FillPartitions,
    PrepareStorage,
    Publish,
    RaiseFence,
    Recluster,
    Release,
    Step,
    Unpublish,
    WriteBatch,
)

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.table_state import LastRefresh
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


@singledispatch
def facts_of(step: Step | WriteBatch) -> CommitFacts:
    """Return the facts for the commit of `step`, which must be a step that commits to the table."""
    raise TypeError(step)


@facts_of.register
def _(step: Fill) -> CommitFacts:
    return _changed(step)


@facts_of.register
def _(step: ApplyChanges) -> CommitFacts:
    return replace(_changed(step), foreign=step.foreign)


@facts_of.register
def _(step: WriteBatch) -> CommitFacts:
    return replace(_content(step), stream=step.stream, foreign=step.foreign)


@facts_of.register
def _(step: FillPartitions) -> CommitFacts:
    return CommitFacts(
        table_id=step.definition.table_id,
        kind=CommitKind.PARTITION,
        seq=step.seq,
        generation=step.definition.generation,
        positions=step.table_positions,
        partition_positions=step.run.positions,
        refresh=_kept_facts(step.table_refresh),
    )


@facts_of.register
def _(step: CommitDefinition) -> CommitFacts:
    return CommitFacts(
        table_id=step.definition.table_id,
        kind=CommitKind.ADOPTION if step.adopts else CommitKind.DEFINITION,
        seq=step.seq,
        generation=step.definition.generation,
        definition=encode_definition(step.definition),
        positions=step.positions,
        refresh=_kept_facts(step.refresh),
    )


@facts_of.register
def _(step: RaiseFence) -> CommitFacts:
    return CommitFacts("", CommitKind.FENCE, step.seq, 0)


@facts_of.register
def _(step: Release) -> CommitFacts:
    return CommitFacts(step.table_id, CommitKind.RELEASE, step.seq, step.generation)


@facts_of.register
def _(step: Unpublish) -> CommitFacts:  # noqa: ARG001 - one signature for all
    return CommitFacts("", CommitKind.PUBLISH, 0, 0)


@facts_of.register(PrepareStorage)
@facts_of.register(Publish)
@facts_of.register(Recluster)
def _(step: PrepareStorage | Publish | Recluster) -> CommitFacts:
    definition = step.definition
    return CommitFacts(definition.table_id, CommitKind.PUBLISH, 0, definition.generation)


def _changed(step: Fill | ApplyChanges) -> CommitFacts:
    definition = encode_definition(step.definition) if step.changes_definition else ""
    return replace(_content(step), definition=definition)


def _content(step: Fill | ApplyChanges | WriteBatch) -> CommitFacts:
    return CommitFacts(
        table_id=step.definition.table_id,
        kind=CommitKind.CONTENT,
        seq=step.seq,
        generation=step.definition.generation,
        positions=step.run.positions,
        refresh=_refresh_facts(step.run),
    )


def _refresh_facts(run: RefreshRun) -> RefreshFacts:
    return RefreshFacts(run.refresh_id, run.strategy, run.trigger, run.started_at_ms)


def _kept_facts(refresh: LastRefresh | None) -> RefreshFacts | None:
    if refresh is None:
        return None
    return RefreshFacts(
        refresh.refresh_id,
        refresh.strategy,
        refresh.trigger,
        refresh.started_at_ms,
        refresh.unknown_keys,
    )
