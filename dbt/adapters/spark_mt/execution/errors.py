"""Errors of execution: tables, sources, baselines and hosting."""

from __future__ import annotations

import re

from dbt.adapters.spark_mt.definition.errors import DefinitionChangeError, MaterializedTableError


def problem_of(error: BaseException) -> str:
    """Return the text of `error`; of an error of another library the first line only.

    What the operating system said is added: it is often the innermost of many causes.
    """
    if isinstance(error, MaterializedTableError):
        return str(error.args[0])
    text = str(error).strip()
    if hasattr(error, "java_exception"):  # py4j's: which call failed, and then what was thrown
        text = text.partition("\n: ")[2] or text
    line = text.partition("\n")[0] or type(error).__name__
    stacks = (getattr(error, name, None) for name in _STACKS)
    return with_system_problem(line, text, *(str(stack or "") for stack in stacks))


_STACKS = ("_stackTrace", "_stacktrace")
"""Where exceptions of PySpark keep the stack of the JVM: in this process, and over Connect."""
_SYSTEM_PROBLEMS = re.compile(
    "No space left on device|Disk quota exceeded|Read-only file system|Too many open files|"
    "Input/output error|Stale file handle|Permission denied|Cannot allocate memory"
)


def with_system_problem(message: str, *texts: str) -> str:
    """Add to a message what the operating system said, by texts that have the causes."""
    for text in texts:
        found = _SYSTEM_PROBLEMS.search(text)
        if found is not None and found[0] not in message:
            return f"{message.rstrip('.')} ({found[0]})"
    return message


class SystemTableGoneError(MaterializedTableError):
    """A system table of a manager is not there any more."""

    condition = "MATERIALIZED_TABLE_SYSTEM_TABLE_GONE"
    text = (
        "The system table {table} is gone: another session dropped it, or the warehouse was "
        "deleted or moved."
    )
    remedy = (
        "Restore the warehouse and start the manager again; it makes its tables where they are "
        "missing, and `spark-mt repair` writes the registry again from the tables that are there."
    )


class UnexpectedError(MaterializedTableError):
    """A statement ended with an error that no part of it expects; the cause is attached."""

    condition = "MATERIALIZED_TABLE_UNEXPECTED_ERROR"
    text = "An error that was not expected ended the statement: {problem}"
    remedy = (
        "Every table is as its last commit left it, because a commit is made whole or not at all. "
        "If Spark, the storage or the network failed, correct that and run the statement again: it "
        "costs what it would have cost. Otherwise report it to the project with this text and the "
        "stack of its cause, which --debug prints (dbt --debug, spark-mt --debug)."
    )


class OtherStatementError(MaterializedTableError, TypeError):
    """A method of the API takes CREATE MATERIALIZED TABLE, and got another statement."""

    condition = "MATERIALIZED_TABLE_OTHER_STATEMENT"
    text = "Expected {expected} MATERIALIZED TABLE, but got: {statement}"
    remedy = "Pass the expected statement, or carry this one out with `execute`; nothing was done."


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
        "good. In dbt, `adopt: true` takes a plain table that has versions and the same columns "
        "over with its rows, files and history, for one commit; --full-refresh replaces it by a "
        "table whose rows are all computed from the sources that exist today."
    )


class InvalidNameError(MaterializedTableError):
    """No table can be created under the name."""

    condition = "MATERIALIZED_TABLE_INVALID_NAME"
    text = "{table} cannot be created: {problem}."
    remedy = "Choose another name, or CREATE SCHEMA first; nothing was changed."


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
    """The directory that the user names has files that are not of this table."""

    condition = "MATERIALIZED_TABLE_LOCATION_TAKEN"
    text = (
        "The location {location} of the materialized table {table} holds files that are not of "
        "this table; nothing was changed."
    )
    remedy = "Choose another location, or remove the directory first, which loses what is in it."


class InconsistentTableError(MaterializedTableError):
    """The table was changed by other means, and its definition no longer fits it."""

    condition = "MATERIALIZED_TABLE_CHANGED_OUTSIDE"
    text = (
        "The materialized table {table} was changed by other means: {problem}. Nothing was changed."
    )
    remedy = (
        "RESTORE TABLE to the version before brings it back as it was. CREATE OR REPLACE "
        "MATERIALIZED TABLE (in dbt --full-refresh) creates it again, which computes the whole "
        "table."
    )


class SourceNotFoundError(MaterializedTableError):
    """A source was there when the query was analysed and is gone now."""

    condition = "MATERIALIZED_TABLE_SOURCE_NOT_FOUND"
    text = "The source {source} no longer exists or cannot be read: {problem}"
    remedy = "The table keeps the rows it has. Bring the source back and run the statement again."


