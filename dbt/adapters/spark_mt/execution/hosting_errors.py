"""What keeps a table from being kept fresh by a host."""

from __future__ import annotations

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError


class NotHostedError(MaterializedTableError):
    """Nobody keeps the table fresh in this process."""

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
    """A table does not reflect its sources within the time that somebody waits for it."""

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
    """Only a table in mode CONTINUOUS can be followed by a host."""

    condition = "MATERIALIZED_TABLE_NOT_CONTINUOUS"
    text = "The materialized table {table} is refreshed in mode FULL, which nothing can follow."
    remedy = (
        "ALTER MATERIALIZED TABLE … SET REFRESH_MODE = CONTINUOUS, which computes no row; or let a "
        "scheduler run its refreshes."
    )


class CheckpointLostError(MaterializedTableError):
    """The checkpoint of a stream is not the one that the table's rows came out of."""

    condition = "MATERIALIZED_TABLE_CHECKPOINT_LOST"
    text = (
        "The stream of materialized table {table} cannot go on: its checkpoint {checkpoint} is "
        "gone, or holds another state than that of the table's rows."
    )
    remedy = (
        "ALTER MATERIALIZED TABLE {table} REFRESH builds rows and state together again, at the "
        "cost of reading all source data."
    )


class StreamsOverConnectError(MaterializedTableError):
    """A Connect client cannot bring a table up to date whose rows come out of a stream."""

    condition = "MATERIALIZED_TABLE_STREAMS_OVER_CONNECT"
    text = (
        "The rows of materialized table {table} come out of a stream with a checkpoint ({reason}), "
        "and a session of Spark Connect cannot run it: streams run in the driver itself."
    )
    remedy = (
        "Send the statement to a refresh manager, which works in its driver (`dbt` does so where "
        "one serves the session), or use a classic session (method: session in the profile), or "
        "write a query that can be computed as a whole, over Delta tables."
    )
