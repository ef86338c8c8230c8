"""The moments of a statement between two side effects, counted and named.

A side effect is a statement or write that reaches Spark: every plan, step and port of the engine
ends in one, whatever they look like. So the moments are taken where PySpark sends them off.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock, local
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.spark.query.query_relations import CREATE_PROBE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from dbt.adapters.spark_mt.execution.ports import StepRunner
    from dbt.adapters.spark_mt.planning.steps import Step

BEFORE, AFTER = "before", "after"
_WRITES = re.compile(
    r"\s*(INSERT \w+|CREATE(?: OR REPLACE)? \w+|ALTER TABLE|COMMENT ON|DROP \w+|OPTIMIZE|VACUUM"
    r"|DELETE|UPDATE|MERGE|RESTORE|TRUNCATE)\b",
    re.IGNORECASE,
)
_SUMS = re.compile(r"(?:\s*\w+ )*\S*\bsums_")
"""The beginning of a statement that changes a table with partial sums."""
_TEMPORARY = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?TEMP", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Boundary:
    """A moment directly before or after a side effect.

    Args:
        step: The step of the plan that it belongs to, empty for one outside of all steps.
        effect: The first words of what is sent to Spark, and whether it changes partial sums.
        turn: The how manieth side effect of this name in this step, from 1.
        side: `before` or `after`.
    """

    step: str
    effect: str
    turn: int
    side: str

    def __str__(self) -> str:
        turn = f" {self.turn}" if self.turn > 1 else ""
        return f"{self.side} {self.step or 'no step'}/{self.effect}{turn}"


@dataclass(slots=True)
class Watch:
    """Names the moments and calls `reached` at each, in the thread that gets there.

    Args:
        reached: Gets every boundary; may never return.
    """

    reached: Callable[[Boundary], object]
    _threads: local = field(default_factory=local)
    _turns: Counter[tuple[str, str]] = field(default_factory=Counter)
    _counting: Lock = field(default_factory=Lock)

    def around(self, effect: str, write: Callable[[], Any]) -> Any:
        """Carry out a side effect between its two boundaries."""
        step = getattr(self._threads, "step", "")
        with self._counting:
            self._turns[step, effect] += 1
            turn = self._turns[step, effect]
        self.reached(Boundary(step, effect, turn, BEFORE))
        result = write()
        self.reached(Boundary(step, effect, turn, AFTER))
        return result

    @contextmanager
    def within(self, step: str) -> Iterator[None]:
        """Give the side effects of the block the name of a step."""
        self._threads.step = step
        try:
            yield
        finally:
            self._threads.step = ""


@dataclass(slots=True)
class StepNames:
    """A runner that reports which step runs."""

    runner: StepRunner
    watch: Watch

    def run(self, step: Step) -> Any:
        """Carry out one step."""
        with self.watch.within(type(step).__name__):
            return self.runner.run(step)

    def undo(self, step: Step) -> None:
        """Undo one step."""
        with self.watch.within(f"undo {type(step).__name__}"):
            self.runner.undo(step)


@contextmanager
def watched(
    spark: SparkSession, reached: Callable[[Boundary], object]
) -> Iterator[MaterializedTables]:
    """Give materialized tables of a session whose boundaries are reported while the block runs."""
    watch = Watch(reached)
    tables = MaterializedTables(spark)
    environment = tables.environment
    runner = StepNames(environment.runner, watch)
    tables.environment = replace(environment, runner=runner)
    session_class = type(spark)
    writer_class = type(spark.range(1).write)
    sql, save = session_class.sql, writer_class.saveAsTable

    def watched_sql(self: Any, query: str, *args: Any, **named: Any) -> Any:
        effect = effect_of(query)
        if not effect:
            return sql(self, query, *args, **named)
        return watch.around(effect, lambda: sql(self, query, *args, **named))

    def watched_save(self: Any, *args: Any, **named: Any) -> Any:
        effect = f"saveAsTable{_suffix(str(args[0]))}"
        return watch.around(effect, lambda: save(self, *args, **named))

    session_class.sql = watched_sql
    writer_class.saveAsTable = watched_save
    try:
        yield tables
    finally:
        session_class.sql = sql
        writer_class.saveAsTable = save


def effect_of(query: str) -> str:
    """Return the first words of a statement that changes something, empty for all others."""
    if query.startswith(CREATE_PROBE) or _TEMPORARY.match(query):
        return ""
    found = _WRITES.match(query)
    return found[1].upper() + _suffix(query) if found else ""


def _suffix(text: str) -> str:
    """Return words for a change of partial sums, none for one of any other table."""
    return " of sums" if _SUMS.match(text) else ""
