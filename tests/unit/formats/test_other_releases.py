"""What other releases write, and what is damaged: read where it can be, refused where not."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.client.discovery import Discovered, NotFound
from dbt.adapters.spark_mt.definition.codec import decode_definition, encode_definition
from dbt.adapters.spark_mt.definition.columns import Column, SourceColumns
from dbt.adapters.spark_mt.definition.commit_metadata import (
    CommitKind,
    UnreadableMetadataError,
    decode_commit,
    encode_commit,
)
from dbt.adapters.spark_mt.definition.errors import UnreadableDefinitionError
from dbt.adapters.spark_mt.definition.job import (
    SILENCE_MS,
    JobStatus,
    JsonRefreshHandlerSerializer,
    StoredHandler,
)
from dbt.adapters.spark_mt.definition.modes import FROM_BEGINNING, ResolvedStartMode
from dbt.adapters.spark_mt.execution.commit_metadata import metadata_of
from dbt.adapters.spark_mt.execution.context import LocalProcesses
from dbt.adapters.spark_mt.execution.table_history import read_history
from dbt.adapters.spark_mt.planning.steps import CommitDefinition
from dbt.adapters.spark_mt.spark.delta.commits import parse_commit
from dbt.adapters.spark_mt.spark.registry.leases import lease_of
from dbt.adapters.spark_mt.spark.registry.registry import (
    RowReader,
    entry_of,
    job_of,
    job_row,
    known_of,
)
from tests.unit.formats import samples
from tests.unit.formats.samples import EVERYTHING, SIMPLE
from tests.unit.formats.test_golden import golden, row
from tests.unit.formats.texts import pack, unpack, with_more, without

CATALOG = "spark_catalog"
OPTIONAL = {
    "status",
    "status_reason",
    "handler",
    "owner",
    "changed_by",
    "run_options",
    "baseline",
    "fence",
    "origin",
    "constraints",
    "comment",
    "partitioned_by",
    "clustered_by",
    "options",
    "derived_from",
    "nullable",
    "not_null",
    "instant_ms",
    "interval",
    "timestamp",
    "operators",
}
"""Keys that SIMPLE has with their defaults."""


# --- definitions


def test_missing_keys_have_defaults():
    document = unpack(encode_definition(SIMPLE))
    assert set(document["definition"]) & OPTIONAL
    assert decode_definition(pack(without(document, *OPTIONAL)), "t") == SIMPLE


@pytest.mark.parametrize("key", ["query_columns", "expanded_query", "context"])
def test_what_a_refresh_cannot_do_without_is_no_default(key):
    document = unpack(encode_definition(SIMPLE))
    del document["definition"]["resolved"][key]
    with pytest.raises(UnreadableDefinitionError):
        decode_definition(pack(document), "t")


@pytest.mark.parametrize("key", ["columns", "freshness", "refresh_mode", "start_mode"])
def test_clauses_that_are_missing_were_not_written(key):
    document = unpack(encode_definition(SIMPLE))
    del document["definition"]["resolved"]["declared"][key]
    assert decode_definition(pack(document), "t") == SIMPLE
    del document["definition"]["resolved"][key]
    with pytest.raises(UnreadableDefinitionError):
        decode_definition(pack(document), "t")


@pytest.mark.parametrize("name", golden("definitions"))
def test_keys_of_a_newer_release_are_kept_at_every_place(name):
    document = with_more(unpack(golden("definitions")[name]["text"]))
    found = decode_definition(pack(document), "t")
    assert found == samples.DEFINITIONS[name]
    assert hash(found) == hash(samples.DEFINITIONS[name])
    assert unpack(encode_definition(found)) == document


@pytest.mark.parametrize(
    ("key", "value"), [("expanded_query", "SELECT *"), ("query_columns", ["user_id", "b"])]
)
def test_source_columns_of_another_query_are_forgotten(key, value):
    """A release that does not know them changes the query, and keeps their key."""
    document = unpack(golden("definitions")["source columns"]["text"])
    document["definition"]["resolved"][key] = value
    found = decode_definition(pack(document), "t")
    assert found.resolved.source_columns == ()
    recorded = replace(found.resolved, source_columns=(SourceColumns("c.s.t", ()),))
    again = decode_definition(encode_definition(replace(found, resolved=recorded)), "t")
    assert again.resolved == recorded


def test_keys_of_a_newer_release_are_kept_by_changes_of_the_definition():
    found = decode_definition(pack(with_more(unpack(encode_definition(EVERYTHING)))), "t")
    changed = replace(
        found,
        generation=8,
        baseline=None,
        resolved=replace(
            found.resolved,
            columns=(Column("new", "INT"), *reversed(found.resolved.columns)),
            start_mode=ResolvedStartMode(FROM_BEGINNING),
        ),
    )
    written = unpack(encode_definition(changed))
    definition = written["definition"]
    resolved = definition["resolved"]
    columns = {column["name"]: "later" in column for column in resolved["columns"]}
    assert columns == {"new": False, "day": True, "a b": True, "id": True}
    assert resolved["start_mode"]["mode"]["interval"] is None
    assert definition["baseline"] is None
    for each in (written, definition, resolved, resolved["declared"], resolved["start_mode"]):
        assert each["later"] == {"nested": [1, "x"]}
    again = decode_definition(encode_definition(changed), "t")
    assert (again, unpack(encode_definition(again))) == (changed, written)


def test_a_key_of_a_newer_release_cannot_replace_one_of_ours():
    found = decode_definition(pack(with_more(unpack(encode_definition(SIMPLE)))), "t")
    changed = replace(found, status_reason="new", generation=2)
    definition = unpack(encode_definition(changed))["definition"]
    assert (definition["status_reason"], definition["generation"]) == ("new", 2)


@pytest.mark.parametrize("version", [0, 2, 17, "1", None])
def test_another_major_version_is_refused_by_its_number(version):
    document = {**unpack(encode_definition(SIMPLE)), "format": version}
    with pytest.raises(UnreadableDefinitionError) as error:
        decode_definition(pack(document), "c.s.t")
    assert error.value.condition == "MATERIALIZED_TABLE_UNREADABLE_DEFINITION"
    problem = f"its format is {version}, and this release reads 1"
    assert error.value.parameters == {"table": "c.s.t", "problem": problem}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("status",), "PAUSED"),
        (("resolved", "refresh_mode"), "SOMETIMES"),
        (("resolved", "freshness", "unit"), "EON"),
        (("resolved", "freshness", "count"), 0),
        (("resolved", "start_mode", "mode", "type"), "FROM_LUNCH"),
        (("resolved", "columns"), None),
        (("handler",), "zz"),
        (("fence",), "x"),
        (("fence",), float("inf")),
        (("origin",), [["a"]]),
        (("origin",), [["a", {"timestamp": 1}]]),
        (("name",), "t"),
    ],
)
def test_a_value_that_is_not_known_is_damage(place, value):
    document = unpack(encode_definition(SIMPLE))
    part = document["definition"]
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(UnreadableDefinitionError) as error:
        decode_definition(pack(document), "c.s.t")
    assert error.value.parameters["problem"] == "the text is damaged"


# --- commits


def commit(name):
    return json.loads(golden("commits")[name])


def test_a_commit_of_a_newer_minor_version_is_read():
    assert decode_commit(json.dumps(with_more(commit("content")))) == samples.COMMITS["content"]


def test_keys_of_a_newer_release_about_a_refresh_are_repeated_by_commits_without_rows():
    document = commit("everything")
    document["refresh"]["later"] = {"cost": 7}
    history = read_history([parse_commit(3, commit_info(document))])
    refresh = history.last_refresh()
    step = CommitDefinition(SIMPLE, 4, None, refresh)
    repeated = json.loads(encode_commit(metadata_of(step)))["refresh"]
    assert repeated == document["refresh"]


def test_missing_keys_of_a_commit_have_defaults():
    document = without(commit("content"), "token")
    assert decode_commit(json.dumps(document)) == replace(samples.COMMITS["content"], token="")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (json.dumps({"materialized-table": 2}), "its format is 2, and this release reads 1"),
        (json.dumps({"materialized-table": 1}), "the text is damaged"),
        (golden("commits")["content"][:-5], "the text is damaged"),
        (golden("commits")["content"][:24], "the text is damaged"),
        (json.dumps({**commit("content"), "kind": "party"}), "the text is damaged"),
        (json.dumps({**commit("content"), "seq": None}), "the text is damaged"),
        (json.dumps({**commit("content"), "positions": {"a": [1]}}), "the text is damaged"),
        (json.dumps({**commit("content"), "positions": {"a": {}}}), "the text is damaged"),
        (json.dumps({**commit("content"), "positions": 7}), "the text is damaged"),
        (json.dumps({**commit("content"), "stream": []}), "the text is damaged"),
        (json.dumps({**commit("content"), "refresh": {}}), "the text is damaged"),
    ],
)
def test_an_unreadable_commit_of_ours_is_not_taken_for_a_commit_of_another_writer(text, problem):
    with pytest.raises(UnreadableMetadataError, match=problem):
        decode_commit(text)
    found = parse_commit(7, commit_info(text))
    assert (found.metadata, found.problem) == (None, problem)


def commit_info(metadata):
    text = metadata if isinstance(metadata, str) else json.dumps(metadata)
    return json.dumps({"commitInfo": {"operation": "WRITE", "userMetadata": text}})


def test_every_kind_of_commit_has_a_golden_text():
    assert {each["kind"] for each in map(commit, golden("commits"))} == {
        kind.value for kind in CommitKind
    }


# --- rows


@pytest.mark.parametrize(
    "facts",
    [
        "",
        "{",
        "[]",
        "7",
        '{"format": 2}',
        '{"formatters": [1]}',
        '{"derived_from": 1}',
        '{"reads": 1}',
        None,
    ],
)
def test_a_damaged_row_of_a_table_delays_no_other(facts, caplog):
    good, bad = row("tables", "filled"), {**row("tables", "everything"), "facts": facts}
    reader = RowReader()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            (found,) = reader.each([bad, good, bad], CATALOG, known_of)
    assert found == known_of(good, CATALOG)
    (record,) = caplog.records
    assert "spark_catalog.sales.high_value_orders" in record.getMessage()
    assert "spark-mt repair" in record.getMessage()
    assert entry_of(bad, CATALOG).status == "SUSPENDED", "listings read columns alone"


@pytest.mark.parametrize("column", ["status", "refresh_mode", "freshness"])
def test_a_row_with_an_unknown_value_affects_no_other(column):
    good, bad = row("tables", "filled"), {**row("tables", "filled"), column: "LATER"}
    assert RowReader().each([bad, good], CATALOG, known_of) == (known_of(good, CATALOG),)
    assert getattr(entry_of(bad, CATALOG), column) == "LATER"


def test_a_row_of_a_table_with_missing_and_unknown_facts():
    recorded = row("tables", "filled")
    found = known_of({**recorded, "facts": '{"later": 1}'}, CATALOG)
    full = known_of(recorded, CATALOG)
    assert found == replace(full, reads=(), derived_from=None, rows=None)


def test_a_job_of_an_unknown_status_affects_no_other():
    good, bad = row("jobs", "everything"), {**row("jobs", "everything"), "status": "PAUSED"}
    worse = {**good, "job_kind": None}
    assert RowReader().each([bad, good, worse], CATALOG, job_of) == (job_of(good, CATALOG),)


def test_keys_of_a_newer_release_are_kept_when_a_job_ends():
    recorded = {**row("jobs", "status running"), "facts": '{"later":{"x":1}}'}
    job = job_of(recorded, CATALOG)
    assert job == samples.JOBS["status running"]
    ended = job_row(replace(job, status=JobStatus.FAILED, error="gone"))
    assert (ended["status"], ended["facts"]) == ("FAILED", '{"later":{"x":1}}')


@pytest.mark.parametrize("facts", [None, "", "{", "[]", "{}", '{"settings": 1, "silence_ms": "x"}'])
def test_a_lease_counts_whatever_its_facts_hold(facts):
    found = lease_of({**row("leases", "held"), "facts": facts}, CATALOG)
    held = samples.LEASES["held"]
    defaults = replace(held, address="", settings=(), silence_ms=SILENCE_MS)
    assert found == defaults


def test_a_lease_of_a_newer_release_is_read():
    recorded = row("leases", "held")
    more = json.dumps({**json.loads(recorded["facts"]), "later": [1]})
    assert lease_of({**recorded, "facts": more}, CATALOG) == samples.LEASES["held"]


# --- handlers


@pytest.mark.parametrize("name", golden("handlers"))
def test_a_handler_of_a_newer_release_is_read(name):
    text = json.dumps({**json.loads(golden("handlers")[name]), "later": 1}).encode()
    assert JsonRefreshHandlerSerializer().deserialize(text) == samples.HANDLERS[name]


@pytest.mark.parametrize("name", golden("workflows"))
def test_a_workflows_handler_of_a_newer_release_is_read(name):
    text = json.dumps({**json.loads(golden("workflows")[name]), "later": 1}).encode()
    assert StoredHandler.decode(text) == samples.WORKFLOWS[name]


@pytest.mark.parametrize(
    "stored", [b"", b"[]", b"7", b"{}", b"\xff", b'{"kind": "later"}', b'{"kind": "full"}']
)
@pytest.mark.parametrize("read", [JsonRefreshHandlerSerializer().deserialize, StoredHandler.decode])
def test_a_handler_that_is_not_known_is_refused(stored, read):
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error is one too
        read(stored)


# --- the file of a manager


@pytest.fixture
def path(tmp_path):
    path = tmp_path / discovery.FILE
    discovery.write(path, Discovered(LocalProcesses().owner(), "sc://localhost:15002", "s3cret"))
    return path


def rewrite(path, change):
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(document)), encoding="utf-8")
    return discovery.read(path)


def test_missing_keys_of_a_managers_file_have_defaults(path):
    wanted = replace(discovery.read(path), connect_token="")
    assert rewrite(path, lambda d: without(d, "rest_url", "rest_token", "connect_token")) == wanted


def test_keys_of_a_newer_release_in_a_managers_file_are_ignored(path):
    wanted = discovery.read(path)
    assert isinstance(wanted, Discovered)
    assert rewrite(path, with_more) == wanted


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {**d, "format": 2},
        lambda d: {**d, "owner": None},
        lambda d: {**d, "owner": []},
        lambda d: {**d, "connect_url": None},
        lambda d: without(d, "pid"),
        lambda d: [d],
    ],
)
def test_a_managers_file_that_is_not_understood_is_no_manager(path, change):
    found = rewrite(path, change)
    assert isinstance(found, NotFound)
    assert "this version" in found.reason
