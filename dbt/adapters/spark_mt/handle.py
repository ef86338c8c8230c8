"""DB-API cursor over a Spark session, the connection handle that creates it, and dbt's errors.

Statements about materialized tables go to `MaterializedTables`. Every other statement goes to Spark
byte for byte.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.spark_mt.client import rest
from dbt.adapters.spark_mt.definition.errors import (
    ManagerRefusedError,
    ManagerUnreachableError,
    MaterializedTableError,
)
from dbt.adapters.spark_mt.spark.launch.session import short_statements
from dbt.adapters.spark_mt.spark.session.errors import SparkFailure, failure_of, is_spark_error
from dbt.adapters.spark_mt.spark.session.private_session import interrupt_session
from dbt.adapters.spark_mt.statements.parser import ParsedStatement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from dbt.adapters.spark_mt.api import MaterializedTables
    from dbt.adapters.spark_mt.client.target import SparkTarget
    from dbt.adapters.spark_mt.definition.columns import Pairs
    from dbt.adapters.spark_mt.execution.leases import LeaseCache
    from dbt.adapters.spark_mt.execution.results import StatementOutcome, StatementResult


logger = AdapterLogger("SparkMT")
Row = tuple[Any, ...]
Description = list[tuple[str, str, None, None, None, None, bool]]
STAGED = "__dbt_staged"
"""Suffix of a table that takes its name when it has its rows. Messages have the name without it."""
_INTERRUPT_EVERY_S = 0.2
_OF_A_MANAGER = (ManagerRefusedError, ManagerUnreachableError)


class SparkDatabaseError(DbtDatabaseError):
    """A statement that Spark refused or could not finish; `failure` holds the facts."""

    def __init__(self, failure: SparkFailure) -> None:
        super().__init__(unstaged(one_line(failure)))
        self.failure = failure


def one_line(failure: SparkFailure) -> str:
    """Spark's condition, the first paragraph of its message, and where in the statement it was."""
    place = failure.line_and_column
    where = f" (line {place[0]}, column {place[1]})" if place else ""
    state = f" SQLSTATE: {failure.sql_state}" if failure.sql_state else ""
    return f"[{failure.condition}] {failure.message}{where}{state}"


def unstaged(text: str) -> str:
    """A text that names tables by the names that users know."""
    return text.replace(STAGED, "")


def cancelled_error() -> DbtRuntimeError:
    """The error of a statement, or of a connection, that came after dbt had cancelled it."""
    return DbtRuntimeError("[OPERATION_CANCELED] dbt cancelled this connection.")


@contextmanager
def translated(sql: str) -> Iterator[None]:
    """Raise what goes wrong in the block as an error that dbt prints without a stack.

    The debug log names what runs, `sql`.

    Raises:
        SparkDatabaseError: Spark's error.
        DbtDatabaseError: An error about a materialized table.
    """
    try:
        yield
    except DbtRuntimeError:
        raise
    except MaterializedTableError as error:
        logger.debug(f"Error while running:\n{sql}\n{error}")
        raise DbtDatabaseError(unstaged(str(error))) from error
    except Exception as error:
        if not is_spark_error(error):
            raise
        logger.debug(f"Error while running:\n{sql}\n{error}")
        raise SparkDatabaseError(failure_of(error)) from error