class NoCommitsError(MaterializedTableError):
    """No commits show when the rows of a relation changed."""

    condition = "MATERIALIZED_TABLE_FRESHNESS_WITHOUT_COMMITS"
    text = "No commits show when {table} was loaded: {problem}."
    remedy = (
        "Set `loaded_at_field` or `loaded_at_query` on the source in dbt; it then reads the rows, "
        "which costs a query of them at each check."
    )


class BusySourcesError(MaterializedTableError):
    """The sources changed too often to read all of them in one state."""

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


class SourceFilesGoneError(RefreshFailedError):
    """Files of an earlier version of a source, which a change was to be read from, are gone."""

    condition = "MATERIALIZED_TABLE_SOURCE_FILES_GONE"
    text = (
        "Files of {sources} at an earlier version were removed, so that what changed for "
        "the materialized table {table} cannot be read: {problem}"
    )


class ExecutorLostError(MaterializedTableError):
    """Rows that were kept for a write were lost with their executor: the plan is made again."""

    condition = "MATERIALIZED_TABLE_EXECUTOR_LOST"
    text = "Executors of Spark were lost while they computed rows of {table}, several times."
    remedy = (
        "Nothing was changed. Run the statement again when the cluster is whole; it computes the "
        "rows from the beginning."
    )


class RefreshNotIncrementalError(MaterializedTableError):
    """A refresh must compute all rows, and the option `incremental` is `strict`."""

    condition = "MATERIALIZED_TABLE_REFRESH_NOT_INCREMENTAL"
    text = (
        "This refresh of the materialized table {table} must compute all rows, which its option "
        "'incremental' = 'strict' forbids. The table keeps the rows it has:"
    )
    remedy = (
        "spark-mt refresh {table} --force (in Python: refresh(…, force=True)) computes all rows "
        "once. 'incremental' = 'auto' lets every refresh do so where it must; the option costs one "
        "small commit."
    )


class ChangeFailedError(MaterializedTableError):
    """Spark could not store a change that computes no rows."""

    condition = "MATERIALIZED_TABLE_CHANGE_FAILED"
    text = "The materialized table {table} was not changed, it is as it was: {problem}"
    remedy = "Run the statement again when the cause is gone; nothing has to be repaired."


class OutcomeUnknownError(MaterializedTableError):
    """Spark was gone before it returned whether a change was committed."""

    condition = "MATERIALIZED_TABLE_OUTCOME_UNKNOWN"
    text = (
        "Spark no longer answers, so it is not known whether the materialized table {table} was "
        "changed; it is either as before or changed completely: {problem}"
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
        "takes over appended columns, and with the option 'schema.type-widening' = 'true' wider "
        "types; it keeps the history of the table and fills it again. Other changes need CREATE OR "
        "REPLACE (in dbt: --full-refresh), which computes the whole table again."
    )


class UnfinishedChangeError(MaterializedTableError):
    """The change is committed, but properties or comments could not be written."""

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
    """A clustered table cannot be replaced by a partitioned one in place."""

    condition = "MATERIALIZED_TABLE_CANNOT_PARTITION_CLUSTERED"
    text = "{table} was clustered, and a clustered table cannot become a partitioned one in place."
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
    remedy = "Nothing was changed. ALTER MATERIALIZED TABLE {table} RESUME activates it again."


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
    remedy = "ALTER MATERIALIZED TABLE {table} RESUME refreshes it once and activates it again."


class TableInitializingError(MaterializedTableError):
    """A statement needs a table that another process is creating at this moment."""

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
    """DESC JOB names a refresh that the log does not have."""

    condition = "MATERIALIZED_TABLE_JOB_NOT_FOUND"
    text = "There is no job '{job_id}' in the log of refreshes of the catalog {catalog}."
    remedy = (
        "SHOW JOBS lists the refreshes of the last 30 days of the current catalog's tables; those "
        "of another catalog are shown after USE CATALOG."
    )


class SourceWithoutTimeError(MaterializedTableError):
    """A table starts at an instant, but a source does not record its contents at that time."""

    condition = "MATERIALIZED_TABLE_SOURCE_WITHOUT_TIME"
    text = (
        "The source {source} has the format {format}, which does not record when its rows were "
        "added: no table can start at an instant of it."
    )
    remedy = (
        "START_MODE = FROM_BEGINNING reads all that the source holds; a WHERE on a column of the "
        "query leaves out older rows, for the cost of reading them once."
    )


class SourceOnlyStreamsError(MaterializedTableError):
    """A source can only be read as a stream, but the query must read it as a whole."""

    condition = "MATERIALIZED_TABLE_SOURCE_ONLY_STREAMS"
    text = (
        "The source {source} has the format {format}: it can be followed as a stream and has no "
        "rows that could be read as a whole."
    )
    remedy = (
        "Let the table be CONTINUOUS with a query that can run as a stream, or write the source's "
        "rows to a table with versions first and read that, which stores them once more."
    )


