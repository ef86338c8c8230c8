"""Why a table with a baseline cannot be brought up to date (semantics 7, "Baseline")."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

_STATE = "The refresh that meets this suspends the table, which keeps the rows it has. "
_RESTART = (
    "START_MODE = FROM_BEGINNING in CREATE OR ALTER (or ALTER MATERIALIZED TABLE … SET START_MODE "
    "= … AS) computes all rows from all source data, in the place of those that are there. "
    "START_MODE = FROM_NOW keeps them and skips what happened since; where it is the start mode "
    "already, store RESUME_OR_FROM_NOW first."
)
_REMEDY = _STATE + _RESTART


class BaselineBrokenError(MaterializedTableError):
    """A table with a baseline cannot follow its sources any more; it is suspended.

    Computing all of it again would bring rows in that its start mode left out, so nothing does
    that by itself.
    """

    condition = "MATERIALIZED_TABLE_BASELINE_BROKEN"
    text = "The materialized table {table} cannot follow its sources: {problem}."
    remedy = _REMEDY

    @property
    def reason(self) -> str:
        """What happened, as part of a sentence: why the table is suspended."""
        return self.reason_text.format_map(self.parameters)

    reason_text = "{problem}"


class SourceRewrittenError(BaselineBrokenError):
    """Rows of a source were removed or changed, and nothing tells which rows that reaches."""

    condition = "MATERIALIZED_TABLE_SOURCE_REWRITTEN"
    text = (
        "Rows of {source} were removed or changed after {after}, and which rows of the "
        "materialized table {table} that reaches cannot be told: {why}."
    )
    remedy = (
        _STATE + "Where a PRIMARY KEY is what the query groups by, or what tells its rows apart, "
        "declare it: then changed rows are followed. Otherwise " + _RESTART
    )
    reason_text = "rows of {source} were removed or changed after {after}, and {why}"


class SourceHistoryGoneError(BaselineBrokenError):
    """What happened in a source can no longer be read."""

    condition = "MATERIALIZED_TABLE_SOURCE_HISTORY_GONE"
    text = (
        "What happened to {source} after {after} can no longer be read, so that the materialized "
        "table {table} cannot follow it: its log or its files were cleaned up."
    )
    remedy = (
        _REMEDY + " From then on, refresh more often than the source's delta.logRetentionDuration "
        "and delta.deletedFileRetentionDuration, for a topic of Kafka retention.ms, or make these "
        "longer."
    )
    reason_text = "what happened to {source} after {after} can no longer be read"


class SourceMadeAnewError(BaselineBrokenError):
    """A source was dropped and created again."""

    condition = "MATERIALIZED_TABLE_SOURCE_MADE_ANEW"
    text = (
        "{source} was dropped and created again after {after}, so that the materialized table "
        "{table} cannot tell which of its rows are new."
    )
    remedy = _REMEDY
    reason_text = "{source} was dropped and created again"


class PositionsLostError(BaselineBrokenError):
    """Nobody knows up to where the rows reflect a source."""

    condition = "MATERIALIZED_TABLE_POSITIONS_LOST"
    text = (
        "Up to where the rows of the materialized table {table} reflect {source} is not known any "
        "more, so that what came since cannot be told."
    )
    remedy = _REMEDY
    reason_text = "up to where its rows reflect {source} is not known any more"


class PartitionUnderBaselineError(MaterializedTableError):
    """One partition would be computed over source rows that the table leaves out."""

    condition = "MATERIALIZED_TABLE_PARTITION_UNDER_BASELINE"
    text = (
        "Partitions of the materialized table {table} cannot be refreshed alone, because it keeps "
        "rows that its query does not account for ({baseline}); nothing was changed."
    )
    remedy = (
        "ALTER MATERIALIZED TABLE … REFRESH applies what changed in its sources. START_MODE = "
        "FROM_BEGINNING computes all rows from all source data; then partitions can be refreshed."
    )