class SparkHandle:
    """One dbt connection: a Spark session of its own, and what runs in it.

    Args:
        spark: The connection's session.
        owner: Names the dbt node whose statement is about to run.
        on_close: Ends the session where that takes more than forgetting it.
        target: Which Spark it is, and why.
        lease_cache: What was read of managers' leases; the connections of a run share it.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        owner: Callable[[], Pairs] = tuple,
        on_close: Callable[[], None] | None = None,
        target: SparkTarget | None = None,
        lease_cache: LeaseCache | None = None,
    ) -> None:
        self.spark = spark
        self.target = target
        self._lease_cache = lease_cache
        self._owner = owner
        self._on_close = on_close
        self._tables: MaterializedTables | None = None
        self._idle = Event()
        self._idle.set()
        self._cancelled = False

    def cursor(self) -> Cursor:
        """Return a cursor for one statement."""
        return Cursor(self)

    def tables(self) -> MaterializedTables:
        """The materialized tables of this session, in the name of the node that runs now."""
        from dbt.adapters.spark_mt.api import MaterializedTables  # noqa: PLC0415 - loads PySpark

        if self._tables is None:
            manager = self.target.manager if self.target else None
            relay = rest.relay_to(self.spark, manager, self._owner, logger.warning)
            self._tables = MaterializedTables(
                self.spark, owner=self._owner, relay=relay, lease_cache=self._lease_cache
            )
        return self._tables

    @property
    def is_cancelled(self) -> bool:
        """Whether dbt cancelled this connection; nothing runs on it any more."""
        return self._cancelled

    @property
    def is_busy(self) -> bool:
        """Whether Spark works for this connection now."""
        return not self._idle.is_set()

    @contextmanager
    def busy(self, *, with_metadata: bool = False) -> Iterator[None]:
        """Mark that Spark works for this connection, so that `cancel` knows when it stopped.

        Args:
            with_metadata: It mostly asks for metadata, in many small statements.

        Raises:
            DbtRuntimeError: The connection was cancelled before.
        """
        self._idle.clear()
        try:
            # After the mark, so that `cancel_all` sees either the mark or a refused statement.
            if self._cancelled:
                raise cancelled_error()
            with short_statements(self.spark) if with_metadata else nullcontext():
                yield
        finally:
            self._idle.set()

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until Spark no longer works for this connection, for so many seconds at most."""
        self._idle.wait(seconds)

    def refuse(self) -> None:
        """Let nothing start on this connection from now on; what runs is not interrupted."""
        self._cancelled = True

    def interrupt(self) -> None:
        """Interrupt what Spark runs for this connection at this moment.

        Raises:
            Exception: The interrupt failed for a reason that lies in this process.
        """
        tables = self._tables
        self._try(partial(interrupt_session, self.spark))
        if tables is not None:
            self._try(tables.cancel)

    def _try(self, interrupt: Callable[[], object]) -> None:
        """Interrupt; the statement may have ended meanwhile, and its session with it."""
        try:
            interrupt()
        except Exception as error:
            is_elsewhere = is_spark_error(error) or isinstance(error, _OF_A_MANAGER)
            if self.is_busy and not is_elsewhere:
                raise
            logger.debug(f"An interrupt failed: {error}")

    def close(self) -> None:
        """Release the session."""
        if self._tables is not None and self._on_close is not None and not self._cancelled:
            # Over Connect, verifications end with the session.
            self._tables.environment.verifications.settle()
        self._tables = None
        if self._on_close is not None:
            self._on_close()

    def rollback(self) -> None:
        """Nothing: Spark has no transactions over statements."""


def cancel_all(handles: Sequence[SparkHandle]) -> None:
    """Interrupt what connections run, until nothing runs; nothing starts on them after it.

    One interrupt is not enough: it hits the jobs of that moment, and a statement may be between two
    jobs. There is no deadline: dbt waits for its threads in any case, so an end here would only
    leave a statement to run to its own end.
    """
    for handle in handles:
        handle.refuse()
    while running := [handle for handle in handles if handle.is_busy]:
        for handle in running:
            handle.interrupt()
        running[0].wait_until_idle(_INTERRUPT_EVERY_S)


class Cursor:
    """A cursor of PEP 249: runs one statement at a time and hands out its rows."""

    def __init__(self, handle: SparkHandle) -> None:
        self._handle = handle
        self._frame: DataFrame | None = None
        self._result: StatementResult | None = None
        self._rows: Iterator[Row] | None = None

    @property
    def outcome(self) -> StatementOutcome | None:
        """What the last statement did, when it was one of ours."""
        return self._result.outcome if self._result is not None else None

    @property
    def description(self) -> Description:
        """Name and type of each column, in the shape of PEP 249."""
        if self._result is not None:
            return [(c.name, c.type, None, None, None, None, True) for c in self._result.columns]
        if self._frame is None:
            return []
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in self._frame.schema.fields
        ]

    def execute(self, sql: str, bindings: Sequence[object] | None = None) -> None:
        """Run a statement.

        Args:
            sql: The statement.
            bindings: Empty: Spark takes no values.

        Raises:
            DbtRuntimeError: There are bindings.
        """
        if bindings:
            raise DbtRuntimeError("Spark takes no bindings; write the values into the statement.")  # noqa: EM101, TRY003 - dbt's error class takes a text
        self._frame = self._result = self._rows = None
        parsed = ParsedStatement.of(sql)
        with self._handle.busy(with_metadata=parsed.node is not None):
            if parsed.node is None:
                self._frame = self._handle.spark.sql(sql)
            else:
                self._result = self._handle.tables().execute(parsed)

    def fetchone(self) -> Row | None:
        """The next row, None after the last."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        """The next `size` rows, fewer at the end."""
        with self._handle.busy():
            if self._rows is None:
                self._rows = self._iterate()
            return list(islice(self._rows, size))

    def fetchall(self) -> list[Row]:
        """All rows that were not fetched yet."""
        with self._handle.busy():
            if self._rows is None and self._frame is not None:
                rows = [tuple(row) for row in self._frame.collect()]
            else:
                rows = list(self._rows if self._rows is not None else self._iterate())
            self._rows = iter(())
            return rows

    def close(self) -> None:
        """Forget the rows."""
        self._frame = self._result = self._rows = None

    def _iterate(self) -> Iterator[Row]:
        if self._result is not None:
            return iter(self._result.rows)
        if self._frame is None:
            return iter(())
        return (tuple(row) for row in self._frame.toLocalIterator())
