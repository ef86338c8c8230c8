"""What the tests of the engine hold its tables against, on ways that the engine does not use.

The rows of a table must be those of its query AS OF the positions in its newest own commit; those
of a table with a baseline, what it kept and the query over what came since. The engine writes
versions into the query's text; here each source becomes a temporary view of the same short name,
in a session of the test's own, and the original query runs over those.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.api import MaterializedTables
from dbt.adapters.spark_mt.definition.columns import TableName
from dbt.adapters.spark_mt.definition.definition import StoredTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, Row, SparkSession

    from dbt.adapters.spark_mt.definition.definition import StoredDefinition
    from dbt.adapters.spark_mt.definition.positions import Baseline
    from dbt.adapters.spark_mt.execution.results import StatementOutcome
    from dbt.adapters.spark_mt.planning.steps import Step

MARK = "materialized-table"
_QUERY_CONFS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.caseSensitive")


@dataclass(slots=True)
class Clock:
    """A clock that does not move until it is moved."""

    now: datetime = field(default_factory=lambda: datetime.now(tz=timezone.utc))

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        """Move the clock by the keywords of `timedelta`."""
        self.now += timedelta(**by)


def outcome(tables: MaterializedTables, statement: str) -> StatementOutcome:
    """Carry out a statement of ours and return its outcome."""
    result = tables.execute(statement)
    assert result is not None, statement
    assert result.outcome is not None, statement
    return result.outcome


def rows(tables: MaterializedTables, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query of Spark's as tuples, sorted."""
    return sorted((tuple(row) for row in tables.sql(query).collect()), key=repr)


def history(tables: MaterializedTables, name: str) -> list[Row]:
    """Return the commits of a Delta table, the newest first."""
    return tables.sql(f"DESCRIBE HISTORY {name}").collect()


def version(tables: MaterializedTables, name: str) -> int:
    """Return the newest version of a Delta table."""
    return int(history(tables, name)[0]["version"])


def own_commits(tables: MaterializedTables, name: str) -> list[dict[str, Any]]:
    """Return what our commits say about themselves, the newest first, each with its version."""
    return [
        json.loads(commit["userMetadata"]) | {"version": commit["version"]}
        for commit in history(tables, name)
        if MARK in (commit["userMetadata"] or "")
    ]


def fenced_commits(tables: MaterializedTables, name: str) -> list[dict[str, Any]]:
    """Return those of our commits that carry the fence, the newest first."""
    return [commit for commit in own_commits(tables, name) if commit["kind"] != "publish"]


def properties(tables: MaterializedTables, name: str) -> dict[str, str]:
    """Return a table's properties, none of them redacted."""
    return dict(tables.sql(f"DESCRIBE DETAIL {name}").collect()[0]["properties"])


def delta_id(tables: MaterializedTables, name: str) -> str:
    """Return Delta's own identity of a table."""
    return str(tables.sql(f"DESCRIBE DETAIL {name}").collect()[0]["id"])


def described(tables: MaterializedTables, name: str) -> dict[str, str]:
    """Return the labelled rows of DESC EXTENDED."""
    result = tables.execute(f"DESC EXTENDED MATERIALIZED TABLE {name}")
    assert result is not None
    return {str(label): str(text) for label, text, _ in result.rows}


def assert_equals_query(
    tables: MaterializedTables,
    name: str,
    *,
    columns: str = "*",
    where: str = "true",
    kind: str = "positions",
) -> None:
    """Assert that a table holds its query AS OF the positions of its newest own commit.

    Args:
        tables: The materialized tables; its session's current schema is that of the sources.
        name: The table.
        columns: The table's columns as expressions over the query's, where a list of columns
            brings them into another order.
        where: The part of the table to look at.
        kind: `positions`, or `partition_positions` for what a partial refresh wrote.
    """
    positions = fenced_commits(tables, name)[0][kind]
    query = described(tables, name)["Original query"]
    session, prefix = _oracle_session(tables)
    _pin(session, prefix, positions)
    expected = f"SELECT {columns} FROM (\n{prefix.sub('', query)}\n)"
    schema = tables.sql("SELECT current_schema()").collect()[0][0]
    actual = f"SELECT * FROM spark_catalog.`{schema}`.{prefix.sub('', name)}"
    _assert_same(session.sql(f"SELECT * FROM ({actual}) WHERE {where}"), session, expected, where)


def assert_follows_from_baseline(tables: MaterializedTables, name: str) -> None:
    """Assert that a table holds what it kept, and its query over what came since its baseline.

    Without a key, and for groups of which nothing was kept: the query over the rows that came
    since. With a key: the query over all rows for every key that a change touches, and the kept
    row for every other. What came is the difference of two versions, as bags, which the engine
    never reads; a query that looks tables up must not have had these change.
    """
    definition = _stored(tables, name)
    baseline, key = definition.baseline, definition.declared.primary_key
    assert baseline is not None, name
    positions = fenced_commits(tables, name)[0]["positions"]
    session, prefix = _oracle_session(tables)
    query = prefix.sub("", definition.declared.query)
    _pin(session, prefix, positions)
    whole = _frozen(session, query)
    _pin_changes(session, baseline, positions, ("upto", "after"))
    added = _frozen(session, query)
    _pin_changes(session, baseline, positions, ("after", "upto"))
    removed = _frozen(session, query)
    actual = tables.sql(f"SELECT * FROM {name}")
    kept = _kept(tables, name, actual.columns, baseline)
    whole, added, removed = (f.toDF(*actual.columns) for f in (whole, added, removed))
    if key is None or kept is None:
        expected = added if kept is None else kept.unionAll(added)
    else:
        touched = added.select(*key.columns).union(removed.select(*key.columns)).distinct()
        expected = whole.join(touched, list(key.columns), "left_semi").unionAll(
            kept.join(touched, list(key.columns), "left_anti")
        )
    wanted = Counter(tuple(row) for row in expected.select(*actual.columns).collect())
    assert Counter(tuple(row) for row in actual.collect()) == wanted


