"""FLIP-557: START_MODE says which data a query is applied to, STATE_RETENTION what is kept."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.modes import StartModeType, StateRetentionType
from dbt.adapters.spark_mt.execution.results import Action
from tests.flips.journeys import journey
from tests.support.errors import raises

ORDERS = "user_id INT; amount INT; note STRING"
PAIR = "user_id INT; amount INT"
T = "filtered_high_value_orders"
QUERY = "SELECT user_id, amount FROM orders WHERE amount > {limit}"
CREATE = "CREATE OR ALTER MATERIALIZED TABLE " + T + " {clauses} AS " + QUERY
ALTER = "ALTER MATERIALIZED TABLE " + T + " {clauses} AS " + QUERY
SHOWN = (
    "START_MODE = FROM_NOW(INTERVAL '7' DAY) /* Evaluated to FROM_TIMESTAMP(TIMESTAMP "
    "'2025-10-28 10:00:00') at execution */"
)


def orders(world):
    """Two orders."""
    world.source("orders", ORDERS, [(1, 100, "a"), (2, 2000, "b")])


def deploy(world, clauses="", limit=1000):
    """CREATE OR ALTER with clauses."""
    return world.run(CREATE.format(clauses=clauses, limit=limit), PAIR)


def alter(world, clauses="", limit=50):
    """ALTER … AS with clauses."""
    return world.run(ALTER.format(clauses=clauses, limit=limit), PAIR)


def epoch_ms(*parts):
    """Milliseconds since the epoch of a time in UTC."""
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp() * 1000)


class Flip557:
    """START_MODE and STATE_RETENTION."""

    @journey(
        "2.5; 4, Full Reprocessing (Default)",
        "neither clause: a changed query is applied to all source data",
        "the default is FROM_BEGINNING: the FLIP names this one and RESUME_OR_FROM_BEGINNING, and "
        "says that all history shall be processed",
        spark=True,
    )
    def test_reprocesses_everything_by_default(self, world):
        orders(world)
        deploy(world)
        assert world.resolved(T).start_mode.mode.type is StartModeType.FROM_BEGINNING
        assert world.resolved(T).state_retention.type is StateRetentionType.NONE
        assert alter(world).refresh.rows == 2
        assert world.tables.rows(T) == [(1, 100), (2, 2000)]

    @journey(
        "4, Reprocess from scratch and discard state",
        "`SET START_MODE = FROM_BEGINNING SET STATE_RETENTION = NONE`",
    )
    def test_reprocesses_from_scratch(self, world):
        orders(world)
        deploy(world)
        outcome = alter(world, "SET START_MODE = FROM_BEGINNING SET STATE_RETENTION = NONE")
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 2)
        assert world.tables.rows(T) == [(1, 100), (2, 2000)]

    @pytest.mark.parametrize("retention", ["ALL", "NONE", "PTF_ONLY"])
    @journey(
        "2.2; 2.4",
        "STATE_RETENTION of a new table is stored and has no effect",
        "ALL and PTF_ONLY warn that there is no state yet",
    )
    def test_a_new_table_has_no_state(self, world, retention):
        orders(world)
        outcome = deploy(world, f"STATE_RETENTION = {retention}")
        assert outcome.action is Action.CREATED
        assert world.stored(T).definition.declared.state_retention.sql == retention
        assert bool(outcome.warnings) == (retention != "NONE")
        assert deploy(world, f"STATE_RETENTION = {retention}").action is Action.UNCHANGED

    @journey(
        "2.3, RESUME_OR_FROM_BEGINNING",
        "nothing to resume from: the new table falls back to the beginning",
    )
    def test_resuming_nothing_begins_at_the_beginning(self, world):
        orders(world)
        assert deploy(world, "START_MODE = RESUME_OR_FROM_BEGINNING").refresh.rows == 1
        again = deploy(world, "START_MODE = RESUME_OR_FROM_BEGINNING")
        assert again.action is Action.UNCHANGED

    @journey(
        "2.3, Implementation Note",
        "intervals and timestamps are resolved once, to milliseconds since the epoch in UTC; a "
        "literal without a zone is in the session's",
    )
    def test_instants_are_resolved_once(self, world):
        orders(world)
        clauses = "REFRESH_MODE = FULL START_MODE = FROM_NOW(INTERVAL '7' DAY)"
        deploy(world, clauses)
        assert world.resolved(T).start_mode.instant_ms == epoch_ms(2025, 10, 28, 10)
        world.clock.now += timedelta(days=1)
        assert deploy(world, clauses).action is Action.UNCHANGED
        assert world.resolved(T).start_mode.instant_ms == epoch_ms(2025, 10, 28, 10)
        literal = "REFRESH_MODE = FULL START_MODE = FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')"
        assert deploy(world, literal).action is Action.ALTERED
        assert world.resolved(T).start_mode.instant_ms == epoch_ms(2025, 10, 28, 12)

    @journey(
        "2.6",
        "SHOW CREATE prints the expression as written, and the instant that it meant",
    )
    def test_show_create_prints_the_instant(self, world):
        orders(world)
        deploy(world, "REFRESH_MODE = FULL START_MODE = FROM_NOW(INTERVAL '7' DAY)")
        world.clock.now += timedelta(hours=5)
        ((text,),) = world.rows(f"SHOW CREATE OR ALTER MATERIALIZED TABLE {T}")
        assert SHOWN in text
        assert world.run(text).action is Action.UNCHANGED

    @journey(
        "2.3, FROM_TIMESTAMP",
        "an instant in the future",
        "an error: the table would look fresh and stay empty",
    )
    def test_nothing_starts_in_the_future(self, world):
        orders(world)
        with raises(conditions.START_IN_THE_FUTURE):
            deploy(world, "START_MODE = FROM_TIMESTAMP(TIMESTAMP '2030-01-01 00:00:00')")
        assert not world.exists(T)

    @journey(
        "2.3",
        "a start mode of a table in mode FULL",
        "stored without effect, and the statement says so: each refresh computes the whole table",
    )
    def test_full_mode_starts_nowhere(self, world):
        orders(world)
        outcome = deploy(world, "REFRESH_MODE = FULL START_MODE = FROM_NOW")
        assert (outcome.refresh.rows, len(outcome.warnings)) == (1, 1)
        assert world.stored(T).definition.declared.start_mode.sql == "FROM_NOW"

    @journey(
        "2.5",
        "the default start mode",
        "is a setting here, `spark.materialized-table.default-start-mode`",
    )
    def test_the_default_is_a_setting(self, world):
        orders(world)
        key = "spark.materialized-table.default-start-mode"
        world.configure(key, "RESUME_OR_FROM_BEGINNING")
        deploy(world)
        assert world.resolved(T).start_mode.mode.sql == "RESUME_OR_FROM_BEGINNING"

    @journey(
        '2.3, FROM_NOW; 4, Reprocessing from "Now" and discard state',
        "`START_MODE = FROM_NOW STATE_RETENTION = NONE`: a new table that ignores all history",
        spark=True,
    )
    def test_starts_now(self, world):
        orders(world)
        deploy(world, "START_MODE = FROM_NOW STATE_RETENTION = NONE")
        assert world.tables.rows(T) == []
        world.tables.append("orders", [(3, 3000, "c"), (4, 4, "d")])
        world.refresh(T)
        world.refresh(T)
        assert world.tables.rows(T) == [(3, 3000)]

    @pytest.mark.parametrize(
        "mode",
        [
            "FROM_NOW(INTERVAL '7' DAY)",
            "FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')",
            "RESUME_OR_FROM_NOW(INTERVAL '7' DAY)",
            "RESUME_OR_FROM_TIMESTAMP(TIMESTAMP '2025-10-28 12:00:00')",
        ],
    )
    @journey(
        "2.3, FROM_NOW(interval), FROM_TIMESTAMP and their RESUME_OR forms",
        "a new table takes what its sources got since the instant; RESUME_OR has nothing to resume",
    )
    def test_starts_at_an_instant(self, world, mode):
        world.clock.now = datetime(2025, 10, 1, tzinfo=timezone.utc)
        orders(world)
        world.clock.now = datetime(2025, 11, 1, tzinfo=timezone.utc)
        world.tables.append("orders", [(3, 3000, "c"), (4, 4, "d")])
        world.clock.now = datetime(2025, 11, 4, 10, tzinfo=timezone.utc)
        deploy(world, f"START_MODE = {mode}")
        assert world.tables.rows(T) == [(3, 3000)]
        world.tables.append("orders", [(5, 5000, "e")])
        world.refresh(T)
        assert world.tables.rows(T) == [(3, 3000), (5, 5000)]

    @journey(
        "4, Partial Reprocessing (Time-Bound Bug)",
        "`SET START_MODE = FROM_TIMESTAMP(…) SET STATE_RETENTION = NONE`",
        "with a key the rows since the instant replace those that are there; without one they "
        "would be doubled: refused with the alternatives",
    )
    def test_reprocesses_a_part(self, world):
        orders(world)
        world.clock.now += timedelta(days=2)
        world.tables.append("orders", [(3, 3000, "c")])
        query = "SELECT user_id, amount FROM orders"
        corrected = "SELECT user_id, amount * 2 AS amount FROM orders"
        for name, key in (("keyed", "(PRIMARY KEY (user_id) NOT ENFORCED)"), ("plain", "")):
            world.run(f"CREATE MATERIALIZED TABLE {name} {key} AS {query}", PAIR)
        world.learn(corrected, PAIR)
        change = "SET START_MODE = FROM_TIMESTAMP(TIMESTAMP '2025-11-05 00:00:00')"
        change += f" SET STATE_RETENTION = NONE AS {corrected}"
        world.run(f"ALTER MATERIALIZED TABLE keyed {change}")
        assert world.tables.rows("keyed") == [(1, 100), (2, 2000), (3, 6000)]
        with raises(conditions.UNSUPPORTED_START_MODE_CHANGE) as error:
            world.run(f"ALTER MATERIALIZED TABLE plain {change}")
        assert error.value.parameters["table"].endswith("plain")
        assert world.tables.rows("plain") == [(1, 100), (2, 2000), (3, 3000)]

    @journey(
        "2.3, RESUME_OR_FROM_BEGINNING; 4, Efficient Schema Change",
        "a column is added, and the query continues where the old one stopped",
        spark=True,
    )
    def test_resumes_with_one_more_column(self, world):
        orders(world)
        deploy(world)
        world.tables.append("orders", [(3, 3000, "c")])
        query = "SELECT user_id, amount, note FROM orders WHERE amount > 1000"
        change = "SET START_MODE = RESUME_OR_FROM_BEGINNING SET STATE_RETENTION = NONE"
        outcome = world.run(f"ALTER MATERIALIZED TABLE {T} {change} AS {query}", ORDERS)
        assert (outcome.action, outcome.refresh.rows) == (Action.ALTERED, 1)
        assert world.tables.rows(T) == [(2, 2000, None), (3, 3000, "c")]

    @journey(
        "4, Advanced State Migration",
        "`RESUME_OR_FROM_BEGINNING` with `PTF_ONLY`",
        "a query without state, so the positions are all that is taken over; state of a process "
        "function is kept in `tests/functional/streams/test_process_functions.py`",
    )
    def test_migrates_state(self, world):
        orders(world)
        deploy(world)
        world.tables.append("orders", [(3, 3000, "c"), (4, 70, "d")])
        change = "SET START_MODE = RESUME_OR_FROM_BEGINNING SET STATE_RETENTION = PTF_ONLY('join')"
        assert alter(world, change).refresh.rows == 2
        assert world.tables.rows(T) == [(2, 2000), (3, 3000), (4, 70)]

    @pytest.mark.parametrize("retention", ["ALL", "PTF_ONLY"])
    @journey(
        "2.1",
        "state that is kept, with a start that leaves out or repeats data",
        "refused: the two would contradict each other; without START_MODE, ALL and PTF_ONLY mean "
        "RESUME_OR_FROM_BEGINNING",
    )
    def test_refuses_contradictions(self, world, retention):
        orders(world)
        deploy(world)
        with raises(conditions.CONTRADICTORY_STATE_RETENTION):
            alter(world, f"SET START_MODE = FROM_BEGINNING SET STATE_RETENTION = {retention}")
        alter(world, f"SET STATE_RETENTION = {retention}")
        mode = world.resolved(T).start_mode.mode
        assert mode.type is StartModeType.RESUME_OR_FROM_BEGINNING
