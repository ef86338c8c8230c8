"""Processes that carry out one statement and are killed in the middle of it."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from threading import Timer
from time import monotonic
from traceback import format_exc
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.spark.launch.session import quiet_python_loggers
from dbt.adapters.spark_mt.spark.session.errors import failure_of, is_spark_error
from tests.faults.boundaries import Boundary, watched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing import Queue
    from multiprocessing.process import BaseProcess
    from multiprocessing.synchronize import Barrier

    from pyspark.sql import SparkSession

_TIMEOUT_S = 180
_PARALLEL_S = 600
"""Three processes take turns on the driver, and who loses a conflict begins again."""
_ENDING_S = 5
_context = get_context("forkserver")
# The fork server imports all this once; nothing of it opens a channel, so that forks can.
_context.set_forkserver_preload(
    [
        "pyspark.sql.connect.session",
        "dbt.adapters.spark_mt.api",
        "tests.faults.victims",
    ]
)


@dataclass(frozen=True)
class Kill:
    """When a process kills itself.

    Args:
        at: The moment.
        delay_s: So long after that moment, while Spark is at work.
    """

    at: Boundary
    delay_s: float = 0.0


def run_and_die(url: str, schema: str, statement: str, kill: Kill) -> bool:
    """Run a statement in a process that dies at a moment.

    Returns:
        Whether it was killed; it was not when the statement ended before that moment.
    """
    process = _context.Process(target=_die, args=(url, schema, statement, kill))
    return ended_by_kill(process)


def record(url: str, schema: str, statement: str, report: Path) -> list[tuple[Boundary, float]]:
    """Run a statement to its end and return its boundaries, with seconds since its start."""
    process = _context.Process(target=_record, args=(url, schema, statement, str(report)))
    assert not ended_by_kill(process)
    lines = report.read_text().splitlines()
    found = map(json.loads, lines)
    return [(Boundary(**line["boundary"]), line["at_s"]) for line in found]


def killed_after(life_s: float, work: Callable[..., None], arguments: tuple[object, ...]) -> bool:
    """Let a process work for some time, and kill it.

    Returns:
        Whether it was killed at work; it was not when it ended on its own.
    """
    process = _context.Process(target=work, args=arguments, daemon=True)
    process.start()
    process.join(life_s)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def run_parallel(url: str, schema: str, statements: Sequence[Sequence[str]]) -> list[list[str]]:
    """Run several lists of statements, each in a process of its own, from the same moment on.

    Returns:
        What became of each statement: the status of its refresh or its action, the condition of its
        error, or nothing for one that is Spark's.
    """
    barrier = _context.Barrier(len(statements))
    said = [_context.Queue() for _ in statements]
    processes = [
        _context.Process(target=_say, args=(url, schema, each, barrier, queue))
        for each, queue in zip(statements, said, strict=True)
    ]
    for process in processes:
        process.start()
    try:
        found = [queue.get(timeout=_PARALLEL_S) for queue in said]
        failed = [each for each in found if isinstance(each, str)]
        assert not failed, "\n".join(failed)
        return [each for each in found if not isinstance(each, str)]
    finally:
        for process in processes:
            process.join(_ENDING_S)  # it has said what became of its statements, or never will
            process.kill()
            process.join()


def _say(
    url: str, schema: str, statements: Sequence[str], barrier: Barrier, said: Queue[list[str] | str]
) -> None:
    """Put what became of each statement, or the traceback of an error that no test expects."""
    try:
        tables = MaterializedTables(connect(url, schema))
        barrier.wait(_PARALLEL_S)
        said.put([_outcome(tables, statement) for statement in statements])
    except Exception:  # noqa: BLE001 - the parent fails by it, and need not wait
        barrier.abort()
        said.put(format_exc())
    said.close()
    said.join_thread()
    os._exit(0)


def _outcome(tables: MaterializedTables, statement: str) -> str:
    try:
        result = tables.execute(statement)
        if result is None:
            tables.sql(statement)
            return ""
    except MaterializedTableError as error:
        return error.condition
    except Exception as error:
        if is_spark_error(error) and failure_of(error).is_conflict:  # of two changes of a source
            return conditions.CONCURRENT_CHANGE.name
        raise
    outcome = result.outcome
    assert outcome is not None
    refresh = statement.endswith("REFRESH") and outcome.refresh
    return str(refresh.status.value if refresh else outcome.action.value)


def ended_by_kill(process: BaseProcess) -> bool:
    """Start a process and wait for its end."""
    process.start()
    process.join(_TIMEOUT_S)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(process.name)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def dice(seed: str) -> Random:
    """Random numbers that are the same for the same seed."""
    return Random(seed)  # noqa: S311 - for moments, not for secrets


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def _die(url: str, schema: str, statement: str, kill: Kill) -> None:
    def reached(boundary: Boundary) -> None:
        if boundary == kill.at:
            if kill.delay_s:
                Timer(kill.delay_s, die).start()
            else:
                die()

    session = connect(url, schema)
    with watched(session, reached) as tables:
        tables.execute(statement)
    os._exit(0)


def _record(url: str, schema: str, statement: str, report: str) -> None:
    session = connect(url, schema)
    lines = []
    started = monotonic()
    with watched(
        session,
        lambda b: lines.append({"boundary": asdict(b), "at_s": monotonic() - started}),
    ) as tables:
        tables.execute(statement)
    Path(report).write_text("\n".join(map(json.dumps, lines)))
    os._exit(0)


def connect(url: str, schema: str) -> SparkSession:
    """Open a session of this process in a schema."""
    from pyspark.sql import SparkSession

    quiet_python_loggers()
    session = SparkSession.builder.remote(url).create()
    session.sql(f"USE {schema}")
    return session
