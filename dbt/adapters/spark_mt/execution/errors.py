"""Why a statement cannot be carried out, beyond what its text and definition tell."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


def problem_of(error: BaseException) -> str:
    """Say in the words of `error` what went wrong: all of ours, of another's what is no stack."""
    if isinstance(error, MaterializedTableError):
        return str(error.args[0])
    return str(error).strip().partition("\n")[0] or type(error).__name__


class TableNotFoundError(MaterializedTableError):
    """There is no such table."""

    condition = "MATERIALIZED_TABLE_NOT_FOUND"
    text = "The materialized table {table} does not exist."
    remedy = (
        "SHOW MATERIALIZED TABLES lists those of a schema; CREATE MATERIALIZED TABLE makes one."
    )


class NotMaterializedError(MaterializedTableError):
    """Something else has this name."""

    condition = "MATERIALIZED_TABLE_EXPECTED"
    text = "{table} is a {kind}, not a materialized table; nothing was changed."
    remedy = (
        "Choose another name, or drop the {kind} first; dropping a table removes its rows for "
        "good. In dbt, `adopt: true` takes a Delta table of the same columns over with its rows, "
        "files and history, for one commit; --full-refresh replaces it by a table whose rows are "
        "all computed from the sources that exist today."
    )


class TableExistsError(MaterializedTableError):
    """A plain CREATE finds the name taken by a materialized table."""

    condition = "MATERIALIZED_TABLE_ALREADY_EXISTS"
    text = "The materialized table {table} already exists."
    remedy = (
        "CREATE OR ALTER MATERIALIZED TABLE compares it with the statement and changes what "
        "differs, which fills it again only where its content changes; CREATE MATERIALIZED TABLE "
        "IF NOT EXISTS leaves it as it is."
    )


class LocationTakenError(MaterializedTableError):
    """The directory that the user names holds files of something else."""

    condition = "MATERIALIZED_TABLE_LOCATION_TAKEN"
    text = (
        "The location {location} of the materialized table {table} holds files that are not of "
        "this table; nothing was changed."
    )
    remedy = "Choose another location, or remove the directory first, which loses what is in it."


class DamagedTableError(MaterializedTableError):
    """The table was changed by other means, and its definition no longer fits it."""

    condition = "MATERIALIZED_TABLE_CHANGED_OUTSIDE"
    text = (
        "The materialized table {table} was changed by other means: {problem}. Nothing was changed."
    )
    remedy = (
        "RESTORE TABLE to the version before brings it back as it was. CREATE OR REPLACE "
        "MATERIALIZED TABLE (in dbt --full-refresh) makes it anew, which computes the whole table."
    )


class SourceNotFoundError(MaterializedTableError):
    """A source was there when the query was analysed and is gone now."""

    condition = "MATERIALIZED_TABLE_SOURCE_NOT_FOUND"
    text = "The source {source} no longer exists or cannot be read: {problem}"
    remedy = "The table keeps the rows it has. Bring the source back and run the statement again."


class BusySourcesError(MaterializedTableError):
    """The sources never stood still long enough to read them all in one state."""

    condition = "MATERIALIZED_TABLE_SOURCES_TOO_BUSY"
    text = (
        "The sources {sources} changed during each of {attempts} attempts to read them in one "
        "state."
    )
    remedy = (
        "The table keeps the rows it has. Refresh again when they change less often, or write the "
        "query such that its sources can be read as of a version: {reason}."
    )


class ConstraintViolatedError(MaterializedTableError):
    """The rows break a declared key or check."""

    condition = "MATERIALIZED_TABLE_CONSTRAINT_VIOLATED"
    text = "Rows of the materialized table {table} violate its constraints; nothing was changed."
    remedy = (
        "Correct the sources or the query, or drop the constraint; then run the statement again, "
        "which computes the table once more."
    )


class PositionsNotReadableError(MaterializedTableError):
    """Some partitions alone cannot be computed over the state that the others reflect."""

    condition = "MATERIALIZED_TABLE_POSITIONS_NOT_READABLE"
    text = (
        "The partitions cannot be computed over the state of {sources} that the table's other rows "
        "reflect: {problem}. The table keeps the rows it has."
    )
    remedy = "ALTER MATERIALIZED TABLE … REFRESH computes the whole table over the newest state."


class RefreshFailedError(MaterializedTableError):
    """Spark could not compute or write the rows."""

    condition = "MATERIALIZED_TABLE_REFRESH_FAILED"
    text = (
        "The rows of the materialized table {table} could not be computed or written, nothing was "
        "changed: {problem}"
    )
    remedy = "Remove the cause and run the statement again, which computes the rows once more."


class ChangeFailedError(MaterializedTableError):
    """Spark could not store a change that computes no rows."""

    condition = "MATERIALIZED_TABLE_CHANGE_FAILED"
    text = "The materialized table {table} was not changed, it is as it was: {problem}"
    remedy = "Run the statement again when the cause is gone; nothing has to be repaired."


