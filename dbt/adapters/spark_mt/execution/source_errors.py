"""Why a source cannot be read in the way that was asked for."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


class SourceWithoutTimeError(MaterializedTableError):
    """A table shall start at an instant, and a source cannot tell what it held then."""

    condition = "MATERIALIZED_TABLE_SOURCE_WITHOUT_TIME"
    text = (
        "The source {source} has the format {format}, which does not tell since when its rows are "
        "there: nothing can start at an instant of it."
    )
    remedy = (
        "START_MODE = FROM_BEGINNING reads all that the source holds; a WHERE on a column of the "
        "query leaves out older rows, for the cost of reading them once."
    )


class SourceOnlyStreamsError(MaterializedTableError):
    """A source has no rows at rest, and shall be read as a whole."""

    condition = "MATERIALIZED_TABLE_SOURCE_ONLY_STREAMS"
    text = (
        "The source {source} has the format {format}: it can be followed as a stream and has no "
        "rows that could be read as a whole."
    )
    remedy = (
        "Let the table be CONTINUOUS with a query that can run as a stream, or write the source's "
        "rows to a Delta table first and read that, which stores them once more."
    )


class LogHistoryLostError(MaterializedTableError):
    """All rows shall be computed anew, and a log no longer has what made some of them."""

    condition = "MATERIALIZED_TABLE_LOG_HISTORY_LOST"
    text = (
        "Computing all rows of materialized table {table} would lose those that its log has "
        "dropped since: {loss}."
    )
    remedy = (
        "START_MODE = RESUME_OR_FROM_BEGINNING keeps the rows and goes on from where they stand, "
        "without any cost. To give the older rows up, say START_MODE = FROM_BEGINNING, or dbt run "
        "--full-refresh: both read what the log still has."
    )


class OffsetInsideCommitError(MaterializedTableError):
    """A stream stopped in the middle of a commit of its source."""

    condition = "MATERIALIZED_TABLE_OFFSET_INSIDE_COMMIT"
    text = (
        "A batch over the source {source} ended inside one of its commits ({offset}): there is no "
        "version of the source that the rows could be compared with."
    )
    remedy = (
        "Remove the options `maxFilesPerTrigger` and `maxBytesPerTrigger` of the source; the table "
        "keeps the rows it has."
    )
