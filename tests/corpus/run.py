"""Materialized tables for queries of a corpus, refreshed after changes of what they read."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.api import (
    MaterializedTableError,
    MaterializedTables,
    QueryError,
    RefreshResult,
    TemporaryObjectError,
)
from tests.corpus.comparison import difference
from tests.corpus.results import (
    CREATE,
    CREATED,
    NO_TABLE,
    REFUSED,
    SPARK_REFUSES,
    STRICT,
    Result,
    Round,
)
from tests.corpus.sources import ROUNDS, Choice, Column, Source, changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Row, SparkSession

    from tests.corpus.queries import Query

OURS = (MaterializedTableError, QueryError, TemporaryObjectError)
_STRICT_CREATE = "MATERIALIZED_TABLE_NOT_INCREMENTAL"
_STRICT_REFRESH = "MATERIALIZED_TABLE_REFRESH_NOT_INCREMENTAL"
_NET = "MATERIALIZED_TABLE_UNEXPECTED_ERROR"
"""What wraps an exception that is not ours: the statement failed as it must not."""
_NEVER = "CHANGE_FAILED"
"""The reason of a change that Spark could not compute: rows stay right, and a rule is wrong."""
_CODE = re.compile(r"\(([A-Z][A-Z_0-9]+)\)\W*$")
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_ROWS_OF_SOURCE = 200
_ORDERS = 4
"""In how many orders of the sources' rows a query runs that differs from its table."""


@dataclass
class Case:
    """The table of one query, and what was seen of it.

    Args:
        table: The table's name.
        result: What was seen.
        wanted: The rows of its query when they were last compared.
    """

    table: str
    result: Result
    wanted: Sequence[Row] = ()

    def saw(self, round_: Round) -> None:
        """Add a refresh."""
        self.result = replace(self.result, rounds=(*self.result.rounds, round_))

    def gives(self, *codes: str) -> None:
        """Add the codes of reasons."""
        known = dict.fromkeys((*self.result.reasons, *codes))
        self.result = replace(self.result, reasons=tuple(known))
        if _NEVER in codes:
            self.is_wrong(f"the change could not be computed: {_NEVER}")

    def is_wrong(self, fault: str) -> None:
        """Add a fault."""
        self.result = replace(self.result, faults=(*self.result.faults, fault))

    def took(self, seconds: float) -> None:
        """Add time."""
        self.result = replace(self.result, seconds=round(self.result.seconds + seconds, 2))


