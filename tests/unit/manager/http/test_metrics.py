"""What a scraper reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from dbt.adapters.spark_mt.definition.freshness import FreshnessStatus
from dbt.adapters.spark_mt.manager.views import Health, Role
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.client import DAILY_FULL, Client
from tests.unit.manager.samples import NOW_MS, many_tables

BUSIEST = "spark_catalog.flights.busiest_hours"
SCORES = "spark_catalog.flights.carrier_scores"
HOURLY = "spark_catalog.flights.hourly_departures"
NEW = "spark_catalog.flights.weather_hourly"
OPEN_METRICS = {"accept": "application/openmetrics-text; version=1.0.0"}
PAGE = Path(__file__).parents[4] / "docs" / "rest.md"


def families(client, parse=prometheus, **headers):
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    return {family.name: family for family in parse(answer.text)}


def values(client):
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families(client).values()
        for sample in family.samples
    }


def test_tables():
    found = values(Client())
    assert found["spark_mt_table_lag_seconds", DAILY_FULL] == 14 * 3600
    assert found["spark_mt_table_freshness_seconds", DAILY_FULL] == 86_400
    assert found["spark_mt_table_allowed_lag_seconds", DAILY_FULL] == 86_405
    assert found["spark_mt_table_lag_seconds", HOURLY] == 431
    assert found["spark_mt_table_own_lag_seconds", HOURLY] == 411
    assert found["spark_mt_table_allowed_lag_seconds", HOURLY] == 180
    assert found["spark_mt_table_lag_measured_timestamp_seconds", HOURLY] == NOW_MS / 1000 - 2
    assert found["spark_mt_table_estimated_refresh_seconds", DAILY_FULL] == 5
    assert found["spark_mt_table_estimated_refresh_seconds", HOURLY] == 4
    assert found["spark_mt_table_freshness_met", DAILY_FULL] == 1
    assert found["spark_mt_table_freshness_met", BUSIEST] == 0
    assert found["spark_mt_table_consecutive_failures", BUSIEST] == 4
    next_run = found["spark_mt_table_next_run_timestamp_seconds", BUSIEST]
    assert next_run == pytest.approx(NOW_MS / 1000 + 180)


def test_unknown_figures_are_left_out():
    found = values(Client())
    assert ("spark_mt_table_lag_seconds", NEW) not in found
    assert ("spark_mt_table_own_lag_seconds", NEW) not in found
    assert ("spark_mt_table_estimated_refresh_seconds", NEW) not in found
    assert ("spark_mt_table_allowed_lag_seconds", NEW) not in found
    assert ("spark_mt_table_freshness_met", NEW) not in found
    assert ("spark_mt_table_freshness_met", SCORES) not in found
    assert ("spark_mt_table_next_run_timestamp_seconds", NEW) not in found
    assert ("spark_mt_last_success_timestamp_seconds", NEW) not in found


def test_refreshes():
    found = values(Client())
    assert found["spark_mt_refreshes_total", "finished", BUSIEST] == 14
    assert found["spark_mt_refreshes_total", "failed", BUSIEST] == 4
    assert found["spark_mt_refresh_duration_seconds_count", BUSIEST] == 20
    assert found["spark_mt_refresh_duration_seconds_sum", BUSIEST] > 20 * 9
    assert found["spark_mt_rows_written_total", BUSIEST] > 14 * 24
    assert found["spark_mt_last_success_timestamp_seconds", BUSIEST] > 1.7e9
    assert found["spark_mt_verifications_total", "different", BUSIEST] == 1
    assert found["spark_mt_verifications_total", "equal", BUSIEST] == 3


def test_the_manager():
    client = Client()
    client.manager.become(role=Role.STANDBY, queries_running=3)
    found = values(client)
    assert found["spark_mt_role", "standby"] == 1
    assert found["spark_mt_role", "active"] == 0
    assert found["spark_mt_queries_running",] == 3
    assert found["spark_mt_term",] == 7
    assert found["spark_mt_tick_duration_seconds",] == pytest.approx(0.18)
    assert found["spark_mt_manager_info", "0.1.0", "4.2.0", "local[2]", "spark_catalog"] == 1
    assert found["process_resident_memory_bytes",] > 1e6


def test_health_is_a_metric_too():
    client = Client()
    client.manager.become(Health(is_alive=True, is_ready=False))
    found = values(client)
    assert (found["spark_mt_alive",], found["spark_mt_ready",]) == (1, 0)


def test_a_manager_before_its_first_check():
    client = Client(FakeManager(()))
    client.manager.become(last_tick_at_ms=0)
    assert families(client)["spark_mt_last_tick_timestamp_seconds"].samples == []


def test_every_scrape_reads_again():
    client = Client()
    client.manager.change(DAILY_FULL, lag_seconds=5.0, freshness_status=FreshnessStatus.LATE)
    client.manager.drop(BUSIEST)
    found = values(client)
    assert found["spark_mt_table_lag_seconds", DAILY_FULL] == 5
    assert not any(BUSIEST in key for key in found)


def test_names_that_need_escaping():
    client = Client()
    client.manager.change(DAILY_FULL, strategy='a "b"\\\n{c}')
    (info,) = [
        sample
        for sample in families(client)["spark_mt_table_info"].samples
        if sample.labels["table"] == DAILY_FULL
    ]
    assert info.labels["strategy"] == 'a "b"\\\n{c}'


def test_both_formats_have_the_same_content():
    client = Client()
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")
    answer = client.get("/metrics", headers=OPEN_METRICS)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    old = {s.name for f in prometheus(client.get("/metrics").text) for s in f.samples}
    new = {s.name for f in open_metrics(answer.text) for s in f.samples}
    assert old == new


def test_metrics_have_the_form_that_prometheus_asks_for():
    for family in families(Client()).values():
        assert family.documentation.endswith("."), family.name
        assert re.fullmatch(r"(spark_mt|process)_[a-z_]+", family.name)
        assert family.type != "counter" or not family.name.endswith("_total")
        assert "milliseconds" not in family.name


def test_the_page_documents_every_metric():
    rows = re.findall(r"^\| `(spark_mt_\w+)` \| (\w+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    exposed = families(Client(), open_metrics, **OPEN_METRICS).values()
    named = {(f"{f.name}_total" if f.type == "counter" else f.name, f.type) for f in exposed}
    named = {(f"{name}_info" if kind == "info" else name, kind) for name, kind in named}
    assert {row for row in named if row[0].startswith("spark_mt_")} == set(rows)


def test_a_thousand_tables_are_scraped_at_once():
    client = Client(FakeManager(many_tables(1_000)))
    assert client.get("/metrics").text.count("spark_mt_table_lag_seconds{") == 999
