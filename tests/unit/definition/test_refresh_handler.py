import pytest

from dbt.adapters.spark_mt.definition.refresh_handler import (
    ContinuousRefreshHandler,
    FullRefreshHandler,
    JsonRefreshHandlerSerializer,
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
