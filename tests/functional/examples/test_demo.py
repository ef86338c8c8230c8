"""The demo is what a newcomer runs first; CI leaves out its last step, with a manager."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import jvm_options

DEMO = Path(__file__).parents[3] / "examples" / "flights" / "demo.py"
MODELS = ("flights_wide", "hourly_departures", "daily_report", "busiest_hours")


def printed(folder: Path, *options: str) -> str:
    """Run the demo, which works in a folder, and return what it printed."""
    confs = " ".join(f"-D{conf}" for conf in jvm_options.INTERPRETED)
    spark = {"SPARK_SUBMIT_OPTS": f"{jvm_options.SMALL} {confs}"}
    run = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, str(DEMO), "--folder", str(folder), *options],
        env={**os.environ, **spark},
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return printed(tmp_path_factory.mktemp("demo") / "flights", "--steps", "7")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return printed(tmp_path_factory.mktemp("demo") / "flights")


def step(output, number):
    """What the demo printed for one of its steps."""
    return re.split(r"^== ", output, flags=re.MULTILINE)[number]


@pytest.mark.parametrize("model", [*MODELS, "live_departures"])
def test_january_creates_every_table(output, model):
    assert re.search(rf"flights\.{model} \.* \[CREATED", step(output, 1))


@pytest.mark.parametrize("model", [*MODELS, "live_departures"])
def test_a_second_run_does_nothing(output, model):
    assert re.search(rf"flights\.{model} \.* \[(UNCHANGED|UP TO DATE)", step(output, 2))


def test_a_scheduled_run_writes_the_day_that_ended(output):
    assert "REFRESHED: 3 rows in ds='2013-02-01'" in step(output, 3)
    assert re.search(r"\|\s*32\|\s*2013-02-01\|", step(output, 3))


@pytest.mark.parametrize("model", MODELS)
def test_february_refreshes_every_table(output, model):
    assert re.search(rf"flights\.{model} \.* \[REFRESHED", step(output, 3))


def test_a_column_is_appended_in_place(output):
    assert re.search(r"flights\.hourly_departures \.* \[ALTERED", step(output, 4))


def test_a_dropped_column_is_refused_with_its_remedy(output):
    assert "drop column is unsupported" in step(output, 5)
    assert "--full-refresh" in step(output, 5)


@pytest.mark.parametrize("table", ["flights_wide", "hourly_departures", "daily_report"])
def test_every_flight_is_in_the_tables(output, table):
    assert f"flights.{table} accounts for 51,955 of 51,955 flights" in step(output, 7)


def test_the_live_table_is_changed_while_it_follows_files(output):
    before, after = step(output, 6).split("$ dbt run --select live_departures")
    assert re.search(r"flights\.live_departures \.* \[ALTERED", after)
    for part in (before, after):
        counted = [int(n.replace(",", "")) for n in re.findall(r"the table counts +([\d,]+)", part)]
        assert counted == sorted(counted)
        assert counted[-1] > counted[0]


def test_each_live_flight_is_counted_once(output):
    found = re.search(r"live_departures accounts for ([\d,]+) of ([\d,]+) flights", step(output, 6))
    assert found is not None
    assert found[1] == found[2]


@pytest.mark.conformance
def test_a_manager_keeps_the_tables_and_dbt_works_in_it(whole):
    managed = step(whole, 8)
    assert re.search(r"flights\.live_departures: \w+, lag [\d.]+ s, freshness (MET|LATE)", managed)
    assert managed.count("$ spark-mt serve") == 2
    for model in (*MODELS, "live_departures"):
        assert re.search(rf"flights\.{model} \.* \[(UNCHANGED|UP TO DATE) in", managed)


@pytest.mark.conformance
def test_a_killed_manager_loses_no_flight(whole):
    found = re.search(r"live_departures accounts for ([\d,]+) of ([\d,]+) flights", step(whole, 8))
    assert found is not None
    assert found[1] == found[2]


def test_no_test_of_the_project_failed(output):
    lines = [line for line in output.splitlines() if re.match(r"\s*\d+ of \d+ ", line)]
    failed = [line for line in lines if " OK " not in line and " PASS " not in line]
    assert [line for line in failed if "hourly_departures" not in line] == []
