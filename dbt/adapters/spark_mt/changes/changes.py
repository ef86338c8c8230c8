"""What can differ between two definitions: a closed union of values."""

from __future__ import annotations

from dbt.adapters.spark_mt.changes.clause_changes import (
    CheckAdded,
    CheckDropped,
    ClusteringChanged,
    ColumnCommentChanged,
    ColumnNullabilityChanged,
    CommentChanged,
    FreshnessChanged,
    OptionReset,
    OptionSet,
    PartitioningChanged,
    PrimaryKeyChanged,
    RefreshModeChanged,
    StartModeChanged,
    StateRetentionChanged,
)
from dbt.adapters.spark_mt.changes.effect import Effect
from dbt.adapters.spark_mt.changes.query_changes import (
    ColumnListChanged,
    ColumnMismatch,
    ColumnsAppended,
    ColumnsMismatched,
    ColumnTypeWidened,
    ConfChanged,
    QueryChanged,
)

__all__ = [
    "Change",
    "CheckAdded",
    "CheckDropped",
    "ClusteringChanged",
    "ColumnCommentChanged",
    "ColumnListChanged",
    "ColumnMismatch",
    "ColumnNullabilityChanged",
    "ColumnTypeWidened",
    "ColumnsAppended",
    "ColumnsMismatched",
    "CommentChanged",
    "ConfChanged",
    "Effect",
    "FreshnessChanged",
    "OptionReset",
    "OptionSet",
    "PartitioningChanged",
    "PrimaryKeyChanged",
    "QueryChanged",
    "RefreshModeChanged",
    "StartModeChanged",
    "StateRetentionChanged",
]

Change = (
    QueryChanged
    | ColumnListChanged
    | ColumnsAppended
    | ColumnTypeWidened
    | ColumnsMismatched
    | ColumnNullabilityChanged
    | ColumnCommentChanged
    | CommentChanged
    | FreshnessChanged
    | RefreshModeChanged
    | StartModeChanged
    | StateRetentionChanged
    | OptionSet
    | OptionReset
    | PrimaryKeyChanged
    | CheckAdded
    | CheckDropped
    | PartitioningChanged
    | ClusteringChanged
    | ConfChanged
)
