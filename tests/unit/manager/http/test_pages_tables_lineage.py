from __future__ import annotations

from dataclasses import replace

from dbt.adapters.spark_mt.manager.http.pages_tables import MOST, Row, lineage_around, lineage_of
from tests.unit.manager.http.special_names import LOOP, tables_with_special_names
from tests.unit.manager.samples import NOW_MS, full_name, many_tables, sample_tables


def rows_of(tables):
    return {d.view.name: Row(d.view, NOW_MS) for d in tables}


ROWS = rows_of(sample_tables())


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


def test_the_lineage_of_a_table_has_its_sources_and_its_readers():
    found = lineage_around(ROWS[full_name("hourly_departures")], ROWS)
    assert {node.name.rpartition(".")[2] for node in found.nodes} == {
        *("airlines", "flights", "planes", "weather", "flights_wide"),
        *("hourly_departures", "busiest_hours", "daily_report"),
    }


def test_of_a_large_lineage_the_nearest_tables_are_shown():
    rows = rows_of(many_tables(1_000))
    middle = full_name("report_0503")
    found = lineage_around(rows[middle], rows)
    names = {node.name for node in found.nodes}
    assert {middle, full_name("report_0502"), full_name("report_0504")} <= names


def test_a_ring_of_names_ends():
    rows = rows_of(tables_with_special_names())
    found = lineage_around(rows[full_name(LOOP[0])], rows)
    assert {node.name for node in found.nodes} == {full_name(name) for name in LOOP}


def test_a_table_that_seems_to_read_itself_is_drawn_once():
    row = ROWS[full_name("flights_wide")]
    itself = Row(replace(row.view, reads=(row.view.name,)), NOW_MS)
    found = lineage_of([itself], {row.view.name: itself})
    assert [node.name for node in found.nodes] == [row.view.name]
