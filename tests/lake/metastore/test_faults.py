"""Drivers that are killed in a statement; the next one completes what they left."""

from __future__ import annotations

import pytest

from tests.faults.boundaries import AFTER, watched
from tests.faults.plans import PLANS
from tests.faults.scene import Scene
from tests.lake.driver import running_driver


class Studied:
    """A plan's statement, the moments of it, and what it leads to."""

    def __init__(self, session, metastore, plan) -> None:
        self.scene = Scene(session, metastore.warehouse, PLANS[plan])
        self.statement = self.scene.case.statement
        self.moments = []
        self.scene.undisturbed(lambda _: self._run())  # the first one also makes the registry
        self.moments.clear()
        self.leads = self.scene.undisturbed(lambda _: self._run())

    def _run(self) -> None:
        with watched(self.scene.session, self.moments.append) as tables:
            tables.execute(self.statement)

    @property
    def commit(self):
        """The moment after the commit of the rows: what follows it must be made up for."""
        return next(m for m in self.moments if m.side == AFTER and m.step == "Fill")


@pytest.fixture
def studied(session, metastore):
    return lambda plan: Studied(session, metastore, plan)


@pytest.mark.parametrize("plan", ["create", "refresh"])
def test_a_driver_is_killed(studied, plan, metastore, tmp_path, chance, kills):
    case = studied(plan)
    before_commit = case.moments[: case.moments.index(case.commit)]
    for number, moment in enumerate((chance.choice(before_commit), case.commit)):
        schema = case.scene.set()
        with running_driver(tmp_path / f"{number}", metastore.confs) as driver:
            assert driver.dies_in(schema, case.statement, moment)
        kills[f"driver in {plan}", str(moment)] += 1
        case.scene.settle(schema, case.leads, f"{plan}: killed {moment}")
