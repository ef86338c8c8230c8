"""Tables whose rows a stateful processor makes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.changes.differ import diff
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition
from dbt.adapters.spark_mt.definition.errors import ProcessFunctionError
from dbt.adapters.spark_mt.definition.modes import LogicalRefreshMode
from dbt.adapters.spark_mt.resolution.resolver import Resolver
from dbt.adapters.spark_mt.resolution.row_lineage import row_shape
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.spark.formats.delta import FORMAT
from dbt.adapters.spark_mt.statements.clauses import Effect
from dbt.adapters.spark_mt.strategies.checks import StrategyChecks
from dbt.adapters.spark_mt.strategies.choice import choose
from dbt.adapters.spark_mt.strategies.strategy import OutputMode
from tests.support.errors import raises
from tests.unit.builders import NOW, TABLE, Engine, analyzed, stored
from tests.unit.strategies.stream_queries import COLUMNS, QUERIES, columns
from tests.unit.strategies.test_stream import DELTA, codes, delta

_HERE = "tests.unit.resolution.processors"
_KEY = "spark.materialized-table.process-functions"
SETTINGS = Settings.from_confs(
    {
        _KEY: ", ".join(
            f"{name} = {_HERE}:{name}" for name in ("counts", "again", "unkeyed", "broken")
        )
    }
)


def resolved(name="counts", plan="batch_rows", settings=SETTINGS, **clauses):
    """Resolve a table over one of the plans, with a process function."""
    text = QUERIES[plan]["query"]
    ddl = "; ".join(f"{column} STRING" for column in columns(plan))
    expanded = text.replace(" s.", " spark_catalog.s.")
    streams = "modes" in QUERIES[plan]
    facts = {"source_columns": COLUMNS, "expanded": expanded, "streaming": streams}
    declared = DeclaredDefinition(text, options=(("process-function", name),), **clauses)
    known = Engine().knows(analyzed(text, ddl, delta(), **facts))
    return known.resolve(declared, settings=settings)


def problem(*args, **clauses):
    """What is wrong with such a table."""
    with pytest.raises(ProcessFunctionError) as caught:
        resolved(*args, **clauses)
    return caught.value.parameters["problem"]


def test_a_stateful_stream_makes_the_rows():
    found = resolved()
    assert [(c.name, c.type) for c in found.definition.columns] == [("id", "INT"), ("n", "BIGINT")]
    engine = choose(found.definition, found.analyzed)
    assert (engine.name, engine.output_mode, engine.key) == (
        "stream/stateful",
        OutputMode.APPEND,
        (),
    )
    assert engine.followed == (str(DELTA),)
    assert codes(engine) == ["PROCESS_FUNCTION", "VERSIONED_SOURCE"]
    assert engine.keeps_checkpoint
    assert "by id for id int, n bigint" in engine.reason


def test_nothing_but_the_stream_computes_a_part_of_the_rows():
    found = resolved()
    shape = row_shape(found.definition, found.analyzed)
    assert (shape.reason, shape.can_be_limited) == ("PROCESS_FUNCTION", False)


def test_a_stream_may_feed_it():
    found = resolved(plan="stream_rows")
    assert choose(found.definition, found.analyzed).name == "stream/stateful"


def test_a_function_that_cannot_be_had():
    assert "Did you mean 'counts'" in problem("count")
    assert "is registered" in problem("counts", settings=Settings())
    assert "failed with OSError" in problem("broken")
    assert "keys and output" in problem("unkeyed")


def test_a_query_that_cannot_feed_it():
    assert "groups" in problem(plan="distinct")
    assert "column id" in problem(plan="batch_file_window")
    assert "FULL" in problem(refresh_mode=LogicalRefreshMode.FULL)


def test_another_function_computes_all_rows_again():
    before, after = resolved(), resolved("again")
    changes = diff(before.definition, after.definition)
    assert [change.effect for change in changes] == [Effect.CONTENT]


@pytest.mark.parametrize("options", [(), (("process-function", "again"),)])
def test_a_clause_alone_changes_no_function(options):
    before = resolved()
    with pytest.raises(ProcessFunctionError) as caught:
        _resolver().resolve_clauses(
            TABLE,
            replace(before.definition.declared, options=options),
            stored(before.definition),
            before.analyzed,
        )
    assert "CREATE OR ALTER" in caught.value.parameters["problem"]


def _resolver():
    return Resolver(Engine(), Engine(), SETTINGS, lambda: NOW, StrategyChecks(), lambda _: FORMAT)


@pytest.mark.parametrize("text", ["counts", "counts=module", "=m:f", "a=m:f,,", "a=:f"])
def test_a_setting_that_registers_nothing(text):
    with raises(conditions.INVALID_SETTINGS):
        Settings.from_confs({_KEY: text})
