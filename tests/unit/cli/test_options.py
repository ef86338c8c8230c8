"""What commands take from a dbt profile."""

from __future__ import annotations

import sys

import click
import pytest

from dbt.adapters.spark_mt.cli.options import SparkChoice, place_of
from dbt.adapters.spark_mt.definition import conditions
from tests.support.errors import raises

PROFILES = """
shop:
  target: "{{ env_var('SHOP_TARGET', 'dev') }}"
  outputs:
    dev:
      type: spark_mt
      schema: shop
      catalog: lake
      server_side_parameters:
        spark.sql.ansi.enabled: true
        spark.sql.shuffle.partitions: 2
        spark.app.name: "{{ env_var('SHOP_APP', 'none') }}"
    broken:
      type: spark_mt
      schema: "{{ env_var('NOBODY_SET_THIS') }}"
    far:
      type: spark_mt
      method: connect
      schema: shop
      host: spark.example
      port: 15003
      token: t0ps3cret
      use_ssl: true
    other:
      type: postgres
plain:
  outputs:
    default: {type: spark_mt, schema: plain}
odd: just a text
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A dbt project with profiles next to it; commands run in a folder below."""
    for variable in ("DBT_PROFILES_DIR", "DBT_PROFILE", "DBT_TARGET"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "profiles.yml").write_text(PROFILES)
    below = tmp_path / "models" / "marts"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path


def test_the_nearest_project_is_used(project, monkeypatch):
    monkeypatch.setenv("SHOP_APP", "mine")
    place = place_of(SparkChoice())
    assert (place.home, place.catalog, place.schema, place.method) == (
        project,
        "lake",
        "shop",
        "auto",
    )
    assert place.confs == {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": "2",
        "spark.app.name": "mine",
    }
    assert place.origin == f"target dev of profile shop in {project / 'profiles.yml'}"


def test_the_command_line_wins(project):
    place = place_of(
        SparkChoice(conf=("spark.app.name=a=b", "spark.x = 1"), warehouse=project / "lake")
    )
    assert place.confs["spark.app.name"] == "a=b"
    assert place.confs["spark.x"] == "1"
    assert place.confs["spark.sql.warehouse.dir"] == str(project / "lake")
    assert place.confs["spark.sql.shuffle.partitions"] == "2"


@pytest.mark.usefixtures("project")
def test_targets_are_rendered_and_chosen(monkeypatch):
    far = {"host": "spark.example", "port": 15003, "token": "t0ps3cret", "use_ssl": True}
    chosen = place_of(SparkChoice(target="far"))
    assert (chosen.method, chosen.server) == ("connect", far)
    assert "t0ps3cret" not in repr(chosen)
    monkeypatch.setenv("SHOP_TARGET", "far")
    assert place_of(SparkChoice()) == chosen


@pytest.mark.usefixtures("project")
def test_keys_missing_in_other_targets_are_no_error():
    assert place_of(SparkChoice(profile="plain")).schema == "plain"
    with raises(conditions.PROFILE) as caught:
        place_of(SparkChoice(target="broken"))
    assert "NOBODY_SET_THIS" in caught.value.parameters["problem"]


@pytest.mark.usefixtures("project")
def test_a_profile_without_jinja_loads_no_dbt(monkeypatch):
    monkeypatch.setitem(sys.modules, "dbt.config.renderer", None)
    assert place_of(SparkChoice(profile="plain")).schema == "plain"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        (SparkChoice(profile="nope"), "has no profile nope"),
        (SparkChoice(profile="odd"), "has no profile odd"),
        (SparkChoice(target="nope"), "has no target nope"),
        (SparkChoice(target="other"), "is of type postgres, not spark_mt"),
    ],
)
def test_what_was_named_must_be_there(choice, problem):
    with raises(conditions.PROFILE) as caught:
        place_of(choice)
    assert problem in caught.value.parameters["problem"]


def test_a_profile_of_another_adapter_is_none(project, monkeypatch):
    monkeypatch.setenv("SHOP_TARGET", "other")
    place = place_of(SparkChoice(conf=("spark.x=1",)))
    assert (place.home, place.confs, place.schema) == (project, {"spark.x": "1"}, None)


def test_without_a_project_the_confs_are_those_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    place = place_of(SparkChoice(conf=("spark.x=1",)))
    assert (place.home, place.confs, place.origin) == (
        tmp_path,
        {"spark.x": "1"},
        "the command line",
    )
    with raises(conditions.PROFILE):
        place_of(SparkChoice(profile="shop"))


@pytest.mark.parametrize("text", ["[", "- a list", "\x00"])
def test_a_file_that_is_no_profile(project, text):
    (project / "profiles.yml").write_text(text)
    with raises(conditions.PROFILE):
        place_of(SparkChoice())


@pytest.mark.parametrize("conf", ["spark.x", "=1", ""])
def test_what_is_no_conf(conf):
    with pytest.raises(click.BadParameter):
        place_of(SparkChoice(conf=(conf,)))
