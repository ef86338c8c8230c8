"""A client is killed at every boundary between two side effects, and while Spark is at work."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.faults.boundaries import BEFORE
from tests.faults.plans import PLANS
from tests.faults.scene import Scene
from tests.faults.victims import Kill, record, run_and_die

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    from tests.faults.boundaries import Boundary
    from tests.faults.scene import Leads
    from tests.faults.server import Server

LOGGER = logging.getLogger(__name__)
WHILE_AT_WORK = 1
"""How many kills each side effect gets while Spark is at work on it."""


@pytest.mark.parametrize("name", PLANS)
def test_a_client_is_killed(name, server, tmp_path, chance, kills):
    scene, leads, moments = recorded(name, server, tmp_path)
    case = scene.case
    for number, (kill, label) in enumerate(kills_of(moments, chance)):
        LOGGER.info("%s: %s", name, label)
        schema = scene.set()
        if run_and_die(server.url, schema, case.statement, kill):
            kills[name, label] += 1
        other = case.others[number // 2 % len(case.others)] if number % 2 else ""
        scene.settle(schema, leads, f"{name}: {label}, {kill.delay_s:.3f} s, then {other!r}", other)


def recorded(
    name: str, server: Server, folder: Path
) -> tuple[Scene, Leads, list[tuple[Boundary, float]]]:
    """Carry the statement of a plan out, and return what it leads to and when its effects come."""
    case = PLANS[name]
    scene = Scene(server.session(), server.warehouse, case)
    moments: list[tuple[Boundary, float]] = []
    report = folder / "report"
    leads = scene.undisturbed(
        lambda schema: moments.extend(record(server.url, schema, case.statement, report))
    )
    return scene, leads, moments


def kills_of(moments: list[tuple[Boundary, float]], chance: Random) -> Iterator[tuple[Kill, str]]:
    """Yield a kill for each boundary, and some for the time between before and after."""
    started: dict[Boundary, float] = {}
    for boundary, at in moments:
        yield Kill(boundary), str(boundary)
        if boundary.side == BEFORE:
            started[boundary] = at
            continue
        before = replace(boundary, side=BEFORE)
        for _ in range(WHILE_AT_WORK):
            delay = chance.uniform(0, at - started[before])
            yield Kill(before, delay), str(replace(boundary, side="during"))
