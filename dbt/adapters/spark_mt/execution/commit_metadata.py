"""Commit metadata of a plan's steps."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    EarlierRefresh,
    RefreshMetadata,
)
from dbt.adapters.spark_mt.planning.steps import (
    ApplyChanges,
    CommitDefinition,
    Fill,
    FillPartitions,
    PrepareStorage,
    Publish,
    Recluster,
    Release,
    RemoveProperties,
    ReserveSequence,
    Step,
    WriteBatch,
)
from dbt.adapters.spark_mt.strategies.strategy import NONE

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.table_state import LastRefresh
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


@singledispatch
def metadata_of(step: Step | WriteBatch) -> CommitMetadata:
    """Return the metadata of the commit of `step`, which must be a step that commits."""
    raise TypeError(step)


@metadata_of.register
def _(step: Fill) -> CommitMetadata:
    return _changed(step)


@metadata_of.register
def _(step: ApplyChanges) -> CommitMetadata:
    return replace(_changed(step), foreign=step.foreign)


@metadata_of.register
def _(step: WriteBatch) -> CommitMetadata:
    return replace(_content(step), stream=step.stream, foreign=step.foreign)


@metadata_of.register
def _(step: FillPartitions) -> CommitMetadata:
    return CommitMetadata(
        table_id=step.definition.table_id,
        kind=CommitKind.PARTITION,
        seq=step.seq,
        generation=step.definition.generation,
        positions=step.table_positions,
        partition_positions=step.run.positions,
        refresh=_kept_metadata(step.table_refresh),
    )


@metadata_of.register
def _(step: CommitDefinition) -> CommitMetadata:
    return CommitMetadata(
        table_id=step.definition.table_id,
        kind=CommitKind.ADOPTION if step.adopts else CommitKind.DEFINITION,
        seq=step.seq,
        generation=step.definition.generation,
        definition=encode_definition(step.definition),
        positions=step.positions,
        refresh=_kept_metadata(step.refresh),
    )


@metadata_of.register
def _(step: ReserveSequence) -> CommitMetadata:
    return CommitMetadata("", CommitKind.FENCE, step.seq, 0)


@metadata_of.register
def _(step: Release) -> CommitMetadata:
    return CommitMetadata(step.table_id, CommitKind.RELEASE, step.seq, step.generation)


@metadata_of.register
def _(step: RemoveProperties) -> CommitMetadata:  # noqa: ARG001 - one signature for all
    return CommitMetadata("", CommitKind.PUBLISH, 0, 0)


@metadata_of.register(PrepareStorage)
@metadata_of.register(Publish)
@metadata_of.register(Recluster)
def _(step: PrepareStorage | Publish | Recluster) -> CommitMetadata:
    definition = step.definition
    return CommitMetadata(definition.table_id, CommitKind.PUBLISH, 0, definition.generation)


def _changed(step: Fill | ApplyChanges) -> CommitMetadata:
    definition = encode_definition(step.definition) if step.changes_definition else ""
    return replace(_content(step), definition=definition)


def _content(step: Fill | ApplyChanges | WriteBatch) -> CommitMetadata:
    return CommitMetadata(
        table_id=step.definition.table_id,
        kind=CommitKind.CONTENT,
        seq=step.seq,
        generation=step.definition.generation,
        positions=step.run.positions,
        refresh=_refresh_metadata(step.run),
    )


def _refresh_metadata(run: RefreshRun) -> RefreshMetadata:
    strategy = run.strategy
    costs = {name: cost for name, cost in run.choice.costs if name != NONE}
    repeated = 1 + sum(cost.repeated for name, cost in costs.items() if name == strategy)
    earlier = tuple(
        EarlierRefresh(name, round(cost.seconds * 1000), cost.ago + 1)
        for name, cost in costs.items()
        if name != strategy and cost.seconds is not None
    )
    return RefreshMetadata(
        run.refresh_id, strategy, run.trigger, run.started_at_ms, repeated, earlier
    )


def _kept_metadata(refresh: LastRefresh | None) -> RefreshMetadata | None:
    if refresh is None:
        return None
    return RefreshMetadata(
        refresh.refresh_id,
        refresh.strategy,
        refresh.trigger,
        refresh.started_at_ms,
        refresh.repeated,
        refresh.earlier,
        refresh.unknown_keys,
    )
