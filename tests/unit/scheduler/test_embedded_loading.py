"""Which scheduler a setting names, and what is said when there is none."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from dbt.adapters.spark_mt.definition.errors import UnknownSchedulerError
from dbt.adapters.spark_mt.execution.workflows import SchedulerContext, WorkflowScheduler
from dbt.adapters.spark_mt.resolution.settings import Settings
from dbt.adapters.spark_mt.scheduler import embedded
from dbt.adapters.spark_mt.scheduler.airflow import AirflowScheduler
from dbt.adapters.spark_mt.scheduler.embedded import EmbeddedScheduler, load_scheduler
from tests.unit.scheduler.simulation import now


class OwnScheduler(AirflowScheduler):
    """A scheduler of one's own."""

    def __init__(self, context):
        self.context = context


def unable(_context):
    raise OSError(13, "no licence")


@pytest.fixture
def context():
    return SchedulerContext(lambda _due: None, now)


@pytest.fixture(autouse=True)
def my_schedulers(monkeypatch):
    module = ModuleType("my_schedulers")
    module.OwnScheduler, module.unable, module.NUMBER, module.dumb = (
        OwnScheduler,
        unable,
        1,
        lambda _context: 1,
    )
    monkeypatch.setitem(sys.modules, "my_schedulers", module)
    points = [
        EntryPoint("mine", "my_schedulers:OwnScheduler", embedded.ENTRY_POINT_GROUP),
        EntryPoint("embedded", "my_schedulers:OwnScheduler", embedded.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(
        embedded,
        "entry_points",
        lambda group: points if group == "dbt_spark_mt.workflow_schedulers" else [],
    )


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (Settings().scheduler, EmbeddedScheduler),
        ("embedded", EmbeddedScheduler),
        ("airflow", AirflowScheduler),
        ("mine", OwnScheduler),
        ("my_schedulers:OwnScheduler", OwnScheduler),
    ],
)
def test_found_by_name_and_by_place(spec, kind, context):
    scheduler = load_scheduler(spec, context)
    assert type(scheduler) is kind
    assert isinstance(scheduler, WorkflowScheduler)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("embeded", "Did you mean 'embedded'"),
        ("my_schedulers:Missing", "Missing"),
        ("my_schedulers:NUMBER", "NUMBER"),
        ("my_schedulers:unable", "no licence"),
        ("my_schedulers:dumb", "int"),
        ("no_such_module:create", "no_such_module"),
        (":", ""),
    ],
)
def test_an_unloadable_scheduler_is_named_with_all_available_ones(spec, named, context):
    with pytest.raises(UnknownSchedulerError) as caught:
        load_scheduler(spec, context)
    assert caught.value.parameters["scheduler"] == spec
    assert named in caught.value.parameters["problem"]
    assert caught.value.parameters["known"] == "`airflow`, `embedded`, `mine`"
