"""A scheduler of a user's own, with handlers and a serializer of its own (FLIP-435).

Its workflows live in a service that runs longer than the manager, and have only a number there:
who wants to change or delete one needs its handler.
"""

from __future__ import annotations

import logging
import pickle
from dataclasses import dataclass, field

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.job import StoredHandler
from dbt.adapters.spark_mt.execution.workflows import WorkflowScheduler
from tests.unit.manager.world import HOURLY, LIVE, world

SCHEDULER = "my_schedulers:create"


@dataclass(frozen=True)
class Ticket:
    """A handler of another type than ours."""

    number: int

    def describe(self) -> str:
        return f"ticket {self.number}"


class TicketSerializer:
    """Makes bytes that are no text in any encoding of the registry."""

    def serialize(self, handler: Ticket) -> bytes:
        assert isinstance(handler, Ticket)
        return b"\xff\x00" + pickle.dumps(handler.number)

    def deserialize(self, serialized: bytes) -> Ticket:
        assert serialized[:2] == b"\xff\x00"
        return Ticket(pickle.loads(serialized[2:]))  # noqa: S301 - our own bytes


class BrokenSerializer(TicketSerializer):
    def serialize(self, _handler: Ticket) -> bytes:
        raise OSError(28, "no space left")


class UnreadingSerializer(TicketSerializer):
    def deserialize(self, _serialized: bytes) -> Ticket:
        raise OSError(8, "another version's bytes")


@dataclass
class Service:
    """Runs longer than every manager; two workflows of one table are two tickets."""

    workflows: dict[int, str] = field(default_factory=dict)
    asleep: set[int] = field(default_factory=set)
    issued: int = 0