class OutcomeUnknownError(MaterializedTableError):
    """Spark was gone before it said whether a change was committed."""

    condition = "MATERIALIZED_TABLE_OUTCOME_UNKNOWN"
    text = (
        "Spark does not answer any more, so nobody knows whether the materialized table {table} "
        "was changed; it is as before or as it shall be, nothing between: {problem}"
    )
    remedy = (
        "Run the statement again when Spark, or the refresh manager, is back: it does what is left "
        "to do, and nothing if all was done."
    )


class RefreshSchemaError(MaterializedTableError):
    """The query's result no longer has the columns that the table has."""

    condition = "MATERIALIZED_TABLE_RESULT_CHANGED"
    text = "The query of the materialized table {table} no longer returns the columns of the table."
    remedy = (
        "The table keeps the rows it has. CREATE OR ALTER MATERIALIZED TABLE with the same query "
        "takes over appended columns and fills the table again; other changes need CREATE OR "
        "REPLACE (in dbt: --full-refresh), which computes the whole table anew."
    )


class UnfinishedChangeError(MaterializedTableError):
    """The change is committed, but what follows from it could not all be written."""

    condition = "MATERIALIZED_TABLE_UNFINISHED_CHANGE"
    text = (
        "The change of the materialized table {table} is committed and in force, but its "
        "properties or comments could not be written: {problem}"
    )
    remedy = "The next statement on the table finishes this; it costs one small commit."


class UnknownPartitionKeyError(MaterializedTableError):
    """REFRESH PARTITION names columns that the table is not partitioned by."""

    condition = "MATERIALIZED_TABLE_UNKNOWN_PARTITION_KEY"
    text = (
        "Cannot refresh partitions of {table}. The partition spec contains unknown partition keys: "
        "{keys}."
    )
    remedy = "The table's partition columns are: {available}. Nothing was changed."


class InvalidPartitionValueError(MaterializedTableError):
    """A literal of REFRESH PARTITION does not fit its column."""

    condition = "MATERIALIZED_TABLE_INVALID_PARTITION_VALUE"
    text = "The value {literal} cannot be cast to the type {type} of partition column {column}."
    remedy = "Write a literal that Spark casts to {type}; nothing was changed."


class PartitionedReplaceError(MaterializedTableError):
    """Delta cannot replace a clustered table by a partitioned one in place."""

    condition = "MATERIALIZED_TABLE_CANNOT_PARTITION_CLUSTERED"
    text = "{table} was clustered, and Delta cannot turn a clustered table into a partitioned one."
    remedy = (
        "DROP MATERIALIZED TABLE and CREATE it again; readers miss it in between, and all rows are "
        "computed again."
    )


class WidenedWhileSuspendedError(MaterializedTableError):
    """Wider types would rewrite the rows of a table that the user has suspended."""

    condition = "MATERIALIZED_TABLE_WIDENED_WHILE_SUSPENDED"
    text = "{table} is suspended, so its rows are not rewritten; nothing was changed:"
    remedy = "RESUME the table first, then widen its columns; that computes the whole table again."


class AlreadySuspendedError(MaterializedTableError):
    """SUSPEND finds the table suspended (message of Flink)."""

    condition = "MATERIALIZED_TABLE_ALREADY_SUSPENDED"
    text = "The refresh of materialized table {table} has been suspended already{reason}."
    remedy = "Nothing was changed. ALTER MATERIALIZED TABLE {table} RESUME goes on with it."


class AlreadyResumedError(MaterializedTableError):
    """RESUME finds the table active (message of Flink)."""

    condition = "MATERIALIZED_TABLE_ALREADY_RESUMED"
    text = "The refresh of materialized table {table} has been resumed already; it is ACTIVATED."
    remedy = (
        "Nothing was changed. ALTER MATERIALIZED TABLE {table} REFRESH brings it up to date now; "
        "to give it other run options, SUSPEND it first."
    )


class SuspendedError(MaterializedTableError):
    """A scheduled run finds the table suspended."""

    condition = "MATERIALIZED_TABLE_SUSPENDED"
    text = "The materialized table {table} is suspended{reason}; the scheduled run wrote nothing."
    remedy = "ALTER MATERIALIZED TABLE {table} RESUME goes on with it and refreshes it once."


class TableInitializingError(MaterializedTableError):
    """A statement needs a table that somebody else is creating at this moment."""

    condition = "MATERIALIZED_TABLE_INITIALIZING"
    text = (
        "The materialized table {table} is INITIALIZING: {owner} has been filling it for the first "
        "time since {since}. There are no rows yet; nothing was changed."
    )
    remedy = (
        "Run the statement again when SHOW JOBS says that it has finished. If the creator is gone "
        "for good, the name is free again within a minute; CREATE OR ALTER MATERIALIZED TABLE need "
        "not wait, at the cost of computing the rows once more."
    )


class JobNotFoundError(MaterializedTableError):
    """DESC JOB names a refresh that the log does not know."""

    condition = "MATERIALIZED_TABLE_JOB_NOT_FOUND"
    text = "There is no job '{job_id}' in the log of refreshes of the catalog {catalog}."
    remedy = (
        "SHOW JOBS lists the refreshes of the last 30 days of the current catalog's tables; those "
        "of another catalog are shown after USE CATALOG."
    )
