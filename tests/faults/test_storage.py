"""The disk is full from the n-th write on, or fails it alone: as far as we can make a disk do that.

The limit for the size of a file, which any process may lower for another one of the same user,
lets the JVM's writes fail like those to a full disk: a file is there, and ends too early.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from tests.faults.boundaries import AFTER, BEFORE, watched
from tests.faults.plans import PLANS
from tests.faults.scene import Scene

if TYPE_CHECKING:
    from tests.faults.boundaries import Boundary

pytestmark = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="needs prlimit(2), which only Linux has"
)
NOTHING, NO_LOG = 0, 1_000
"""Limits in bytes: no file can be written at all, or small data files but no commit of ours."""
_SIZE = getattr(resource, "RLIMIT_FSIZE", 0)


class Disk:
    """Lets a JVM write files up to a size only, while one side effect lasts or from it on.

    Args:
        jvm: The process.
        turn: Which side effect of the statement it is, from 1.
        limit: The largest file in bytes.
        stays: Whether the disk stays full.
    """

    def __init__(self, jvm: int, turn: int, limit: int, *, stays: bool) -> None:
        self._jvm = jvm
        self._turn = turn
        self._limit = limit
        self._stays = stays
        self._seen = 0
        self.was_full = False

    def reached(self, boundary: Boundary) -> None:
        """Fill the disk, or make room, at a boundary of a statement."""
        if boundary.side == BEFORE:
            self._seen += 1
            if self._seen == self._turn:
                self.was_full = True
                _limit(self._jvm, self._limit)
            elif not self._stays:
                self.make_room()
        elif boundary.side == AFTER and not self._stays:
            self.make_room()

    def make_room(self) -> None:
        """Let files have any size again."""
        _limit(self._jvm, resource.RLIM_INFINITY)


def _limit(process: int, size: int) -> None:
    _, hard = resource.prlimit(process, _SIZE)
    resource.prlimit(process, _SIZE, (size if hard < 0 or size < hard else hard, hard))


@pytest.mark.parametrize("stays", [True, False], ids=["full", "fails once"])
@pytest.mark.parametrize("limit", [NOTHING, NO_LOG], ids=["no write", "no commit"])
@pytest.mark.parametrize("name", PLANS)
def test_a_write_fails(name, limit, stays, server):
    case = PLANS[name]
    scene = Scene(server.session(), server.warehouse, case)
    effects = []

    def run(_):
        with watched(scene.session, effects.append) as tables:
            tables.execute(case.statement)

    leads = scene.undisturbed(run)
    for turn in range(1, 1 + sum(effect.side == BEFORE for effect in effects)):
        schema = scene.set()
        disk = Disk(server.jvm, turn, limit, stays=stays)
        problem = ""
        try:
            with watched(scene.session, disk.reached) as tables:
                tables.execute(case.statement)
        except MaterializedTableError as error:
            problem = error.condition
        finally:
            disk.make_room()
        scene.settle(schema, leads, f"{name}: write {turn} failed, {problem}")
