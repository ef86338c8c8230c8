"""The archive of classes: when a JVM uses one, and what is kept of one that is made."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.spark.launch import class_archive
from dbt.adapters.spark_mt.spark.launch.class_archive import (
    SUBMIT_OPTIONS,
    archive_file,
    archived_classes,
    make_archive,
)
from tests.support.errors import raises


def java_of(home):
    """A folder of Java."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch()
    return home


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A folder for caches of its own, and no options of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(java_of(tmp_path / "java")))
    monkeypatch.delenv(SUBMIT_OPTIONS, raising=False)
    return tmp_path


@pytest.fixture
def archive():
    file = archive_file()
    file.parent.mkdir(parents=True)
    file.write_bytes(b"classes")
    return file


def options(confs=None):
    with archived_classes(confs or {}):
        return os.environ.get(SUBMIT_OPTIONS)


def test_without_an_archive_nothing_is_logged():
    assert options() is None


def test_an_archive_is_used_next_to_other_options(archive, monkeypatch):
    assert options() == f"-XX:SharedArchiveFile={archive}"
    assert SUBMIT_OPTIONS not in os.environ
    monkeypatch.setenv(SUBMIT_OPTIONS, "-Xmx1g")
    assert options() == f"-Xmx1g -XX:SharedArchiveFile={archive}"
    assert os.environ[SUBMIT_OPTIONS] == "-Xmx1g"


@pytest.mark.parametrize("own", ["-Xshare:off", "-XX:SharedArchiveFile=a", "-XX:AOTCache=a"])
def test_the_choice_of_the_user_wins(archive, monkeypatch, own):
    assert archive.exists()
    assert options({"spark.driver.extraJavaOptions": own}) is None
    monkeypatch.setenv(SUBMIT_OPTIONS, own)
    assert options() == own


def test_each_java_has_its_own(cache, monkeypatch):
    before = archive_file()
    assert before == archive_file()
    monkeypatch.setenv("JAVA_HOME", str(java_of(cache / "newer")))
    assert archive_file() != before
    assert archive_file().parent == before.parent == cache / "cache" / "dbt-spark-mt"


def jvm(script):
    """Python in the place of a JVM; it has the options of the environment."""
    return lambda: subprocess.Popen([sys.executable, "-c", script])  # noqa: S603 - our own


WRITES = f"""
import os
assert "-Dhttps.proxyHost=proxy" in os.environ[{SUBMIT_OPTIONS!r}]
assert "SharedArchiveFile" not in os.environ[{SUBMIT_OPTIONS!r}]
import shlex
name = next(o for o in shlex.split(os.environ[{SUBMIT_OPTIONS!r}]) if "AtExit" in o)
open(name.partition("=")[2], "w").write("made")
"""


def test_the_output_of_the_jvm_is_kept(archive, tmp_path, monkeypatch):
    monkeypatch.setenv(SUBMIT_OPTIONS, "-XX:SharedArchiveFile=old -Dhttps.proxyHost=proxy")
    assert make_archive(jvm(WRITES), tmp_path / "spark.log") == archive
    assert archive.read_text() == "made"
    assert [each.name for each in archive.parent.iterdir()] == [archive.name]
    assert os.environ[SUBMIT_OPTIONS] == "-XX:SharedArchiveFile=old -Dhttps.proxyHost=proxy"


@pytest.mark.skipif(os.name != "posix", reason="there are no modes of files")
@pytest.mark.parametrize("place", ["file", "folder"])
def test_an_archive_that_others_can_write_is_not_used(archive, place):
    (archive if place == "file" else archive.parent).chmod(0o777)
    assert options() is None


def test_a_user_without_a_home_starts_without_an_archive(monkeypatch):
    def none():
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", none)
    assert options() is None


def test_a_path_with_a_space_is_one_word(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    file = archive_file()
    file.parent.mkdir(parents=True)
    file.write_bytes(b"classes")
    assert shlex.split(options() or "") == [f"-XX:SharedArchiveFile={file}"]
    monkeypatch.setenv(SUBMIT_OPTIONS, "-Dhttps.proxyHost=proxy")
    assert make_archive(jvm(WRITES), tmp_path / "spark.log").read_text() == "made"


@pytest.mark.parametrize(
    "script",
    [
        "pass",
        "import time; time.sleep(600)",
        f"{WRITES}\nimport time; time.sleep(600)",
        f"{WRITES}\nimport os; os.abort()",
    ],
)
def test_without_a_new_one_the_old_one_stays(archive, tmp_path, monkeypatch, script):
    monkeypatch.setenv(SUBMIT_OPTIONS, "-Dhttps.proxyHost=proxy")
    log = tmp_path / "spark.log"
    log.write_text("first\nno space left\n", encoding="utf-8")
    monkeypatch.setattr(class_archive, "_ENDS_WITHIN_S", 1)
    with raises(conditions.ARCHIVE_NOT_MADE) as error:
        make_archive(jvm(script), log)
    assert error.value.violations == ("first", "no space left")
    assert archive.read_bytes() == b"classes"
    assert [each.name for each in archive.parent.iterdir()] == [archive.name]
