"""A sample of the kills of tests/faults: some moments of some plans, others with each seed."""

from __future__ import annotations

import pytest

from tests.faults.plans import PLANS
from tests.faults.scene import Scene
from tests.faults.test_kills import kills_of
from tests.faults.victims import record, run_and_die

KILLS = 2
SAMPLE = ("create", "alter content", "refresh", "drop", "refresh partial sums")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_client_is_killed(name, server, tmp_path, chance, kills):
    case = PLANS[name]
    scene = Scene(server.session(), server.warehouse, case)
    moments = []
    report = tmp_path / "report"
    leads = scene.undisturbed(
        lambda schema: moments.extend(record(server.url, schema, case.statement, report))
    )
    for kill, label in chance.sample(list(kills_of(moments, chance)), KILLS):
        schema = scene.set()
        if run_and_die(server.url, schema, case.statement, kill):
            kills[name, label] += 1
        scene.settle(schema, leads, f"{name}: {label}, {kill.delay_s:.3f} s")
