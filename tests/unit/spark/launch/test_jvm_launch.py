"""How Spark's JVM is launched: what is on its command line, and what in files."""

from __future__ import annotations

import os
import shlex
import sys

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.launch.jvm_launch import (
    arguments_text,
    launch,
    properties_text,
    submitted,
)
from tests.support.errors import raises

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the false Java is a shell script")

JAVA = """#!/bin/sh
printf 'argument <%s>\\n' "$@" >&2
while [ $# -gt 0 ]; do
    if [ "$1" = --properties-file ]; then
        ls -lL "$2" >&2
        cat "$2" >&2
        for file in $(sed -n 's/.*@\\([^ ]*\\).*/\\1/p' "$2"); do cat "$file" >&2; done
    fi
    shift
done
exit 1
"""


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """Launches a Java that prints what it is given, and ends; returns what it printed."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA, encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)

    def launched(confs):
        log = tmp_path / "spark.log"
        with raises(conditions.SPARK_DID_NOT_START):
            launch(confs, log, {})
        assert [path for path in (tmp_path / "tmp").rglob("*") if path.is_file()] == []
        return log.read_text(encoding="utf-8").splitlines()

    return launched


def arguments(lines):
    return [line for line in lines if line.startswith("argument ")]


@pytest.mark.parametrize("has_memory", [True, False], ids=["in memory", "in a folder"])
def test_confs_are_in_a_file_of_this_user(launched, monkeypatch, has_memory):
    if not has_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif not sys.platform.startswith("linux"):
        pytest.skip("only Linux has files in memory")
    lines = launched(
        {"spark.my.password": "s3cret", "spark.driver.extraJavaOptions": "-Xss4m -Dp=hidden-too"}
    )
    assert not [line for line in arguments(lines) if "s3cret" in line or "hidden-too" in line]
    assert "argument <--load-spark-defaults>" in lines
    assert "spark.my.password=s3cret" in lines
    assert '"-Dp=hidden-too"' in lines
    (options,) = [line for line in lines if line.startswith("spark.driver.extraJavaOptions=")]
    assert options.startswith("spark.driver.extraJavaOptions=-Xss4m\\ @/")
    if not has_memory:
        (mode,) = [line.split()[0] for line in lines if line.endswith("spark.properties")]
        assert mode.rstrip(".+") == "-rw-------"


def test_confs_of_the_variable_are_in_the_file_as_well(launched, tmp_path, monkeypatch):
    (tmp_path / "mine.conf").write_text("spark.a  1\nspark.b=2\n# c\n", encoding="utf-8")
    given = f"--conf spark.b=s3cret -c spark.c=3 --conf=spark.d=4 --properties-file {tmp_path}/"
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS", f"{given}mine.conf --driver-memory 1g --packages a:b:1 pyspark-shell"
    )
    lines = launched({"spark.c": "ours"})
    assert not [line for line in arguments(lines) if "s3cret" in line or "mine.conf" in line]
    for line in ("spark.a=1", "spark.b=s3cret", "spark.c=ours", "spark.d=4"):
        assert line in lines
    shown = [line.removeprefix("argument <").removesuffix(">") for line in arguments(lines)]
    words = ["--driver-memory", "1g", "--packages", "a:b:1", "pyspark-shell"]
    assert shown[-len(words) :] == words
    assert "--load-spark-defaults" not in shown, "a file of the user replaces the defaults"
    assert os.environ["PYSPARK_SUBMIT_ARGS"].startswith("--conf"), "it is as before"


@pytest.mark.parametrize("variable", ["--master yarn --jars a.jar", "--master=yarn --jars=a.jar"])
def test_options_that_are_confs_are_known(monkeypatch, variable):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{variable} pyspark-shell")
    assert submitted().known == {"spark.master": "yarn", "spark.jars": "a.jar"}
    assert submitted().reads_defaults


def test_options_that_cannot_be_split_stay_for_spark_to_refuse(launched):
    lines = launched({"spark.driver.extraJavaOptions": "-Dx='open"})
    assert "spark.driver.extraJavaOptions=-Dx\\='open" in lines


def test_properties_are_written_as_java_reads_them():
    text = properties_text({"spark.a b": "x = y\\z # ü\n\t𝄞!"})
    assert text == ("spark.a\\ b=x\\ \\=\\ y\\\\z\\ \\#\\ \\u00fc\\u000a\\u0009\\ud834\\udd1e\\!\n")


def test_arguments_are_written_as_java_reads_them():
    assert arguments_text(['-Da="b c"', "-Dd=e\\f#"]) == '"-Da=\\"b c\\""\n"-Dd=e\\\\f#"\n'
    assert shlex.split(arguments_text(["-Da='b c'"])) == ["-Da='b c'"]
    assert conditions.SPARK_DID_NOT_START.name == "MATERIALIZED_TABLE_SPARK_DID_NOT_START"
