"""Commit metadata of a plan's steps."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.codec import encode_definition
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    CommitMetadata,
    RefreshMetadata,
)
from dbt.adapters.spark_mt.definition.definition import EarlierRefresh, LastRefresh
from dbt.adapters.spark_mt.planning import steps
from dbt.adapters.spark_mt.strategies.strategy import Cost


def metadata_of(step: steps.Step | steps.WriteBatch) -> CommitMetadata:
    """Return the metadata of the commit of `step`, which must be a step that commits."""
    if isinstance(step, steps.Fill | steps.ApplyChanges | steps.WriteBatch):
        return _content(step)
    match step:
        case steps.FillPartitions(definition=definition):
            metadata = CommitMetadata(
                definition.table_id,
                CommitKind.PARTITION,
                step.seq,
                definition.generation,
                positions=step.table_positions,
                partition_positions=step.run.positions,
                refresh=_kept_metadata(step.table_refresh),
            )
        case steps.CommitDefinition(definition=definition):
            metadata = CommitMetadata(
                definition.table_id,
                CommitKind.ADOPTION if step.adopts else CommitKind.DEFINITION,
                step.seq,
                definition.generation,
                encode_definition(definition),
                step.positions,
                refresh=_kept_metadata(step.refresh),
            )
        case steps.ReserveSequence():
            metadata = CommitMetadata("", CommitKind.FENCE, step.seq, 0)
        case steps.Release():
            metadata = CommitMetadata(step.table_id, CommitKind.RELEASE, step.seq, step.generation)
        case steps.RemoveProperties():
            metadata = CommitMetadata("", CommitKind.PUBLISH, 0, 0)
        case steps.PrepareStorage() | steps.Publish() | steps.Recluster():
            of = step.definition
            metadata = CommitMetadata(of.table_id, CommitKind.PUBLISH, 0, of.generation)
        case _:
            raise TypeError(step)
    return metadata


def _content(step: steps.Fill | steps.ApplyChanges | steps.WriteBatch) -> CommitMetadata:
    run, definition = step.run, step.definition
    is_kept = isinstance(step, steps.WriteBatch) or not step.changes_definition
    others = dict(run.choice.costs)
    repeated = 1 + others.pop(run.strategy, Cost()).repeated
    earlier = tuple(
        EarlierRefresh(
            name, round(cost.seconds * 1000), cost.ago + 1, cost.source_rows, cost.is_cold
        )
        for name, cost in others.items()
        if cost.seconds is not None
    )
    return CommitMetadata(
        definition.table_id,
        CommitKind.CONTENT,
        step.seq,
        definition.generation,
        "" if is_kept else encode_definition(definition),
        run.positions,
        refresh=RefreshMetadata(
            run.refresh_id,
            run.strategy,
            run.trigger,
            run.started_at_ms,
            repeated,
            earlier,
            run.choice.source_rows,
            run.is_cold,
        ),
        stream=step.stream if isinstance(step, steps.WriteBatch) else None,
        foreign=() if isinstance(step, steps.Fill) else step.foreign,
        applied_to=step.version if isinstance(step, steps.ApplyChanges) else -1,
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
        refresh.source_rows,
        refresh.is_cold,
        refresh.unknown_keys,
    )
