"""Plain tables become materialized ones and are handed back, without a row being written.

A subclass gives the fixture `tables`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import Missing, StoredTable, UnmanagedTable
from dbt.adapters.spark_mt.definition.errors import (
    ConstraintViolatedError,
    NotMaterializedError,
    TableNotFoundError,
    UnfinishedChangeError,
)
from dbt.adapters.spark_mt.execution.alter import Adoptions
from dbt.adapters.spark_mt.execution.results import Action, AdoptionTerms, RefreshResult
from dbt.adapters.spark_mt.planning.steps import (
    CommitDefinition,
    Fill,
    Phase,
    Register,
    Release,
    Unregister,
)
from dbt.adapters.spark_mt.statements.parser import parse_statement
from tests.behaviour.harness import ConflictingRunner, Faulty, InjectedError
from tests.behaviour.suite import DAY_3, KEYS, SUMS, WIDER, create, or_alter, prepare, refresh
from tests.support.errors import raises

if TYPE_CHECKING:
    from tests.behaviour.harness import Tables

COLUMNS = "k INT; total BIGINT"
EQUAL_ROWS = [(1, 15), (2, 7)]
"""Those of the query."""
OLD_ROWS = [(1, 15), (8, 800)]
"""Of a year that no source remembers: a query could not bring the second one back."""
SPACED = "SELECT k, sum(amount) AS total, count(*) AS `n=n` FROM orders GROUP BY k"


def adoptions(tables: Tables, runner=None) -> Adoptions:
    """What adopts, by another runner if one is given."""
    environment = tables.environment
    if runner is not None:
        environment = replace(environment, runner=runner)
    tables.forget()
    return Adoptions(environment)


def statement(query: str = SUMS, clauses: str = "", name: str = "t"):
    """CREATE OR ALTER, parsed."""
    return parse_statement(f"CREATE OR ALTER MATERIALIZED TABLE {name} {clauses} AS {query}")


def adopt(tables, query=SUMS, clauses="", runner=None, **more):
    """Adopt a table."""
    terms = AdoptionTerms(more.get("as_of"), more.get("if_equal", False))
    name = more.get("name", "t")
    return adoptions(tables, runner).adopt(statement(query, clauses, name), terms)[0]


def release(tables, runner=None):
    """Hand the table `t` back."""
    return adoptions(tables, runner).release(tables.name("t"))


def plain(tables, name="t"):
    """The plain table of this name, as adopting sees it."""
    tables.forget()
    return tables.environment.store.plain(tables.name(name))


def listed(tables) -> list[str]:
    """The names that SHOW MATERIALIZED TABLES knows."""
    return [row[1] for row in tables.execute("SHOW MATERIALIZED TABLES").rows]


@dataclass(frozen=True)
class Case:
    """A statement that adopts a table, or hands one back.

    Args:
        steps: How many steps its plan has.
        query: Of the definition.
        releases: Whether it hands the table back.
    """

    steps: int
    query: str = SUMS
    clauses: str = ""
    releases: bool = False

    def arrange(self, tables: Tables) -> None:
        """Make the plain table, or the materialized one that is handed back."""
        prepare(tables)
        tables.source("t", COLUMNS, OLD_ROWS)
        if self.releases:
            adopt(tables, self.query, self.clauses)

    def run(self, tables: Tables, runner=None):
        """Carry it out."""
        if self.releases:
            return release(tables, runner)
        return adopt(tables, self.query, self.clauses, runner)


CASES = {
    "adopt": Case(3),
    "adopt with comments and options": Case(
        3, clauses="(k INT COMMENT 'c', total BIGINT) COMMENT 'd' WITH ('a' = '1')"
    ),
    "adopt clustered": Case(3, clauses="CLUSTER BY (k)"),
    "adopt with a key": Case(4, clauses="(PRIMARY KEY (k) NOT ENFORCED)"),
    "adopt with new columns": Case(3, WIDER),
    "adopt with column mapping": Case(4, SPACED),
    "release": Case(3, clauses="COMMENT 'd' WITH ('a' = '1')", releases=True),
}
FAULTS = [
    pytest.param(case, step, after, id=f"{name}-{step}-{'after' if after else 'before'}")
    for name, case in CASES.items()
    for step in range(case.steps)
    for after in (False, True)
]


def look(tables: Tables):
    """All that readers can see of the table, but for which version it is at."""
    found = tables.find("t")
    facts: object = type(found)
    if isinstance(found, StoredTable):
        trusted = found.definition.baseline is not None and found.definition.baseline.is_adopted
        positions = {name: str(position) for name, position in found.positions.items()}
        facts = (found.definition.resolved, trusted, positions, found.unpublished)
    return tables.rows("t"), tables.metadata("t"), facts


class Adoption:
    """What adopting and releasing keep, and what they refuse."""

    @pytest.fixture(autouse=True)
    def _prepared(self, tables):
        prepare(tables)
        tables.learn(SPACED, "k INT; total BIGINT; n=n BIGINT", lambda _: [(1, 15, 2), (2, 7, 1)])

    @pytest.fixture
    def table(self, tables):
        tables.source("t", COLUMNS, OLD_ROWS)
        return tables.identity("t")

    def test_a_table_is_taken_over_as_it_is(self, tables, table):
        (version,) = tables.versions("t")
        outcome = adopt(tables)
        assert (outcome.action, outcome.refresh) == (Action.ADOPTED, None)
        assert f"rows up to version {version}" in outcome.message
        assert any("are lost then" in warning for warning in outcome.warnings)
        assert tables.rows("t") == OLD_ROWS
        assert tables.identity("t") == table
        stored = tables.stored("t")
        assert (stored.seq, stored.unpublished, stored.foreign_commits) == (1, False, ())
        assert stored.definition.baseline.is_adopted
        assert stored.definition.baseline.kept_version == version
        assert listed(tables) == ["t"]

    def test_its_rows_are_trusted_until_a_source_moves(self, tables, table):
        adopt(tables)
        found = refresh(tables)
        assert found.status is RefreshResult.UP_TO_DATE
        assert "come from the adopted table" in found.note
        assert tables.rows("t") == OLD_ROWS
        tables.append("orders", [(3, DAY_3, 1)])
        found = refresh(tables)
        assert found.status is RefreshResult.REFRESHED
        assert any("are gone" in warning for warning in found.warnings)
        assert found.note == ""
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]
        assert tables.stored("t").definition.baseline is None
        assert tables.identity("t") == table
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).warnings == ()

    def test_a_table_that_follows_its_sources_keeps_the_rows(self, tables):
        tables.source("t", "k INT; amount INT", [(0, 99)])
        outcome = adopt(tables, KEYS)
        assert (outcome.action, outcome.warnings) == (Action.ADOPTED, ())
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).strategy == "append"
        assert tables.rows("t") == [(0, 99), (3, 1)]
        assert tables.stored("t").definition.baseline.is_adopted

    @pytest.mark.usefixtures("table")
    def test_it_is_adopted_once(self, tables):
        adopt(tables)
        version = tables.stored("t").version
        again = adopt(tables)
        assert (again.action, again.warnings) == (Action.UNCHANGED, ())
        assert tables.stored("t").version == version
        assert adopt(tables, clauses="COMMENT 'new'").action is Action.ALTERED
        assert tables.rows("t") == OLD_ROWS
        assert tables.stored("t").definition.baseline.is_adopted

    def test_equal_rows_are_kept_and_trusted_to_nothing(self, tables):
        tables.source("t", COLUMNS, EQUAL_ROWS)
        identity, before = tables.identity("t"), tables.versions("t")
        outcome = adopt(tables, if_equal=True)
        assert (outcome.action, outcome.warnings) == (Action.ADOPTED, ())
        assert outcome.changes == ("table adopted, because its rows are those of the query",)
        assert tables.identity("t") == identity
        assert tables.stored("t").definition.baseline is None
        assert len(before) + 1 <= len(tables.versions("t")) <= len(before) + 2
        assert tables.rows("t") == EQUAL_ROWS
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).status is RefreshResult.REFRESHED
        assert tables.rows("t") == [*EQUAL_ROWS, (3, 1)]

    @pytest.mark.usefixtures("table")
    def test_rows_that_differ_are_named_and_stay(self, tables):
        before = look(tables)
        with raises(conditions.ROWS_DIFFER) as caught:
            adopt(tables, if_equal=True)
        total, *rows = caught.value.violations
        assert total.startswith("2 rows differ")
        assert sorted(row.partition(":")[0] for row in rows) == ["missing", "unexpected"]
        assert look(tables) == before
        assert listed(tables) == []

    def test_a_query_with_a_new_column_has_no_equal_rows(self, tables):
        tables.source("t", COLUMNS, EQUAL_ROWS)
        with raises(conditions.ROWS_DIFFER) as caught:
            adopt(tables, WIDER, if_equal=True)
        (violation,) = caught.value.violations
        assert violation.startswith("The query has a new column")

    def test_a_start_that_leaves_rows_out_has_no_equal_rows(self, tables):
        tables.source("t", COLUMNS, EQUAL_ROWS)
        with raises(conditions.ROWS_DIFFER) as caught:
            adopt(tables, clauses="START_MODE = FROM_NOW", if_equal=True)
        assert "START_MODE leaves rows of the sources out." in caught.value.violations

    def test_what_is_not_there_is_created(self, tables):
        assert adopt(tables).action is Action.CREATED
        assert tables.rows("t") == [(1, 15), (2, 7)]
        assert tables.stored("t").definition.baseline is None

    @pytest.mark.usefixtures("table")
    def test_new_columns_are_null_in_old_rows(self, tables):
        outcome = adopt(tables, WIDER)
        assert any("`n` BIGINT" in change for change in outcome.changes)
        assert tables.rows("t") == [(*row, None) for row in OLD_ROWS]

    def test_every_difference_is_named_and_nothing_is_touched(self, tables):
        tables.source("t", "k STRING; sum BIGINT; more INT", [("1", 2, 3)])
        before = plain(tables)
        with raises(conditions.CANNOT_ADOPT) as caught:
            adopt(tables, clauses="PARTITIONED BY (k)")
        names, types, gone, partitions = caught.value.violations
        assert "position 0" in names
        assert "`k` STRING" in names
        assert "`total` BIGINT" in types
        assert "`more` INT" in gone
        assert "partitioned by ()" in partitions
        assert plain(tables) == before

    @pytest.mark.usefixtures("table")
    def test_a_new_column_cannot_be_not_null(self, tables):
        with raises(conditions.CANNOT_ADOPT) as caught:
            adopt(tables, WIDER, "(k INT, total BIGINT, n BIGINT NOT NULL)")
        assert len(caught.value.violations) == 1

    def test_a_view_is_not_adopted(self, tables):
        tables.view("t", SUMS)
        with raises(conditions.CANNOT_ADOPT, match="view"):
            adopt(tables)

    @pytest.mark.parametrize(
        ("clauses", "rows"),
        [
            ("(PRIMARY KEY (k) NOT ENFORCED)", [(1, 15), (1, 16)]),
            ("(PRIMARY KEY (k) NOT ENFORCED)", [(None, 15)]),
            ("(CHECK (total < 100))", [(1, 100)]),
            ("(k INT NOT NULL, total BIGINT)", [(None, 15)]),
        ],
    )
    def test_declared_rules_hold_for_the_rows_that_are_there(self, tables, clauses, rows):
        tables.source("t", COLUMNS, rows)
        before = plain(tables)
        with pytest.raises(ConstraintViolatedError):
            adopt(tables, clauses=clauses)
        assert plain(tables) == before

    @pytest.mark.usefixtures("table")
    def test_a_key_of_a_new_column_is_null_in_old_rows(self, tables):
        with pytest.raises(ConstraintViolatedError):
            adopt(tables, WIDER, "(PRIMARY KEY (n) NOT ENFORCED)")
        assert isinstance(tables.find("t"), UnmanagedTable)

    @pytest.mark.usefixtures("table")
    def test_an_instant_must_be_known_to_the_sources(self, tables):
        before = plain(tables)
        long_ago = datetime(2000, 1, 1)  # noqa: DTZ001 - in the session's zone
        to_come = datetime.now(tz=timezone.utc) + timedelta(days=1)
        for instant in (long_ago, to_come):
            with raises(conditions.INVALID_ADOPTION_INSTANT) as caught:
                adopt(tables, as_of=instant)
            assert len(caught.value.violations) == 1
        assert plain(tables) == before

    @pytest.mark.usefixtures("table")
    def test_planning_changes_nothing(self, tables):
        before = plain(tables)
        plan, action = adoptions(tables).plan(statement(), AdoptionTerms())
        assert (action, plan.changes) == (Action.ADOPTED, ("table adopted",))
        assert plain(tables) == before

    def test_a_clone_becomes_a_table_of_its_own(self, tables):
        create(tables, clauses="(k INT COMMENT 'c', total BIGINT) COMMENT 'd' WITH ('a' = '1')")
        or_alter(tables, clauses="(k INT COMMENT 'c', total BIGINT) COMMENT 'e' WITH ('a' = '1')")
        tables.clone("t", "u")
        original = tables.stored("t")
        assert adopt(tables, clauses="WITH ('b' = '2')", name="u").action is Action.ADOPTED
        stored = tables.stored("u")
        assert stored.definition.table_id != original.definition.table_id
        assert not stored.unpublished
        seen = tables.metadata("u")
        assert (seen.comment, seen.column_comments, seen.options) == ("", {}, {"b": "2"})
        tables.append("orders", [(3, DAY_3, 1)])
        assert tables.execute("ALTER MATERIALIZED TABLE u REFRESH").outcome.refresh.rows == 3
        assert tables.rows("t") == [(1, 15), (2, 7)]
        assert tables.stored("t") == original
        assert tables.stored("u").seq == stored.seq + 1

    @pytest.mark.usefixtures("table")
    def test_a_second_adoption_does_nothing(self, tables):
        late = ConflictingRunner(tables.environment.runner, CommitDefinition, lambda: adopt(tables))
        assert adopt(tables, runner=late).action is Action.UNCHANGED
        assert tables.rows("t") == OLD_ROWS
        assert tables.stored("t").seq == 1

    @pytest.mark.usefixtures("table")
    def test_restore_to_before_makes_a_plain_table_of_it(self, tables):
        adopt(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        refresh(tables)
        tables.restore("t", tables.versions("t")[0])
        assert isinstance(tables.find("t"), UnmanagedTable)
        assert adopt(tables).action is Action.ADOPTED
        assert tables.rows("t") == OLD_ROWS
        tables.append("orders", [(4, DAY_3, 1)])
        assert refresh(tables).rows == 4

    @pytest.mark.usefixtures("table")
    def test_or_replace_ends_the_trust(self, tables):
        adopt(tables)
        create(tables, form="CREATE OR REPLACE")
        assert tables.stored("t").definition.baseline is None
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_a_released_table_keeps_all_but_its_definition(self, tables):
        create(tables, clauses="COMMENT 'd' WITH ('a' = '1')")
        identity = tables.identity("t")
        assert release(tables).action is Action.RELEASED
        assert isinstance(tables.find("t"), UnmanagedTable)
        assert tables.rows("t") == [(1, 15), (2, 7)]
        assert tables.identity("t") == identity
        assert tables.metadata("t").options == {"a": "1"}
        assert listed(tables) == []
        with pytest.raises(NotMaterializedError):
            refresh(tables)

    def test_a_plain_table_is_released_already(self, tables):
        create(tables)
        release(tables)
        version = plain(tables).version
        assert release(tables).action is Action.UNCHANGED
        assert plain(tables).version == version

    def test_only_a_table_of_ours_is_released(self, tables):
        with pytest.raises(TableNotFoundError):
            release(tables)
        create(tables)
        tables.execute("ALTER MATERIALIZED TABLE t SUSPEND")
        tables.clone("t", "u")
        with pytest.raises(NotMaterializedError):
            adoptions(tables).release(tables.name("u"))
        tables.drop("t")
        tables.view("t", SUMS)
        with pytest.raises(NotMaterializedError):
            release(tables)

    def test_it_can_be_adopted_again(self, tables):
        create(tables)
        before = tables.stored("t")
        release(tables)
        tables.append("t", [(9, 9)])
        assert adopt(tables).action is Action.ADOPTED
        stored = tables.stored("t")
        assert tables.rows("t") == [(1, 15), (2, 7), (9, 9)]
        assert (stored.seq, stored.foreign_commits) == (before.seq + 2, ())
        tables.append("orders", [(3, DAY_3, 1)])
        assert refresh(tables).rows == 3

    def test_a_refresh_that_was_planned_before_a_release_writes_nothing(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(tables.environment.runner, Fill, lambda: release(tables))
        with pytest.raises(NotMaterializedError):
            tables.execute("ALTER MATERIALIZED TABLE t REFRESH", late)
        assert tables.rows("t") == [(1, 15), (2, 7)]

    def test_a_release_that_lost_a_race_is_done_again(self, tables):
        create(tables)
        tables.append("orders", [(3, DAY_3, 1)])
        late = ConflictingRunner(tables.environment.runner, Release, lambda: refresh(tables))
        assert release(tables, late).action is Action.RELEASED
        assert tables.rows("t") == [(1, 15), (2, 7), (3, 1)]
        assert isinstance(tables.find("t"), UnmanagedTable)

    @pytest.mark.parametrize(("case", "step", "after"), FAULTS)
    def test_a_step_fails(self, tables, case, step, after):
        case.arrange(tables)
        before = look(tables)
        faulty = Faulty(tables.environment.runner, step, after)
        error = None
        try:
            case.run(tables, faulty)
        except (InjectedError, UnfinishedChangeError) as raised:
            error = raised
        failed = faulty.failed
        assert failed is not None
        assert (error is None) == isinstance(failed, Register | Unregister)
        is_committed = failed.phase is Phase.AFTER or (failed.phase is Phase.COMMIT and after)
        assert isinstance(tables.find("t"), UnmanagedTable) == (is_committed == case.releases)
        assert tables.rows("t") == before[0] or is_committed
        case.run(tables)
        done = look(tables)
        tables.drop("t")
        assert isinstance(tables.find("t"), Missing)
        case.arrange(tables)
        case.run(tables)
        assert done == look(tables)
