"""A refresh by a stream that keeps a checkpoint: it reads what is there, and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.job import JobStatus
from dbt.adapters.spark_mt.execution.hosted_streams import stream_task
from dbt.adapters.spark_mt.execution.hosting_errors import (
    CheckpointLostError,
    StreamsOverConnectError,
)
from dbt.adapters.spark_mt.execution.jobs import JobTeller, job_of
from dbt.adapters.spark_mt.planning.planner import plan_registration

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.streams import BatchDone, Stream, StreamTask
    from dbt.adapters.spark_mt.planning.steps import RefreshRun


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What a stream did until it had read everything.

    Args:
        done: Its newest batch; None where there was nothing to read.
        warnings: Sentences that the user should read.
    """

    done: BatchDone | None
    warnings: tuple[str, ...] = ()


def catch_up(environment: Environment, table: StoredTable, run: RefreshRun) -> CaughtUp | str:
    """Let the stream of a table go on until it has read what its sources have now.

    Returns:
        What it did; or why it cannot go on, as part of a sentence, so that rows and state must be
        built together again.

    Raises:
        StreamsOverConnectError: Streams cannot be run here.
        MaterializedTableError: A batch cannot be committed.
    """
    if environment.streams is None:
        reason = run.engine.reason if run.engine else ""
        raise StreamsOverConnectError(table=table.name, reason=reason)
    task = stream_task(environment, table, run)
    if task is None:
        return "the checkpoint that belongs to its rows is not there"
    return _ended(environment, task, environment.streams.start(task))


def _ended(environment: Environment, task: StreamTask, stream: Stream) -> CaughtUp | str:
    teller = JobTeller(environment, job_of(environment, task.table.definition, task.run))
    beating = environment.conduct.heartbeat(teller.beat)
    try:
        stream.wait()
        done, failure = stream.done, stream.failure
    except BaseException as error:
        teller.fail(error)
        raise
    finally:
        beating.stop()
        stream.stop()
    if failure is not None:
        teller.fail(failure)
        return _broken(failure)
    if done is not None:
        teller.write(teller.ended(JobStatus.FINISHED, rows=done.rows))
        environment.runner.run(plan_registration(done.table))
    return CaughtUp(done, tuple(teller.problems))


def _broken(failure: Exception) -> str:
    """A source that changed under the stream can be read anew; a batch that is wrong cannot."""
    if isinstance(failure, MaterializedTableError) and not isinstance(failure, CheckpointLostError):
        raise failure
    return str(failure).strip().partition("\n")[0]
