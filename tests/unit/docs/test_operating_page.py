"""Alerts, commands and options of docs/operating.md."""

from __future__ import annotations

import re

import click
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from dbt.adapters.spark_mt.cli.main import commands
from dbt.adapters.spark_mt.manager.http import metrics
from tests.unit.deploy.files import DOCKERFILE, MANIFESTS, seconds_to_stop
from tests.unit.docs.test_pages import ROOT, code_block
from tests.unit.manager.fake import FakeManager

RULES = yaml.safe_load(code_block("operating.md", "yaml", "groups:"))["groups"][0]["rules"]
PAGE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")


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
def test_alerts_use_metrics_of_the_manager(rule, samples):
    expression = rule["expr"]
    requested = re.findall(r"\b(spark_mt_\w+)(?:\{([^}]*)\})?", expression)
    assert requested
    for name, labels in requested:
        assert name in samples, name
        for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
            assert value in {each[label] for each in samples[name]}
    for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
        assert all(label in each for name, _ in requested for each in samples[name])


def test_other_metrics_of_the_page_exist(samples):
    families = {re.sub(r"_(count|sum)$", "", name) for name in samples}
    mentioned = set(re.findall(r"`(spark_mt_\w+)`", PAGE))
    assert mentioned
    assert mentioned <= {*samples, *families}


def test_the_page_shows_every_manifest():
    links = re.findall(r"\]\(\.\./deploy/kubernetes/([\w-]+\.yaml)\)", PAGE)
    assert set(links) == {path.name for path in (ROOT / "deploy" / "kubernetes").iterdir()}


def test_the_commands_of_the_page_fit_the_image():
    """Project, token and volume are where the image expects them; it has time to stop."""
    commands = code_block("operating.md", "sh", "docker run")
    (seconds,) = re.findall(r"--stop-timeout (\d+)", commands)
    (port,) = re.findall(r"--publish 127\.0\.0\.1:(\d+):\1 ", commands)
    targets = re.findall(r",target=([\w/]+)", commands)
    assert int(port) == DOCKERFILE.port
    assert set(targets) == {DOCKERFILE.volume, DOCKERFILE.token_file}
    assert int(seconds) >= seconds_to_stop(DOCKERFILE.served())
    (deployed,) = re.findall(
        r"kubectl exec deployment/([\w-]+) -- dbt run\n",
        code_block("operating.md", "sh", "kubectl"),
    )
    assert deployed == MANIFESTS["Deployment"]["metadata"]["name"]


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
