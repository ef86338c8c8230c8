"""Starting Spark where it cannot start: no JVM of Spark runs here."""

import os
import shutil

import pytest

from dbt.adapters.spark_mt.spark.session import JavaMissingError, SparkStartError, classic_spark


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start Spark with another JAVA_HOME, and only the shell's tools on the path."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "env", "ps", "sh"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))

    def classic(home):
        if home is None:
            monkeypatch.delenv("JAVA_HOME", raising=False)
        else:
            monkeypatch.setenv("JAVA_HOME", str(home))
        return classic_spark({}, tmp_path, tmp_path / "logs" / "spark.log")

    return classic


def test_without_java(start, tmp_path):
    with pytest.raises(JavaMissingError) as error:
        start(None)
    assert error.value.parameters["javaHome"] == "not set"
    with pytest.raises(JavaMissingError) as error:
        start(tmp_path / "nowhere")
    assert error.value.parameters["javaHome"] == str(tmp_path / "nowhere")


@pytest.mark.skipif(os.name != "posix", reason="the false Java is a shell script")
def test_a_java_that_ends_at_once_shows_its_last_words(start, tmp_path):
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'too little memory' >&2\nexit 1\n", encoding="utf-8")
    java.chmod(0o755)
    with pytest.raises(SparkStartError) as error:
        start(tmp_path / "java")
    assert "too little memory" in error.value.violations
    assert "server_side_parameters" in str(error.value)
