"""Texts of release 0.1 are read for ever; values of today are written as they were."""

from __future__ import annotations

import json
import zlib

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.definition.codec import decode_definition
from dbt.adapters.spark_mt.definition.commit_metadata import decode_commit
from dbt.adapters.spark_mt.definition.job import JsonRefreshHandlerSerializer, StoredHandler
from dbt.adapters.spark_mt.execution.repair import known_table
from dbt.adapters.spark_mt.spark.registry.leases import lease_of
from dbt.adapters.spark_mt.spark.registry.registry import entry_of, job_of, known_of
from dbt.adapters.spark_mt.spark.registry.system_table import COLUMNS
from tests.unit.formats import samples
from tests.unit.formats.write_golden import GOLDEN, texts

KINDS = sorted(path.stem for path in GOLDEN.glob("*.json"))


def golden(kind):
    return json.loads((GOLDEN / f"{kind}.json").read_text(encoding="utf-8"))


def row(kind, name):
    """A row as a query returns it: with all columns."""
    return {**dict.fromkeys(COLUMNS), **golden(kind)[name]}


def unpacked(text):
    return zlib.decompress(bytes.fromhex(text))


def test_there_is_a_golden_text_of_every_sample():
    assert {kind: [*names] for kind, names in texts().items()} == {
        kind: [*golden(kind)] for kind in KINDS
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"definitions"}])
def test_todays_values_are_written_as_ever(kind):
    """Byte for byte: rows hold texts, whose keys have an order."""
    assert json.dumps(texts()[kind]) == json.dumps(golden(kind))


@pytest.mark.parametrize("name", golden("definitions"))
def test_todays_definitions_are_written_as_ever(name):
    """What is compressed is the same; the compressed bytes are zlib's own affair."""
    expected = golden("definitions")[name]
    text = texts()["definitions"][name]["text"]
    assert unpacked(text) == unpacked(expected["text"])
    assert json.loads(unpacked(text)) == expected["document"]


@pytest.mark.parametrize("name", golden("definitions"))
def test_a_definition_is_read(name):
    found = decode_definition(golden("definitions")[name]["text"], "t")
    assert found == samples.DEFINITIONS[name]
    assert found.unknown_keys == {}


@pytest.mark.parametrize("name", golden("properties"))
def test_the_properties_hold_the_definition(name):
    text = golden("properties")[name]["materialized-table.definition"]
    assert decode_definition(text, "t") == samples.DEFINITIONS[name]


@pytest.mark.parametrize("name", golden("commits"))
def test_a_commit_is_read(name):
    assert decode_commit(golden("commits")[name]) == samples.COMMITS[name]


@pytest.mark.parametrize("name", golden("handlers"))
def test_a_handler_is_read(name):
    text = golden("handlers")[name].encode()
    assert JsonRefreshHandlerSerializer().deserialize(text) == samples.HANDLERS[name]


@pytest.mark.parametrize("name", golden("workflows"))
def test_a_handler_of_a_workflow_is_read(name):
    assert StoredHandler.decode(golden("workflows")[name].encode()) == samples.WORKFLOWS[name]


@pytest.mark.parametrize("name", golden("tables"))
def test_a_row_of_a_table_is_read(name):
    step = samples.REGISTERED[name]
    found = known_of(row("tables", name), "spark_catalog")
    assert found == known_table(step, samples.RECORDED_AT_MS)
    entry = entry_of(row("tables", name), "spark_catalog")
    assert (entry.name, entry.status) == (found.name, found.status.value)
    assert entry.freshness == found.freshness.sql


@pytest.mark.parametrize("name", golden("jobs"))
def test_a_row_of_a_job_is_read(name):
    assert job_of(row("jobs", name), "spark_catalog") == samples.JOBS[name]


@pytest.mark.parametrize("name", golden("leases"))
def test_a_row_of_a_lease_is_read(name):
    assert lease_of(row("leases", name), "spark_catalog") == samples.LEASES[name]


@pytest.mark.parametrize("name", golden("managers"))
def test_a_file_of_a_manager_is_read(name):
    assert discovery._parsed(json.loads(golden("managers")[name])) == samples.MANAGERS[name]
