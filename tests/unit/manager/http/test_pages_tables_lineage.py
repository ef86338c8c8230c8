from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.manager.http.pages_format import HEIGHT, SHOWN, WIDTH, sparkline
from dbt.adapters.spark_mt.manager.http.pages_tables import MOST, Row, lineage_around, lineage_of
from dbt.adapters.spark_mt.manager.views import RefreshPoint
from tests.unit.manager.http.awkward import LOOP, awkward_tables
from tests.unit.manager.samples import NOW_MS, full_name, many_tables, sample_tables


def rows_of(tables):
    return {d.view.name: Row(d.view, NOW_MS) for d in tables}


ROWS = rows_of(sample_tables())


def test_a_chart_tells_the_same_in_words():
    points = (
        RefreshPoint(0, 1_000, "FINISHED"),
        RefreshPoint(1, 4_000, "FINISHED"),
        RefreshPoint(2, 10, "SKIPPED"),
        RefreshPoint(3, 500, "FAILED"),
        RefreshPoint(4, None, "RUNNING"),
    )
    drawn = sparkline(points)
    assert dict(drawn.paths).keys() == {"finished", "skipped", "failed", "running"}
    assert drawn.label == (
        "Last 5 refreshes: 2 finished, 1 had nothing to do, 1 failed, 1 running; "
        "the longest took 4 s"
    )


def test_the_longest_refresh_fills_the_height_and_the_newest_stands_at_the_right():
    drawn = dict(
        sparkline((RefreshPoint(0, 2_000, "FINISHED"), RefreshPoint(1, 0, "FINISHED"))).paths
    )
    first, second = drawn["finished"].split("M")[1:]
    assert first.startswith(f"{WIDTH - 10} {HEIGHT}v-{HEIGHT}.0")
    assert second.startswith(f"{WIDTH - 5} {HEIGHT}v-2.0")


def test_only_the_newest_refreshes_are_drawn():
    points = [RefreshPoint(n, n, "FINISHED") for n in range(SHOWN + 10)]
    assert dict(sparkline(points).paths)["finished"].count("M") == SHOWN


@pytest.mark.parametrize("points", [(), (RefreshPoint(0, None, "RUNNING"),)])
def test_few_refreshes_are_no_trouble(points):
    drawn = sparkline(points)
    assert drawn.label == ("Last 1 refresh: 1 running" if points else "No refresh yet")


def test_lineage_has_sources_and_what_reads_them_later():
    found = lineage_of(list(ROWS.values()), ROWS)
    order = [node.name for node in found.nodes]
    assert len(order) == len(set(order)) == len(ROWS) + 5
    for node in found.nodes:
        assert all(order.index(read) < order.index(node.name) for read in node.reads)
    assert found.left_out == 0
    assert next(n for n in found.nodes if n.name == full_name("planes")).row is None


def test_lineage_of_many_tables_says_what_it_leaves_out():
    rows = rows_of(many_tables(1_000))
    found = lineage_of(list(rows.values())[:100], rows)
    assert len(found.nodes) == MOST
    shown = {node.name for node in found.nodes}
    assert all(set(node.reads) <= shown for node in found.nodes)
    wanted = {n for r in list(rows.values())[:100] for n in (r.view.name, *r.view.reads)}
    assert found.left_out == len(wanted) - MOST


def test_around_a_table_stands_what_it_comes_from_and_what_comes_from_it():
    found = lineage_around(ROWS[full_name("hourly_departures")], ROWS)
    assert {node.name.rpartition(".")[2] for node in found.nodes} == {
        *("airlines", "flights", "planes", "weather", "flights_wide"),
        *("hourly_departures", "busiest_hours", "daily_report"),
    }


def test_around_a_table_the_nearest_are_kept():
    rows = rows_of(many_tables(1_000))
    middle = full_name("report_0503")
    found = lineage_around(rows[middle], rows)
    names = {node.name for node in found.nodes}
    assert {middle, full_name("report_0502"), full_name("report_0504")} <= names


def test_a_ring_of_names_ends():
    rows = rows_of(awkward_tables())
    found = lineage_around(rows[full_name(LOOP[0])], rows)
    assert {node.name for node in found.nodes} == {full_name(name) for name in LOOP}


def test_a_table_that_seems_to_read_itself_is_drawn_once():
    row = ROWS[full_name("flights_wide")]
    itself = Row(replace(row.view, reads=(row.view.name,)), NOW_MS)
    found = lineage_of([itself], {row.view.name: itself})
    assert [node.name for node in found.nodes] == [row.view.name]