class LogHistoryLostError(MaterializedTableError):
    """A statement computes all rows again, but a log no longer has the records of some of them."""

    condition = "MATERIALIZED_TABLE_LOG_HISTORY_LOST"
    text = (
        "Computing all rows of materialized table {table} would lose those that its log has "
        "dropped since: {loss}."
    )
    remedy = (
        "START_MODE = RESUME_OR_FROM_BEGINNING keeps the rows and resumes at their positions, "
        "without any cost. To drop the older rows, use START_MODE = FROM_BEGINNING, or dbt run "
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


_STATE = "The refresh that meets this suspends the table, which keeps the rows it has. "
_RESTART = (
    "START_MODE = FROM_BEGINNING in CREATE OR ALTER (or ALTER MATERIALIZED TABLE … SET START_MODE "
    "= … AS) computes all rows from all source data, in the place of those that are there. "
    "START_MODE = FROM_NOW keeps them and skips what happened since; where it is the start mode "
    "already, store RESUME_OR_FROM_NOW first."
)
_REMEDY = _STATE + _RESTART


class BaselineBrokenError(MaterializedTableError):
    """A table with a baseline can no longer follow its sources; it is suspended.

    Computing all of it again would add rows that its start mode excludes, so that is never done
    automatically.
    """

    condition = "MATERIALIZED_TABLE_BASELINE_BROKEN"
    text = "The materialized table {table} cannot follow its sources: {problem}."
    remedy = _REMEDY

    @property
    def reason(self) -> str:
        """The cause of the suspension, as part of a sentence."""
        return self.reason_text.format_map(self.parameters)

    reason_text = "{problem}"


class SourceRewrittenError(BaselineBrokenError):
    """Rows of a source were removed or changed, and the affected rows cannot be found."""

    condition = "MATERIALIZED_TABLE_SOURCE_REWRITTEN"
    text = (
        "Rows of {source} were removed or changed after {after}, and the affected rows of the "
        "materialized table {table} cannot be found: {why}."
    )
    remedy = (
        _STATE + "If a PRIMARY KEY is what the query groups by, or what distinguishes its rows, "
        "declare it: then changed rows are followed. Otherwise " + _RESTART
    )
    reason_text = "rows of {source} were removed or changed after {after}, and {why}"


class SourceHistoryGoneError(BaselineBrokenError):
    """Changes of a source can no longer be read."""

    condition = "MATERIALIZED_TABLE_SOURCE_HISTORY_GONE"
    text = (
        "What happened to {source} after {after} can no longer be read, so that the materialized "
        "table {table} cannot follow it: its log or its files were cleaned up."
    )
    remedy = (
        _REMEDY + " From then on, refresh more often than the source's history is removed "
        "({retention}, for a topic of Kafka retention.ms), or make these longer."
    )
    reason_text = "what happened to {source} after {after} can no longer be read"


class SourceTypesChangedError(BaselineBrokenError):
    """Columns of a source have other types than when the rows of the table were computed."""

    condition = "MATERIALIZED_TABLE_SOURCE_TYPES_CHANGED"
    text = (
        "The query of the materialized table {table} may make other values of rows that {source} "
        "had at {after} already, because {changes}."
    )
    remedy = _REMEDY
    reason_text = "{changes} since {after}"


class SourceRecreatedError(BaselineBrokenError):
    """A source was dropped and created again."""

    condition = "MATERIALIZED_TABLE_SOURCE_RECREATED"
    text = (
        "{source} was dropped and created again after {after}, so that its new rows cannot be "
        "determined for the materialized table {table}."
    )
    remedy = _REMEDY
    reason_text = "{source} was dropped and created again"


class PositionsLostError(BaselineBrokenError):
    """The position up to which the rows reflect a source is not known."""

    condition = "MATERIALIZED_TABLE_POSITIONS_LOST"
    text = (
        "The position up to which the rows of the materialized table {table} reflect {source} is "
        "no longer known, so that later changes cannot be determined."
    )
    remedy = _REMEDY
    reason_text = "up to where its rows reflect {source} is not known any more"


class PartitionUnderBaselineError(MaterializedTableError):
    """One partition would be computed over source rows that the table excludes."""

    condition = "MATERIALIZED_TABLE_PARTITION_UNDER_BASELINE"
    text = (
        "Partitions of the materialized table {table} cannot be refreshed alone, because it keeps "
        "rows that its query does not account for ({baseline}); nothing was changed."
    )
    remedy = (
        "ALTER MATERIALIZED TABLE … REFRESH applies what changed in its sources. START_MODE = "
        "FROM_BEGINNING computes all rows from all source data; then partitions can be refreshed."
    )


class NotHostedError(MaterializedTableError):
    """The table is not hosted in this process."""

    condition = "MATERIALIZED_TABLE_NOT_HOSTED"
    text = "The materialized table {table} is not kept fresh by this process."
    remedy = (
        "Start it: MaterializedTables(spark).start('{table}'); that costs a thread of the driver."
    )


class HostingOverConnectError(MaterializedTableError):
    """A Connect client cannot host: streams run in the driver's process."""

    condition = "MATERIALIZED_TABLE_HOSTING_OVER_CONNECT"
    text = (
        "A session of Spark Connect cannot keep tables fresh: streams run in the driver's process."
    )
    remedy = (
        "Call start() in the driver, with a classic session. ALTER MATERIALIZED TABLE … REFRESH "
        "works here too, at the cost of what the sources gained or of the whole query."
    )


class NotFreshError(MaterializedTableError):
    """A table does not reflect its sources within the time that a caller waits for it."""

    condition = "MATERIALIZED_TABLE_NOT_FRESH"
    text = (
        "The materialized table {table} does not reflect its sources after {seconds} seconds; it "
        "is {phase}{problem}."
    )
    remedy = (
        "Wait longer, or correct what it names. ALTER MATERIALIZED TABLE {table} REFRESH brings it "
        "up to date at once, at the cost of what its sources gained or of the whole query."
    )


class StreamNotStartedError(MaterializedTableError):
    """The query cannot be run as a stream."""

    condition = "MATERIALIZED_TABLE_STREAM_NOT_STARTED"
    text = "The stream of materialized table {table} could not be started: {problem}."
    remedy = (
        "The table keeps its rows. ALTER MATERIALIZED TABLE {table} REFRESH brings it up to date "
        "once, at the cost of what its sources gained or of the whole query."
    )


class NotContinuousError(MaterializedTableError):
    """A host can refresh only a table in mode CONTINUOUS."""

    condition = "MATERIALIZED_TABLE_NOT_CONTINUOUS"
    text = "The materialized table {table} is refreshed in mode FULL, which nothing can follow."
    remedy = (
        "ALTER MATERIALIZED TABLE … SET REFRESH_MODE = CONTINUOUS, which computes no row; or let a "
        "scheduler run its refreshes."
    )


class CheckpointLostError(MaterializedTableError):
    """The checkpoint of a stream is not the one that belongs to the table's rows."""

    condition = "MATERIALIZED_TABLE_CHECKPOINT_LOST"
    text = (
        "The stream of materialized table {table} cannot continue: its checkpoint {checkpoint} is "
        "gone, or has another state than that of the table's rows."
    )
    remedy = (
        "ALTER MATERIALIZED TABLE {table} REFRESH builds rows and state together again, at the "
        "cost of reading all source data."
    )


class StreamsOverConnectError(MaterializedTableError):
    """A Connect client cannot refresh a table whose rows are the output of a stream."""

    condition = "MATERIALIZED_TABLE_STREAMS_OVER_CONNECT"
    text = (
        "The rows of materialized table {table} come out of a stream with a checkpoint ({reason}), "
        "and a session of Spark Connect cannot run it: streams run in the driver itself."
    )
    remedy = (
        "Send the statement to a refresh manager, which works in its driver (`dbt` does so where "
        "one serves the session), or use a classic session (method: session in the profile), or "
        "write a query that can be computed as a whole, over tables with versions."
    )


class NotPlannableError(MaterializedTableError):
    """A plan was requested for a statement that changes no definition."""

    condition = "MATERIALIZED_TABLE_NOT_PLANNABLE"
    text = "A plan can be made of CREATE and of ALTER of a definition, but not of: {statement}"
    remedy = "Send such a statement; planning it changes nothing."


class WaitTimeoutError(MaterializedTableError):
    """A table is not started, or not fresh, within the time."""

    condition = "MATERIALIZED_TABLE_WAIT_TIMEOUT"
    text = "The materialized table {table} is not {wanted} after {seconds} seconds: {problem}."
    remedy = (
        "The manager's page and DESC EXTENDED show the cause; raise `at_most` of the model's "
        "config `wait`, or set it to none. The definition is stored, and the manager continues; "
        "nothing else was changed."
    )


class StartModeChangeError(DefinitionChangeError):
    """A start mode would take effect that this query over these sources does not allow."""

    condition = "MATERIALIZED_TABLE_UNSUPPORTED_START_MODE_CHANGE"
    text = (
        "Materialized table {table}: START_MODE = {startMode} would take effect, because {reason}, "
        "and that is not possible: {problem}."
    )
    remedy = (
        "Use START_MODE = FROM_BEGINNING, which computes all rows from all source data in the "
        "place of those that are there; or {alternative}; or REFRESH_MODE = FULL, where the start "
        "mode has no effect and each refresh computes all rows."
    )
