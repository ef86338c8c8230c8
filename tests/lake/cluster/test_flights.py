"""The demo on a standalone cluster, from start to end.

Its dbt runs in a driver on the cluster. Later its manager is the driver, and dbt is a process of
its own that works in it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import yaml

from tests.faults.server import ROOT
from tests.lake.standalone import running_cluster

FLIGHTS = "51,955"
TABLES = ("flights_wide", "hourly_departures", "daily_report")


def test_every_flight_is_in_the_tables(tmp_path):
    """In a cluster of its own: the session of the other tests has every core of theirs."""
    example = tmp_path / "example"
    shutil.copytree(ROOT / "examples" / "flights", example)
    with running_cluster(tmp_path) as cluster:
        profile = example / "profiles.yml"
        content = yaml.safe_load(profile.read_text())
        content["flights"]["outputs"]["dev"]["server_side_parameters"] |= cluster.confs()
        profile.write_text(yaml.safe_dump(content))
        run = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, example / "demo.py", "--folder", tmp_path / "flights"],
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    assert run.returncode == 0, run.stdout
    for table in TABLES:
        assert f"flights.{table} accounts for {FLIGHTS} of {FLIGHTS} flights" in run.stdout
    live = re.search(r"live_departures accounts for ([\d,]+) of ([\d,]+) flights", run.stdout)
    assert live, run.stdout
    assert live[1] == live[2]
    applications = (tmp_path / "1-master.Master.log").read_text().count("Registered app ")
    assert applications >= 2, "the driver of dbt and the manager ran on the cluster"
