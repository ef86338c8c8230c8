"""The releases of Python, dbt and Java that are supported, and what is said of all others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import UnsupportedDbtError
from dbt.adapters.spark_mt.definition.releases import (
    DBT,
    JAVA,
    PYTHON,
    UNTESTED,
    check_dbt,
    check_java,
    check_python,
)
from dbt.adapters.spark_mt.spark.delta.releases import PAIRS
from tests.support.errors import raises

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_untested_releases(monkeypatch):
    monkeypatch.delenv(UNTESTED, raising=False)


def test_each_spark_has_its_java():
    assert list(JAVA) == [pair.spark for pair in PAIRS]


def test_a_supported_release_is_not_refused():
    for version in PYTHON:
        check_python(tuple(map(int, version.split("."))))
    for version in DBT:
        check_dbt(f"{version}.99")
    for spark, versions in JAVA.items():
        for version in (*versions, "21.0.4", "17.0.15", "21-internal"):
            check_java(version, "/java", f"{spark}.0")
        check_java("", "/java", f"{spark}.0")


@pytest.mark.parametrize("version", [(3, 9), (3, 1), (3, 14), (4, 0)])
def test_another_python_is_refused(version, monkeypatch):
    with raises(conditions.UNSUPPORTED_PYTHON) as raised:
        check_python(version)
    assert raised.value.parameters["python"] == ".".join(map(str, version))
    assert f"python{PYTHON[-1]} -m venv" in str(raised.value)
    monkeypatch.setenv(UNTESTED, "true")
    check_python(version)


@pytest.mark.parametrize("version", ["1.1.0", "1.10.23", "1.13.0b1", "2.0.0"])
def test_another_dbt_is_refused(version, monkeypatch):
    with pytest.raises(UnsupportedDbtError) as raised:
        check_dbt(version)
    assert raised.value.parameters["dbt"] == version
    assert f"'dbt-core~={DBT[-1]}.0'" in str(raised.value)
    monkeypatch.setenv(UNTESTED, "1")
    check_dbt(version)


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "24.0.1", "26-ea", "170.1"])
def test_another_java_is_refused(version, monkeypatch):
    with raises(conditions.UNSUPPORTED_JAVA) as raised:
        check_java(version, "/opt/java/bin/java", "4.1.4")
    assert raised.value.parameters["home"] == "/opt/java/bin/java"
    assert "openjdk-17-jre-headless" in str(raised.value)
    check_java(version, "/opt/java/bin/java", "9.9.0")
    monkeypatch.setenv(UNTESTED, "TRUE")
    check_java(version, "/opt/java/bin/java", "4.1.4")


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own: what is loaded once is not checked again."""
    return subprocess.run(  # noqa: S603 - our own code
        (sys.executable, "-c", code), capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_the_package_does_not_load_in_another_python():
    done = run(
        "import sys; sys.version_info = (3, 9, 18, 'final', 0)\nimport dbt.adapters.spark_mt.api"
    )
    assert done.returncode == 1
    assert f"[{conditions.UNSUPPORTED_PYTHON.name}] This is Python 3.9" in done.stderr


def test_dbt_does_not_start_with_another_dbt(tmp_path):
    (tmp_path / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    (tmp_path / "profiles.yml").write_text(
        "shop: {target: dev, outputs: {dev: {type: spark_mt, schema: shop}}}"
    )
    code = f"""
import importlib.metadata as metadata, os, sys
of_installed = metadata.version
metadata.version = lambda name: "1.10.23" if name == "dbt-core" else of_installed(name)
os.chdir({str(tmp_path)!r})
sys.argv = ["dbt", "--no-use-colors", "parse"]
from dbt.cli.main import cli
cli()
"""
    done = run(code)
    assert done.returncode != 0
    assert f"[{conditions.UNSUPPORTED_DBT.name}] dbt-core 1.10.23 is installed" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