@dataclass
class Workplace:
    """A session with a schema of its own, in which tables are made for queries.

    Args:
        session: The session; its current schema has the sources.
        seed: The seed of changes.
        finished: Takes each result when all of its refreshes are done.
    """

    session: SparkSession
    seed: int
    finished: Callable[[Result], None]
    _made: int = 0
    _tables: MaterializedTables = field(init=False)

    def __post_init__(self) -> None:
        """Take the session's tables."""
        self._tables = MaterializedTables(self.session)

    def run(
        self, queries: Sequence[Query], sources: Sequence[str] | Mapping[str, Sequence[str]]
    ) -> None:
        """Create a table for each query, and refresh all of them after each round of changes.

        A table that every refresh computes as a whole is refreshed after the last round only.

        Args:
            queries: The queries.
            sources: The statements of each round, or the names of tables that change at random.
        """
        created = [case for query in queries if (case := self._created(query)) is not None]
        for round_ in ROUNDS if created else ():
            self._change(sources, round_)
            for case in created:
                if case.result.outcome == STRICT or round_ == ROUNDS[-1]:
                    self._timed(case, partial(self._refresh, case, round_))
        for case in created:
            self._drop(case)
            self.finished(case.result)

    def _timed(self, case: Case, action: Callable[[], None]) -> None:
        begin = time.monotonic()
        action()
        case.took(time.monotonic() - begin)

    def _created(self, query: Query) -> Case | None:
        """Create the table of a query; None, with the result finished, where there is none."""
        self._made += 1
        result = Result(query.name, query.text, self.seed, outcome=SPARK_REFUSES)
        case = Case(f"mt_{self._made}", result)
        self._timed(case, partial(self._create, case))
        if case.result.is_created:
            return case
        self.finished(case.result)
        return None

    def _create(self, case: Case) -> None:
        wanted = self._rows(case.result.text)
        if isinstance(wanted, Exception):
            case.gives(_spark_condition(wanted))
            return
        named = f"{case.table}{self._columns(case.result.text)}"
        for outcome in CREATED:
            case.result = replace(case.result, outcome=outcome)
            try:
                self._tables.execute(
                    f"CREATE MATERIALIZED TABLE {named} WITH ('incremental' = '{outcome}') "
                    "FRESHNESS = INTERVAL '1' MINUTE REFRESH_MODE = CONTINUOUS AS "
                    f"{case.result.text}"
                )
            except OURS as error:
                condition = condition_of(error)
                is_strict = condition == _STRICT_CREATE and outcome == STRICT
                case.gives(*(codes_of(error) if is_strict else (condition,)))
                if condition == _NET:
                    case.is_wrong(f"{CREATE}: {_short(error)}")
                if not is_strict:
                    case.result = replace(case.result, outcome=REFUSED)
                    return
            except Exception as error:  # noqa: BLE001 - whatever is not ours is a fault
                case.result = replace(case.result, outcome=REFUSED)
                case.is_wrong(f"{CREATE}: {_short(error)}")
                return
            else:
                self._compare(case, Round(CREATE, "recompute", len(wanted)), wanted)
                return

    def _refresh(self, case: Case, round_: str) -> None:
        begin = time.monotonic()
        wanted = self._rows(case.result.text)
        queried = time.monotonic()
        try:
            done = self._refreshed(case, fails=isinstance(wanted, Exception))
        except OURS as error:
            if not isinstance(wanted, Exception) or condition_of(error) == _NET:
                case.is_wrong(f"{round_}: {_short(error)}")
            return
        except Exception as error:  # noqa: BLE001 - whatever is not ours is a fault
            is_query = isinstance(wanted, Exception)
            case.is_wrong(f"{round_}: {_short(error)}{' (the query fails too)' * is_query}")
            return
        if isinstance(wanted, Exception):
            case.gives(_spark_condition(wanted))
            return
        taken = (round(queried - begin, 2), round(time.monotonic() - queried, 2))
        self._compare(case, Round(round_, done, len(wanted), seconds=taken), wanted)

    def _drop(self, case: Case) -> None:
        try:
            self._tables.execute(f"DROP MATERIALIZED TABLE {case.table}")
        except Exception as error:  # noqa: BLE001 - no table is to stay
            case.is_wrong(f"drop: {_short(error)}")

    def _refreshed(self, case: Case, *, fails: bool) -> str:
        """Refresh a table; where it must be computed as a whole, say why and compute it.

        Args:
            case: The table.
            fails: Whether its query fails now, so that its change may fail as well.
        """
        try:
            done = self._tables.refresh(case.table)
        except MaterializedTableError as error:
            if error.condition != _STRICT_REFRESH:
                raise
            case.gives(*(code for code in codes_of(error) if not (fails and code == _NEVER)))
            done = self._tables.refresh(case.table, force=True)
        return done.strategy if done.status is RefreshResult.REFRESHED else ""

    def _compare(self, case: Case, round_: Round, wanted: Sequence[Row]) -> None:
        round_ = replace(round_, is_changed=bool(difference(case.wanted, wanted)))
        case.wanted = wanted
        stored = self.session.sql(f"SELECT * FROM {case.table}").collect()
        found = difference(stored, wanted)
        if not found:
            case.saw(round_)
        elif self.is_determined(case.result.text, wanted):
            case.saw(round_)
            case.is_wrong(f"{round_.name} ({round_.strategy}): {found}")
        else:
            case.saw(replace(round_, is_compared=False))

    def _rows(self, text: str) -> Sequence[Row] | Exception:
        try:
            return self.session.sql(text).collect()
        except Exception as error:  # noqa: BLE001 - the query may be one that Spark refuses
            return error

    def _columns(self, text: str) -> str:
        """Return a list of columns for a query that gives two columns the same name."""
        names = self.session.sql(text).columns
        is_distinct = len({name.lower() for name in names}) == len(names)
        listed = ", ".join(f"c{place}" for place in range(len(names)))
        return "" if is_distinct else f" ({listed})"

    def is_determined(self, text: str, wanted: Sequence[Row]) -> bool:
        """Whether a query returns the same rows in whatever order it reads its sources' rows."""
        from pyspark.sql import functions

        other = self.session.newSession()
        schema = self.session.catalog.currentDatabase()
        other.sql(f"USE {schema}")
        for key, value in self.session.conf.getAll.items():
            if other.conf.getAll.get(key) != value:
                other.conf.set(key, value)
        names = relations(self.session, text)
        for number in range(_ORDERS):
            for name in sorted(names):
                rows = other.table(f"spark_catalog.{schema}.`{name}`")
                mixed = rows.orderBy(functions.rand(number)).localCheckpoint()
                mixed.createOrReplaceTempView(f"`{name}`")
            try:
                again = other.sql(text).collect()
            except Exception:  # noqa: BLE001 - as `_rows`
                return False
            if difference(again, wanted):
                return False
        return True

    def _change(self, sources: Sequence[str] | Mapping[str, Sequence[str]], round_: str) -> None:
        """Change half of the sources, or as the statements do."""
        if isinstance(sources, Mapping):
            for statement in sources[round_]:
                self.session.sql(statement)
            return
        names = sources
        choice = Choice(f"{self.seed} {round_} {self._made}")
        for name in choice.sample(names, (len(names) + 1) // 2):
            choice = Choice(f"{self.seed} {name} {round_} {self._made}")
            statement = changes(source_of(self.session, name), round_, choice)
            if statement is not None:
                self.session.sql(statement)


def refused_by_spark(query: Query, seed: int, error: Exception) -> Result:
    """Return the result of a query that Spark refuses."""
    return Result(query.name, query.text, seed, SPARK_REFUSES, (_spark_condition(error),))


def without_tables(query: Query, seed: int) -> Result:
    """Return the result of a query that reads no table: there is nothing to change."""
    return Result(query.name, query.text, seed, NO_TABLE)


def relations(session: SparkSession, text: str) -> frozenset[str]:
    """Return the names of the tables in the current schema that a query reads, through views."""
    plan = session.sql(text)._jdf.queryExecution().analyzed().toString()
    schema = re.escape(session.catalog.currentDatabase())
    return frozenset(re.findall(rf"spark_catalog\.{schema}\.(\w+)", plan))


def source_of(session: SparkSession, name: str) -> Source:
    """Return a table with its rows, as texts."""
    fields = session.table(name).schema.fields
    columns = tuple(
        Column(f.name, f.metadata.get(_CHAR, f.dataType.simpleString()), f.nullable) for f in fields
    )
    texts = [
        (f"hex({c.quoted})" if c.type == "binary" else f"CAST({c.quoted} AS STRING)")
        if c.is_atomic
        else "CAST(NULL AS STRING)"
        for c in columns
    ]
    rows = session.sql(f"SELECT {', '.join(texts)} FROM {name} LIMIT {_ROWS_OF_SOURCE}").collect()
    return Source(name, columns, tuple(map(tuple, rows)))


def condition_of(error: Exception) -> str:
    """Return the condition of an error of ours."""
    return getattr(error, "condition", "") or type(error).__name__


def codes_of(error: MaterializedTableError) -> tuple[str, ...]:
    """Return the codes of the reasons that an error lists."""
    found = [match[1] for each in error.violations if (match := _CODE.search(each))]
    return tuple(dict.fromkeys(found)) or (error.condition,)


def _spark_condition(error: Exception) -> str:
    condition = getattr(error, "getCondition", lambda: None)()
    return str(condition or type(error).__name__)


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:600]}"
