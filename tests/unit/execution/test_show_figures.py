"""What a catalogue of tables shows."""

from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.definition.definition import DeclaredDefinition, LastRefresh, StoredTable
from dbt.adapters.spark_mt.definition.freshness import Freshness, TimeUnit
from dbt.adapters.spark_mt.execution.checks import Lag
from dbt.adapters.spark_mt.execution.show import figures_of
from tests.unit.builders import QUERY, TABLE, resolve, stored

CONFS = {"spark.sql.session.timeZone": "Europe/Berlin"}
LAG = Lag(str(TABLE), 7200, 7200, 60_000, since_ms=53_000)
DEFINITION = stored(resolve(DeclaredDefinition(QUERY, freshness=Freshness(2, TimeUnit.HOUR))))
REFRESH = LastRefresh("r", "recompute", "REFRESH", 40_000, 41_000, 3)


def shown(table, lag=LAG):
    return {figure.label: figure.value for figure in figures_of(table, lag, CONFS)}


def test_a_refreshed_table():
    owned = replace(DEFINITION, owner=(("dbt", "model.p.m"),))
    figures = shown(StoredTable(owned, 1, 1, (), None, REFRESH))
    assert figures == {
        "Freshness": "INTERVAL '2' HOUR",
        "Refresh mode": "FULL (by default)",
        "Start mode": "FROM_BEGINNING (by default)",
        "Status": "ACTIVATED",
        "Lag": "7 seconds at 1970-01-01 01:01:00 Europe/Berlin",
        "Last refresh": "1970-01-01 01:00:40 Europe/Berlin",
        "Strategy": "recompute",
        "Rows": "3",
        "Declared by": "model.p.m",
    }


def test_unknown_figures_are_left_out():
    figures = shown(StoredTable(DEFINITION, 1, 1, (), None, replace(REFRESH, rows=None)), None)
    assert figures.keys() == {
        *("Freshness", "Refresh mode", "Start mode", "Status", "Last refresh", "Strategy")
    }
    assert shown(StoredTable(DEFINITION, 1, 1, (), None, None), replace(LAG, is_known=False))