class TicketScheduler:
    """A client of the service; remembers nothing itself."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def create_refresh_workflow(self, workflow) -> Ticket:
        service = self._service
        for number, table_id in service.workflows.items():
            if table_id == workflow.table_id:
                service.asleep.discard(number)
                return Ticket(number)
        service.issued += 1
        service.workflows[service.issued] = workflow.table_id
        return Ticket(service.issued)

    def modify_refresh_workflow(self, workflow) -> None:
        if workflow.handler.number not in self._service.workflows:
            raise conditions.WORKFLOW_NOT_FOUND(
                scheduler=SCHEDULER, workflow=workflow.handler.number
            )
        self._service.asleep.add(workflow.handler.number)

    def delete_refresh_workflow(self, workflow) -> None:
        self._service.workflows.pop(workflow.handler.number, None)


class SerializingScheduler(TicketScheduler):
    """Has a serializer for its tickets."""

    def __init__(self, service: Service, serializer: type) -> None:
        super().__init__(service)
        self._serializer = serializer

    def refresh_handler_serializer(self):
        return self._serializer()


@pytest.fixture
def life():
    with world() as found:
        yield found


@pytest.fixture
def service():
    return Service()


def manager(life, service, pid=1, serializer=TicketSerializer):
    """A manager with a client of the service."""
    scheduler = SerializingScheduler(service, serializer)
    assert isinstance(scheduler, WorkflowScheduler)
    return life.manager(pid, scheduler=scheduler, scheduler_name=SCHEDULER)


def recorded(life, name):
    return StoredHandler.decode(life.tables.memory.log.handler(life.tables.name(name)))


def described(life, name):
    rows = life.execute(f"DESCRIBE MATERIALIZED TABLE EXTENDED {name}").rows
    return {row[0]: row[1] for row in rows}["Refresh handler"]


def test_the_registry_keeps_what_the_schedulers_own_serializer_made(life, service):
    life.create("t", HOURLY)
    manager(life, service)
    life.live(30)
    stored = recorded(life, "t")
    assert TicketSerializer().deserialize(stored.serialized) == Ticket(1)
    assert (stored.scheduler, stored.description) == (SCHEDULER, "ticket 1")


def test_sessions_without_the_scheduler_describe_its_handlers(life, service):
    life.create("t", HOURLY)
    keeper = manager(life, service)
    life.live(30)
    assert described(life, "t").startswith("ticket 1, run by ")
    assert keeper.view_of("t").refresh_handler == "ticket 1"


def test_a_restart_finds_the_workflow_of_a_table_that_was_dropped_meanwhile(life, service):
    life.create("t", HOURLY)
    life.create("u", HOURLY)
    first = manager(life, service)
    life.live(30)
    assert set(service.workflows) == {1, 2}
    life.kill(first)
    life.execute("DROP MATERIALIZED TABLE t")
    manager(life, service, pid=2)
    life.live(120)
    assert set(service.workflows) == {2}
    assert life.tables.memory.log.handler(life.tables.name("t")) == b""
    assert described(life, "u").startswith("ticket 2")


def test_a_restart_finds_the_workflow_of_a_table_that_was_suspended_meanwhile(life, service):
    life.create("t", HOURLY)
    first = manager(life, service)
    life.live(30)
    life.kill(first)
    life.execute("ALTER MATERIALIZED TABLE t SUSPEND")
    manager(life, service, pid=2)
    life.live(120)
    assert (set(service.workflows), service.asleep) == ({1}, {1})


def test_a_restart_finds_the_workflow_of_a_table_that_is_continuous_meanwhile(life, service):
    life.create("t", HOURLY)
    first = manager(life, service)
    life.live(30)
    life.kill(first)
    life.execute("CREATE OR ALTER MATERIALIZED TABLE t " + LIVE + " AS SELECT id, k, v FROM events")
    manager(life, service, pid=2)
    life.live(120)
    assert service.workflows == {}
    assert recorded(life, "t").scheduler == ""


def test_a_restart_makes_no_second_workflow(life, service):
    life.create("t", HOURLY)
    first = manager(life, service)
    life.live(30)
    life.kill(first)
    manager(life, service, pid=2)
    life.live(120)
    assert set(service.workflows) == {1}


def test_a_serializer_that_fails_is_named_and_holds_nothing_up(life, service, caplog):
    life.create("t", HOURLY)
    with caplog.at_level(logging.WARNING):
        keeper = manager(life, service, serializer=BrokenSerializer)
        life.live(60)
    said = [r.getMessage() for r in caplog.records if "REFRESH_HANDLER_SERIALIZER" in r.message]
    assert len(said) == 1, "once, not at every look"
    for fact in (SCHEDULER, "spark_catalog.default.t", "no space left", "refresh_handler_serial"):
        assert fact in said[0]
    assert set(service.workflows) == {1}
    assert recorded(life, "t").serialized == b""
    for shown in (described(life, "t"), keeper.view_of("t").refresh_handler):
        assert shown.startswith("ticket 1")
        assert "MATERIALIZED_TABLE_REFRESH_HANDLER_SERIALIZER" in shown


def test_bytes_that_cannot_be_read_are_named_and_hold_nothing_up(life, service, caplog):
    life.create("t", HOURLY)
    first = manager(life, service)
    life.live(30)
    life.kill(first)
    with caplog.at_level(logging.WARNING):
        manager(life, service, pid=2, serializer=UnreadingSerializer)
        life.live(120)
    said = [r.getMessage() for r in caplog.records if "REFRESH_HANDLER_SERIALIZER" in r.message]
    assert len(said) == 1
    assert "another version's bytes" in said[0]
    assert set(service.workflows) == {1}


def test_a_scheduler_with_handlers_of_its_own_needs_a_serializer(life, service, caplog):
    life.create("t", HOURLY)
    with caplog.at_level(logging.WARNING):
        life.manager(1, scheduler=TicketScheduler(service), scheduler_name=SCHEDULER)
        life.live(30)
    said = [r.getMessage() for r in caplog.records if "REFRESH_HANDLER_SERIALIZER" in r.message]
    assert "Ticket" in said[0]


def test_workflows_of_another_scheduler_are_named(life, service, caplog):
    """They cannot be read here: whoever changes the setting has to end them there."""
    life.create("t", HOURLY)
    first = manager(life, service)
    life.live(30)
    life.kill(first)
    with caplog.at_level(logging.WARNING):
        life.manager(2)
        life.live(120)
    said = [r.getMessage() for r in caplog.records if SCHEDULER in r.getMessage()]
    assert len(said) == 1
    assert "ticket 1" in said[0]
    assert described(life, "t").startswith("workflow ")


def test_a_handler_of_a_newer_release_is_none(life, service):
    life.create("t", HOURLY)
    name = life.tables.name("t")
    life.tables.memory.log.record_handlers("spark_catalog", {name: b'{"kind": "later"}'})
    manager(life, service)
    life.live(30)
    assert recorded(life, "t").description == "ticket 1"
