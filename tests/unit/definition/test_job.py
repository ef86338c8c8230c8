import pytest

from dbt.adapters.spark_mt.definition.job import (
    ContinuousRefreshHandler,
    FullRefreshHandler,
    JsonRefreshHandlerSerializer,
    StoredHandler,
)

CONTINUOUS = ContinuousRefreshHandler("host:1", "query", "run", "/checkpoints/ü")
FULL = FullRefreshHandler("embedded", "workflow", "0 * * * *")


@pytest.mark.parametrize("handler", [CONTINUOUS, FULL])
def test_survives_the_catalog(handler):
    serializer = JsonRefreshHandlerSerializer()
    assert serializer.deserialize(serializer.serialize(handler)) == handler


def test_the_bytes_are_the_same_each_time():
    serializer = JsonRefreshHandlerSerializer()
    assert serializer.serialize(FULL) == serializer.serialize(FULL)
    assert serializer.serialize(FULL) != serializer.serialize(CONTINUOUS)


@pytest.mark.parametrize("stored", [b"{}", b'{"kind": "other"}', b"not json", b""])
def test_unknown_bytes_are_refused(stored):
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error is one too
        JsonRefreshHandlerSerializer().deserialize(stored)


def test_descriptions_name_what_runs_where():
    assert CONTINUOUS.describe() == "query query, run run, on host:1"
    assert FULL.describe() == "workflow workflow in embedded, 0 * * * *"


def test_the_registry_keeps_any_bytes_with_their_description():
    stored = StoredHandler("ticket 7, ü", "mine:create", "an-id", bytes(range(256)))
    assert StoredHandler.decode(stored.encode()) == stored


CONTINUOUS_BEFORE = b"""
{"kind": "continuous", "host": "h", "query_id": "q", "run_id": "1", "checkpoint": ""}"""
FULL_BEFORE = b"""
{"kind": "full", "scheduler": "embedded", "workflow_id": "w", "schedule": "s"}"""


@pytest.mark.parametrize(
    ("text", "description", "scheduler"),
    [
        (CONTINUOUS_BEFORE, "query q, run 1, on h", ""),
        (FULL_BEFORE, "workflow w in embedded, s", "embedded"),
    ],
)
def test_a_stored_handler_is_read_without_the_one_that_wrote_it(text, description, scheduler):
    found = StoredHandler.decode(text)
    assert (found.description, found.scheduler) == (description, scheduler)


def test_handlers_of_other_types_are_refused_by_the_json_serializer():
    class Ticket:
        def describe(self):
            return "ticket"

    with pytest.raises(TypeError, match="Ticket"):
        JsonRefreshHandlerSerializer().serialize(Ticket())
