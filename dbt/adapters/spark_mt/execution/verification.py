"""Verification of a share of refreshes after their commits, and repair of what differs.

A commit of a refresh by changes or of a micro-batch is compared with the query over the same
versions of the sources. The refresh has ended by then: nothing waits for the comparison, and no
lock or fence is held. Later commits do not matter to it. A table that differs is computed again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.definition import verification as verifications
from dbt.adapters.spark_mt.definition.definition import StoredTable
from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from dbt.adapters.spark_mt.definition.job import Job, JobKind, JobStatus
from dbt.adapters.spark_mt.execution import baseline as baselines
from dbt.adapters.spark_mt.execution import checks, errors, lookup, retries
from dbt.adapters.spark_mt.execution.job_recorder import LONGEST_ERROR, JobRecorder
from dbt.adapters.spark_mt.execution.ports import AnalyzedTable
from dbt.adapters.spark_mt.execution.refresh import Refreshes, RequestedRefresh
from dbt.adapters.spark_mt.query.exactness import computes_exactly
from dbt.adapters.spark_mt.query.operator_builder import definition_tree
from dbt.adapters.spark_mt.query.operators import Aggregate, Window, walk
from dbt.adapters.spark_mt.resolution.options import read_options
from dbt.adapters.spark_mt.resolution.row_lineage import lookups_of
from dbt.adapters.spark_mt.strategies import strategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbt.adapters.spark_mt.definition.columns import TableName
    from dbt.adapters.spark_mt.execution.checks import Difference
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.execution.ports import Committed
    from dbt.adapters.spark_mt.query.analyzer import AnalyzedQuery
    from dbt.adapters.spark_mt.query.operators import Operator, Tree

    Ports = Callable[[], Environment]
    """Returns ports for one verification: threads share none."""
    Start = Callable[[Callable[[], None]], object]
    """Runs an action somewhere else."""


TRIGGER = "VERIFY"
"""The trigger of verifications, and of the refreshes that repair what they found."""
_BY_CHANGES = frozenset(
    {strategy.Write.ADD, strategy.Write.KEYS, strategy.Write.CHANGE, strategy.Write.BATCHES}
)
_DIGITS = (9, 8)
"""Significant digits of floating-point values. No two values that differ in their last digits only
are on two sides of a limit of rounding at both numbers."""
_STATUS = {
    verifications.VerificationResult.EQUAL: JobStatus.FINISHED,
    verifications.VerificationResult.DIFFERENT: JobStatus.FAILED,
    verifications.VerificationResult.SKIPPED: JobStatus.SKIPPED,
}
_LOGGER = logging.getLogger(__name__)


def is_due(committed: Committed) -> bool:
    """Whether a commit is among those that its table wants verified.

    A refresh that computes all rows is not verified: it is what the others are compared with.
    """
    definition, run = committed.table.definition, committed.run
    share = read_options(definition.declared.options).verify
    return (
        run.choice.write in _BY_CHANGES
        and run.trigger != TRIGGER
        and verifications.is_selected(definition.table_id, committed.table.version, share)
    )


def verify(environment: Environment, committed: Committed) -> verifications.Verification | None:
    """Compare the rows of a commit, record the result, and repair a table that differs.

    Returns:
        The result; None if it was cancelled.
    """
    started_ms, job_id = environment.now_ms(), environment.new_id()
    found = _compared(environment, committed)
    if found is None:
        return None
    if found.result is verifications.VerificationResult.DIFFERENT:
        found = replace(found, repair_id=environment.new_id())
        # Recorded before the repair, which may take long or end with the process.
        _record(environment, committed, found, job_id, started_ms)
        problem = _repair(environment, committed, found.repair_id)
        found = replace(found, repaired=not problem, repair_problem=problem)
        _LOGGER.error("%s: %s", committed.table.name, found.describe())
    _record(environment, committed, found, job_id, started_ms)
    return found


def _compared(environment: Environment, committed: Committed) -> verifications.Verification | None:
    table = committed.table
    result = verifications.Verification(
        verifications.VerificationResult.SKIPPED,
        committed.run.refresh_id,
        table.version,
        table.definition.table_id,
        table.definition.generation,
    )
    try:
        found = _difference(environment, committed)
    except Exception as error:  # noqa: BLE001 - a refresh that has succeeded fails by nothing else
        if environment.execution_context.is_cancellation(error):
            return None
        found = _problem(environment, error)
    problem = found if isinstance(found, str) else found.problem
    if isinstance(found, str) or found.problem:
        return replace(result, problem=problem[:LONGEST_ERROR])
    if found.is_equal:
        return replace(result, result=verifications.VerificationResult.EQUAL)
    rows = tuple(replace(row, row=row.row[: verifications.LONGEST_ROW]) for row in found.rows)
    return replace(
        result, result=verifications.VerificationResult.DIFFERENT, total=found.total, rows=rows
    )


def _problem(environment: Environment, error: Exception) -> str:
    if isinstance(error, MaterializedTableError):
        return errors.problem_of(error)
    return environment.described(error) or errors.problem_of(error)


def _difference(environment: Environment, committed: Committed) -> Difference | str:
    """Return how a table differs from its query, or why the two cannot be compared."""
    table, definition = committed.table, committed.table.definition
    environment.store.forget()
    there = environment.store.find(table.name)
    if not isinstance(there, StoredTable) or there.definition.table_id != definition.table_id:
        return "the table was dropped or created again"
    analyzed = environment.stored_analyzer.analyze_stored(definition.resolved)
    tree = definition_tree(definition.resolved, analyzed)
    if problem := next(_incomparable(committed, analyzed, tree), ""):
        return problem
    found = AnalyzedTable(table, analyzed)
    if computes_exactly(tree.root, tree.types):
        return checks.compared(environment, found, verifications.EXAMPLES)
    for digits in _DIGITS:
        difference = checks.compared(environment, found, verifications.EXAMPLES, digits)
        if difference.problem or difference.is_equal:
            break
    return difference


def _incomparable(committed: Committed, analyzed: AnalyzedQuery, tree: Tree) -> Iterator[str]:
    """Yield why right rows may differ from those that the query returns later."""
    if analyzed.time_dependent:
        listed = ", ".join(analyzed.time_dependent)
        yield f"{listed} had another value at the time of the refresh"
    if names := lookups_of(committed.table.definition.resolved):
        listed = ", ".join(map(str, names))
        yield f"{listed} is looked up as it is at each refresh"
    if committed.run.choice.watermarks:
        yield "a stream with a watermark leaves late rows out, and holds back open windows"
    if not computes_exactly(tree.root, tree.types) and any(map(_is_ordered, walk(tree.root))):
        yield "it has values that depend on the order in which rows are read"


def _is_ordered(node: Operator) -> bool:
    """Whether an operator may have values that depend on the order of its rows.

    Sums of floating-point numbers do so too, in digits that are not compared.
    """
    is_window = isinstance(node, Window)
    return is_window or (isinstance(node, Aggregate) and any(not c.order_free for c in node.calls))


def _record(
    environment: Environment,
    committed: Committed,
    found: verifications.Verification,
    job_id: str,
    started_ms: int,
) -> None:
    definition, status = committed.table.definition, _STATUS[found.result]
    job = Job(
        job_id=job_id,
        table=committed.table.name,
        kind=JobKind.VERIFICATION,
        status=JobStatus.RUNNING,
        started_at_ms=started_ms,
        last_heartbeat_ms=started_ms,
        owner=environment.execution_context.processes.owner(),
        trigger=TRIGGER,
        refresh_mode=definition.resolved.refresh_mode.value,
        freshness=definition.resolved.freshness.sql,
        strategy=committed.run.choice.name,
        verification=found,
    )
    text = found.describe()
    is_problem = found.result is verifications.VerificationResult.DIFFERENT
    recorder = JobRecorder(environment, replace(job, reason="" if is_problem else text))
    recorder.write(recorder.ended(status, error=text[:LONGEST_ERROR] if is_problem else ""))


def _repair(environment: Environment, committed: Committed, refresh_id: str) -> str:
    """Compute all rows of a table again by a refresh; return why that failed."""
    name = committed.table.name
    try:
        environment.store.forget()
        table = lookup.stored_table(environment, name)
        definition = table.definition
        analyzed = environment.stored_analyzer.analyze_stored(definition.resolved)
        run = environment.run(TRIGGER, analyzed, definition.resolved, definition.baseline)
        request = strategy.Request.FORCED
        run = baselines.chosen(environment, table, analyzed, run, request)
        if run.choice.write is not strategy.Write.REPLACE:
            return (
                "a refresh cannot compute all rows of a table that keeps rows of an older query. "
                "CREATE OR REPLACE MATERIALIZED TABLE creates it again, without these rows"
            )
        requested = RequestedRefresh(trigger=TRIGGER, force=True, refresh_id=refresh_id)
        with retries.writer_priority(environment, name):
            Refreshes(environment).carry_out(name, requested)
    except Exception as error:  # noqa: BLE001 - the finding says that the repair failed
        return errors.problem_of(error)[:LONGEST_ERROR]
    return ""


@dataclass(slots=True)
class _Waiting:
    committed: Committed
    ports: Ports
    done: Event = field(default_factory=Event)


class VerificationQueue:
    """Commits of one process that wait for their verification, one of which runs at a time.

    At most one commit of a table waits. Where refreshes come faster than they are verified, the
    newest commit takes the place of the one that waits.

    Args:
        start: Runs an action in a thread.
        verify: Verifies a commit.
    """

    def __init__(
        self, start: Start, verify: Callable[[Environment, Committed], object] = verify
    ) -> None:
        self._start = start
        self._verify = verify
        self._lock = Lock()
        self._waiting: dict[TableName, _Waiting] = {}
        self._running: _Waiting | None = None
        self._is_working = False

    def submit(self, committed: Committed, ports: Ports) -> None:
        """Queue a commit."""
        name = committed.table.name
        with self._lock:
            if before := self._waiting.pop(name, None):
                before.done.set()
            self._waiting[name] = _Waiting(committed, ports)
            begins, self._is_working = not self._is_working, True
        if not begins:
            return
        try:
            self._start(self._work)
        except RuntimeError as error:  # the process ends, and begins no thread any more
            with self._lock:
                self._is_working = False
            self.clear()
            _LOGGER.warning("a refresh of %s was not verified: %s", name, errors.problem_of(error))

    def settle(self, name: TableName | None = None) -> None:
        """Wait until what was queued until now, of a table or of all, is verified."""
        with self._lock:
            found = [*self._waiting.values(), *([self._running] if self._running else [])]
        for each in found:
            if name is None or each.committed.table.name == name:
                each.done.wait()

    def clear(self, ports: Ports | None = None) -> None:
        """Verify none of the commits that wait, of one session or of all."""
        with self._lock:
            waiting = self._waiting.items()
            left = {name: each for name, each in waiting if ports in (None, each.ports)}
            self._waiting = {name: each for name, each in waiting if name not in left}
        for each in left.values():
            each.done.set()

    def _work(self) -> None:
        while (following := self._next()) is not None:
            self._do(following)

    def _do(self, next_: _Waiting) -> None:
        try:
            self._verify(next_.ports(), next_.committed)
        except Exception as error:  # noqa: BLE001 - the next commit is verified all the same
            name, problem = next_.committed.table.name, errors.problem_of(error)
            _LOGGER.warning("a refresh of %s was not verified: %s", name, problem)
        finally:
            next_.done.set()

    def _next(self) -> _Waiting | None:
        with self._lock:
            first = next(iter(self._waiting), None)
            self._running = self._waiting.pop(first) if first is not None else None
            self._is_working = self._running is not None
            return self._running


@dataclass(frozen=True, slots=True)
class QueuedVerifications:
    """`Verifications` by a queue, for the commits of one session.

    Args:
        queue: The queue, which several sessions may share.
        ports: Returns ports for one verification.
    """

    queue: VerificationQueue
    ports: Ports

    def submit(self, committed: Committed) -> None:
        """Queue a commit if it is among those that its table wants verified."""
        if is_due(committed):
            self.queue.submit(committed, self.ports)

    def settle(self, name: TableName | None = None) -> None:
        """Wait until what was queued until now, of a table or of all, is verified."""
        self.queue.settle(name)
