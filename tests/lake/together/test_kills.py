"""Clients and workers are killed while their tables are on S3 and in a Hive Metastore."""

from __future__ import annotations

import os
import time
from threading import Thread

import pytest

from tests.faults.checks import attempt
from tests.faults.plans import PLANS
from tests.faults.scene import Scene
from tests.faults.test_kills import kills_of
from tests.faults.victims import record, run_and_die
from tests.functional.processes.test_sample_of_kills import SAMPLE

KILLS = -(-int(os.environ.get("LAKE_KILLS", "20")) // len(SAMPLE))
"""For each plan."""
WORKER_EVERY = 5
"""The first kill, and each fifth one after it, is one of a worker with its executor."""


class Killed:
    """A statement of a plan, which is killed in one way or loses a worker."""

    def __init__(self, lake, plan, report) -> None:
        self.lake, self.statement = lake, PLANS[plan].statement
        self.scene = Scene(lake.server.session(), lake.warehouse, PLANS[plan])
        self.moments = []
        url = lake.server.url
        self.leads = self.scene.undisturbed(
            lambda schema: self.moments.extend(record(url, schema, self.statement, report))
        )

    def client(self, kill):
        """Kill the client; whether it was killed."""
        schema = self.scene.set()
        killed = run_and_die(self.lake.server.url, schema, self.statement, kill)
        self.scene.settle(schema, self.leads, f"{kill}")
        return killed

    def worker(self, number, delay_s):
        """Kill a worker while the statement runs, which must end as without that."""
        schema = self.scene.set()
        thread = Thread(target=self._lose, args=(number, delay_s))
        thread.start()
        try:
            assert attempt(self.scene.tables(), self.statement) == ""
        finally:
            thread.join()
            self.lake.cluster.replace(number)
        self.scene.settle(schema, self.leads, f"worker {number} after {delay_s:.3f} s")

    def _lose(self, number, delay_s) -> None:
        time.sleep(delay_s)
        self.lake.cluster.lose_a_worker(number)


@pytest.mark.parametrize("plan", SAMPLE)
def test_tables_equal_their_queries(lake, plan, tmp_path, chance, kills):
    case = Killed(lake, plan, tmp_path / "report")
    ways = list(kills_of(case.moments, chance))
    lasts_s = case.moments[-1][1]
    for turn in range(KILLS):
        if turn % WORKER_EVERY == 0:
            case.worker(turn % 2, chance.uniform(0, lasts_s))
            kills[plan, "a worker"] += 1
        else:
            kill, label = chance.choice(ways)
            if case.client(kill):
                kills[plan, label] += 1
