"""Drivers that are killed, and a metastore that is lost and returns, in a statement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError
from tests.faults.boundaries import AFTER, BEFORE, watched
from tests.faults.plans import PLANS
from tests.faults.scene import Scene
from tests.lake.driver import running_driver


class Studied:
    """A plan's statement, the moments of it, and what it leads to."""

    def __init__(self, session, metastore, plan) -> None:
        self.scene = Scene(session, metastore.warehouse, PLANS[plan])
        self.statement = self.scene.case.statement
        self.moments = []
        self.leads = self.scene.undisturbed(lambda _: self._run())

    def _run(self) -> None:
        with watched(self.scene.session, self.moments.append) as tables:
            tables.execute(self.statement)

    @property
    def commit(self):
        """The moment after the commit of the rows: what follows it must be made up for."""
        return next(m for m in self.moments if m.side == AFTER and m.step == "Fill")

    def around_commit(self):
        """The moments before the commit, and before the side effect after it."""
        begin, end = replace(self.commit, side=BEFORE), self.moments.index(self.commit)
        return begin, next(m for m in self.moments[end:] if m.side == BEFORE)


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


@pytest.mark.parametrize("plan", ["create", "refresh"])
def test_the_metastore_is_lost(studied, plan, session, metastore, kills):
    """What fails names the reason, and the same session continues afterwards."""
    case = studied(plan)
    failed = 0
    for moment in case.around_commit():
        schema = case.scene.set()
        error = lose(metastore, session, case.statement, moment)
        kills[f"metastore in {plan}", str(moment)] += 1
        if error is not None:
            failed += 1
            assert isinstance(error, MaterializedTableError), f"{moment}: {error!r}"
            assert "thrift" in str(error).lower(), f"{moment}: {error}"
        case.scene.settle(schema, case.leads, f"{plan}: lost {moment}")
    assert failed > 0


def lose(metastore, session, statement, moment):
    """Kill the metastore at a moment of a statement, and start it again after the statement."""

    def reached(boundary):
        if boundary == moment:
            metastore.kill()

    error = None
    try:
        with watched(session, reached) as tables:
            tables.execute(statement)
    except Exception as raised:  # noqa: BLE001 - the test looks at its kind and its text
        error = raised
    metastore.start()
    return error