def _stored(tables: MaterializedTables, name: str) -> StoredDefinition:
    store = tables.environment.store
    found = store.find(store.full_name(TableName(name)))
    assert isinstance(found, StoredTable), found
    return found.definition


def _frozen(session: SparkSession, query: str) -> DataFrame:
    """Compute a query now: the views that it reads are about to mean something else."""
    found = session.sql(query)
    return session.createDataFrame(found.collect(), found.schema)


def _pin_changes(
    session: SparkSession, baseline: Baseline, positions: dict[str, Any], sides: tuple[str, str]
) -> None:
    """Let the short name of each followed source mean the rows of one side not on the other."""
    for name, after in baseline.positions:
        quoted = ".".join(f"`{part}`" for part in name.split(".", 2))
        end = f"SELECT * FROM {quoted} VERSION AS OF {positions[name][0]}"
        start = f"{end} WHERE false"
        if after.version >= 0:
            start = f"SELECT * FROM {quoted} VERSION AS OF {after.version}"
        texts = {"upto": end, "after": start}
        body = f"{texts[sides[0]]} EXCEPT ALL {texts[sides[1]]}"
        short = name.split(".", 2)[2]
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{short}` AS {body}")


def _kept(
    tables: MaterializedTables, name: str, columns: list[str], baseline: Baseline
) -> DataFrame | None:
    if baseline.kept_version is None:
        return None
    rows = tables.sql(f"SELECT * FROM {name} VERSION AS OF {baseline.kept_version}")
    there = [f"`{c}`" if c in rows.columns else f"NULL AS `{c}`" for c in columns]
    return rows.selectExpr(*there)


def _assert_same(actual: DataFrame, session: SparkSession, expected: str, where: str) -> None:
    wanted = session.sql(expected).toDF(*actual.columns).where(where)
    if _bag(wanted) == _bag(actual):
        return
    # Spark takes 0.0 and -0.0 for equal; four reads of each side take as long as a refresh.
    missing, unexpected = wanted.exceptAll(actual), actual.exceptAll(wanted)
    assert (missing.take(5), unexpected.take(5)) == ([], [])


def _bag(frame: DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.collect()))


def _oracle_session(tables: MaterializedTables) -> tuple[SparkSession, re.Pattern[str]]:
    """Open a session that means what the user's does, and find the prefix of its current schema."""
    user = tables._spark
    session = user.newSession()
    for conf in _QUERY_CONFS:
        session.conf.set(conf, user.conf.get(conf))
    session.conf.set("spark.sql.variable.substitute", "false")
    schema = user.catalog.currentDatabase()
    session.sql(f"USE {schema}")
    return session, re.compile(rf"(?:`?spark_catalog`?\.)?`?{schema}`?\.", re.IGNORECASE)


def _pin(session: SparkSession, prefix: re.Pattern[str], positions: dict[str, Any]) -> None:
    """Let every source's short name mean the recorded state."""
    bodies: dict[str, str] = {}
    for name, position in positions.items():
        quoted = ".".join(f"`{part}`" for part in name.split(".", 2))
        short = "`" + name.split(".", 2)[2] + "`"
        if isinstance(position, list):
            bodies[short] = f"SELECT * FROM {quoted} VERSION AS OF {position[0]}"
        elif isinstance(position, str) and session.catalog.tableExists(quoted):
            bodies[short] = prefix.sub("", _view_text(session, quoted))
    for short, body in _inner_first(bodies):
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {short} AS {body}")


def _view_text(session: SparkSession, name: str) -> str:
    described = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    return str(next(row["data_type"] for row in described if row["col_name"] == "View Text"))


def _inner_first(bodies: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield views after those that they read."""
    left = dict(bodies)
    while left:
        free = [
            short
            for short, body in left.items()
            if not any(o != short and re.search(rf"\b{o[1:-1]}\b", body) for o in left)
            or "VERSION AS OF" in body
        ]
        assert free, left
        for short in free:
            yield short, left.pop(short)


class InjectedError(Exception):
    """The failure of a step that a test asked for."""


@dataclass(slots=True)
class FaultyRunner:
    """Fails once at one kind of step, before it runs or after it has run.

    Args:
        runner: What really runs the steps.
        fails_at: The kind of step.
        after: Whether the step has run when it fails.
        before: Called before each step.
    """

    runner: Any
    fails_at: type[Step] | None = None
    after: bool = False
    before: Callable[[Step], None] | None = None
    seen: list[str] = field(default_factory=list)

    def run(self, step: Step) -> object:
        """Run a step, or fail in its place."""
        self.seen.append(type(step).__name__)
        if self.before is not None:
            self.before(step)
        fails = self.fails_at is not None and isinstance(step, self.fails_at)
        if fails:
            self.fails_at = None
            if self.after:
                self.runner.run(step)
            raise InjectedError(type(step).__name__)
        return self.runner.run(step)

    def undo(self, step: Step) -> None:
        """Undo a step."""
        self.runner.undo(step)


def faulty(session: SparkSession, **arguments: Any) -> tuple[MaterializedTables, FaultyRunner]:
    """Return materialized tables whose steps fail as asked, and what makes them fail."""
    tables = MaterializedTables(session)
    environment = tables.environment
    runner = FaultyRunner(environment.runner, **arguments)
    tables.environment = replace(environment, runner=runner)
    return tables, runner
