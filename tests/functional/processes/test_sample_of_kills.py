"""A sample of the kills of tests/faults: some moments of some plans, others with each seed."""

from __future__ import annotations

import pytest

from tests.faults.test_kills import kills_of, recorded
from tests.faults.victims import run_and_die

KILLS = 1
SAMPLE = ("refresh",)
"""Plans that `make test` kills; `make conformance` has more of them, `make faults` all."""
MORE = ("alter content", "create", "drop", "refresh partial sums")


@pytest.mark.parametrize(
    "name", [*SAMPLE, *(pytest.param(name, marks=pytest.mark.conformance) for name in MORE)]
)
def test_a_client_is_killed(name, server, tmp_path, chance, kills):
    scene, leads, moments = recorded(name, server, tmp_path)
    for kill, label in chance.sample(list(kills_of(moments, chance)), KILLS):
        schema = scene.set()
        if run_and_die(server.url, schema, scene.case.statement, kill):
            kills[name, label] += 1
        scene.settle(schema, leads, f"{name}: {label}, {kill.delay_s:.3f} s")
