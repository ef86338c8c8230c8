"""The demo on a standalone cluster, from start to end.

Its dbt runs in a driver on the cluster. Later its manager is the driver, and dbt is a process of
its own that works in it.
"""

from __future__ import annotations

import re
import shutil

import yaml

from tests.functional.examples.test_demo import DEMO, printed
from tests.lake.standalone import running_cluster

FLIGHTS = "51,955"
TABLES = ("flights_wide", "hourly_departures", "daily_report")


def test_every_flight_is_in_the_tables(tmp_path):
    """In a cluster of its own: the session of the other tests has every core of theirs."""
    example = tmp_path / "example"
    shutil.copytree(DEMO.parent, example)
    with running_cluster(tmp_path) as cluster:
        profile = example / "profiles.yml"
        content = yaml.safe_load(profile.read_text())
        content["flights"]["outputs"]["dev"]["server_side_parameters"] |= cluster.confs()
        profile.write_text(yaml.safe_dump(content))
        output = printed(example / DEMO.name, tmp_path / "flights")
    for table in TABLES:
        assert f"flights.{table} accounts for {FLIGHTS} of {FLIGHTS} flights" in output
    live = re.search(r"live_departures accounts for ([\d,]+) of ([\d,]+) flights", output)
    assert live, output
    assert live[1] == live[2]
    applications = (tmp_path / "1-master.Master.log").read_text().count("Registered app ")
    assert applications >= 2, "the driver of dbt and the manager ran on the cluster"
