"""What docs/operating.md shows to copy: alerts, a unit, a container."""

from __future__ import annotations

import json
import re

import click
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from dbt.adapters.spark_mt.cli.main import commands
from dbt.adapters.spark_mt.manager.http import metrics
from tests.unit.docs.test_pages import ROOT, code_block
from tests.unit.manager.fake import FakeManager

RULES = yaml.safe_load(code_block("operating.md", "yaml", "groups:"))["groups"][0]["rules"]
UNIT = code_block("operating.md", "ini", "[Service]")
CONTAINER = code_block("operating.md", "dockerfile", "FROM")
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
SERVE = commands.commands["serve"]


@pytest.fixture(scope="module")
def samples():
    """The names of the sample's metrics, each with the labels that it has."""
    text, _ = metrics.exposition(metrics.registry(FakeManager()), "text/plain")
    found: dict[str, list] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_the_manager_tells(rule, samples):
    expression = rule["expr"]
    requested = re.findall(r"\b(spark_mt_\w+)(?:\{([^}]*)\})?", expression)
    assert requested
    for name, labels in requested:
        assert name in samples, name
        for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
            assert value in {each[label] for each in samples[name]}
    for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
        assert all(label in each for name, _ in requested for each in samples[name])


def test_other_metrics_of_the_page_are_told(samples):
    families = {re.sub(r"_(count|sum)$", "", name) for name in samples}
    mentioned = set(re.findall(r"`(spark_mt_\w+)`", PAGE))
    assert mentioned
    assert mentioned <= {*samples, *families}


def test_the_unit_starts_a_manager():
    (words,) = re.findall(r"^ExecStart=\S+/spark-mt serve (.*)$", UNIT, re.MULTILINE)
    within = parsed(words.replace("%d/token", __file__).split())["stop_within_seconds"]
    (stops,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(stops) > within


def test_the_container_starts_a_manager():
    (words,) = re.findall(r"^ENTRYPOINT (.*)$", CONTAINER, re.MULTILINE)
    command = [each.replace("/run/secrets/token", __file__) for each in json.loads(words)]
    assert command[:2] == ["spark-mt", "serve"]
    given = parsed(command[2:])
    assert (given["connect"], given["log_format"]) == (False, "json")
    (port,) = re.findall(r"^EXPOSE (\d+)$", CONTAINER, re.MULTILINE)
    assert given["port"] == int(port)


def parsed(arguments):
    """The parameters of `spark-mt serve`, which refuses options that it does not have."""
    return SERVE.make_context("serve", list(arguments)).params


def test_options_of_the_page_exist():
    known = {
        option
        for command in commands.commands.values()
        for param in command.params
        if isinstance(param, click.Option)
        for option in (*param.opts, *param.secondary_opts)
    }
    text = "".join(re.split(r"```.*?```", PAGE, flags=re.DOTALL))
    assert set(re.findall(r"`(--[\w-]+)`", text)) <= known
