"""Everything about one table, for a page of its own; reads the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.execution.description import definition_rows, engine_rows, state_rows
from dbt.adapters.spark_mt.execution.errors import problem_of
from dbt.adapters.spark_mt.execution.lag import lag_seconds
from dbt.adapters.spark_mt.execution.show_create import create_text
from dbt.adapters.spark_mt.execution.stored import existing_table
from dbt.adapters.spark_mt.resolution.engines import choose_engine
from dbt.adapters.spark_mt.service.views import SourcePosition, TableDetails

if TYPE_CHECKING:
    from dbt.adapters.spark_mt.definition.identifier import TableName
    from dbt.adapters.spark_mt.definition.job import Job
    from dbt.adapters.spark_mt.definition.positions import Positions
    from dbt.adapters.spark_mt.definition.table_state import StoredTable
    from dbt.adapters.spark_mt.execution.environment import Environment
    from dbt.adapters.spark_mt.service.views import TableView


def table_details(
    environment: Environment,
    name: TableName,
    view: TableView,
    history: tuple[Job, ...],
    handler: str,
) -> TableDetails:
    """Describe a table; one whose sources are gone is described all the same.

    Args:
        environment: The ports.
        name: Its full name.
        view: What lists show of it.
        history: Its newest refreshes.
        handler: Who refreshes it, for people.

    Raises:
        MaterializedTableError: There is no such table, or its definition cannot be read.
    """
    confs = environment.confs()
    table = existing_table(environment, name)
    rows = dict(definition_rows(table.definition, confs))
    more, newest = _looked_at(environment, table)
    rows |= more
    rows["Refresh handler"] = handler
    return TableDetails(
        view=view,
        statement=create_text(table.definition, confs, or_alter=False),
        expanded_query=table.definition.resolved.expanded_query,
        description=tuple(rows.items()),
        columns=tuple(
            (c.name, c.type.lower(), c.comment or "") for c in table.definition.resolved.columns
        ),
        positions=_positions(table.positions or {}, newest),
        history=history,
    )


def _looked_at(environment: Environment, table: StoredTable) -> tuple[dict[str, str], Positions]:
    """Look at the sources; where that fails, say so instead of failing."""
    confs, resolved = environment.confs(), table.definition.resolved
    try:
        analyzed = environment.stored_analyzer.analyze_stored(resolved)
        newest = environment.sources.positions(analyzed.sources)
        names = {str(source.name): source.name for source in analyzed.sources}
        lag = lag_seconds(table, names, environment.sources, environment.now_ms())
    except Exception as error:  # noqa: BLE001 - what is wrong is a fact about the table
        return {**dict(state_rows(table, None, confs)), "Sources": problem_of(error)}, {}
    engine = choose_engine(resolved, analyzed)
    rows = dict(engine_rows(table.definition, engine)) | dict(state_rows(table, lag, confs))
    return rows, newest


def _positions(reflected: Positions, newest: Positions) -> tuple[SourcePosition, ...]:
    names = sorted({*reflected, *newest})
    return tuple(
        SourcePosition(
            name,
            str(reflected[name]) if name in reflected else "",
            str(newest[name]) if name in newest else "",
        )
        for name in names
    )
