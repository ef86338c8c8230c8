"""`dbt init` asks what the template says, and what it writes is a valid profile."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import yaml
from dbt.task.init import InitTask

from dbt.adapters.spark_mt.connections import SparkMTCredentials
from dbt.include.spark_mt import PACKAGE_PATH


def answers(monkeypatch, given):
    """The target that `dbt init` builds when a user answers `given`, and the defaults else."""
    template = yaml.safe_load(Path(PACKAGE_PATH, "profile_template.yml").read_text("utf-8"))

    def prompt(text, default=None, **_):
        known = [value for question, value in given.items() if text.lower().startswith(question)]
        return known[0] if known else default

    monkeypatch.setattr(click, "prompt", prompt)
    task = object.__new__(InitTask)
    return task.generate_target_from_input(template["prompts"], dict(template["fixed"]))


@pytest.mark.parametrize(
    ("method", "expected"),
    [(1, ("auto", None)), (2, ("session", None)), (3, ("connect", "localhost"))],
)
def test_the_profile_of_dbt_init_is_valid(monkeypatch, method, expected):
    target = answers(monkeypatch, {"[1] auto": method, "schema": "dev"})
    assert target.pop("type") == "spark_mt"
    assert target.pop("threads") == 4
    profile = SparkMTCredentials.translate_aliases(target)
    SparkMTCredentials.validate(profile)
    found = SparkMTCredentials.from_dict(profile)
    assert (str(found.method), found.host) == expected
    assert (found.schema, found.database) == ("dev", "spark_catalog")


def test_sample_profiles_are_valid():
    sample = yaml.safe_load(Path(PACKAGE_PATH, "sample_profiles.yml").read_text("utf-8"))
    for target in sample["default"]["outputs"].values():
        profile = {k: v for k, v in target.items() if k not in {"type", "threads"}}
        SparkMTCredentials.validate(SparkMTCredentials.translate_aliases(profile))
