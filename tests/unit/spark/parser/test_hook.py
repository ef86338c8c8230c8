"""The Java of the hook, compiled against the Spark that is installed."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbt.adapters.spark_mt.definition.errors import UnusableHookError
from dbt.adapters.spark_mt.spark.launch.jvm import java
from dbt.adapters.spark_mt.spark.parser import hook
from dbt.adapters.spark_mt.statements import parser

JARS = Path(find_spec("pyspark").origin).with_name("jars")


@pytest.fixture(scope="module")
def gateway():
    """A JVM with Spark's classes, and without a Spark."""
    if java() is None:
        pytest.skip("needs Java")
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    yield gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


def spark_of(gateway):
    """What `compiled` needs of a session."""
    return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=gateway.jvm), version="4")


def test_janino_compiles_every_class_and_the_jvm_verifies_it(gateway):
    """Janino writes classes of some Java that the JVM refuses when they are used."""
    assert hook.compiled(spark_of(gateway)).getName() == "dbt.adapters.spark_mt.StatementHook"


def test_a_class_of_spark_that_does_not_fit_is_named(gateway, tmp_path, monkeypatch):
    """The error says which one."""
    other = tmp_path / "StatementHook.java"
    other.write_text(hook.SOURCE.read_text(encoding="utf-8").replace("ResolvedProcedure", "Gone"))
    monkeypatch.setattr(hook, "SOURCE", other)
    with pytest.raises(UnusableHookError, match="Gone") as raised:
        hook.compiled(spark_of(gateway))
    assert "\n\tat " not in str(raised.value)


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a compiler")
def test_javac_compiles_the_listed_classes(tmp_path):
    """It checks more than Janino, and every class that is in the source is listed."""
    command = ["javac", "-nowarn", "-Xlint:-options", "--release", "17"]
    command += ["-cp", f"{JARS}/*", "-d", str(tmp_path), str(hook.SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert done.returncode == 0, done.stderr
    classes = {file.stem for file in tmp_path.rglob("*.class")}
    assert classes == {"StatementHook", *(f"StatementHook${each}" for each in hook.NESTED)}


def test_the_first_keywords_are_those_of_the_parser():
    """The hook asks Python about no statement with another first word."""
    assert {"CREATE", "ALTER", "DROP", "SHOW", "DESC", "DESCRIBE", "EXPLAIN"} <= set(
        parser.FIRST_WORDS
    )


def test_requests_of_the_jvm():
    """Each has one answer as text."""
    noted = []
    engine = hook._Engine(None, SimpleNamespace(interrupt=noted.append))
    assert engine.apply("is_ours", "SHOW JOBS") == "true"
    assert engine.apply("is_ours", "SHOW TABLES -- jobs") == "false"
    assert engine.apply("interrupt", "a") == ""
    assert noted == ["a"]
