"""What `make setup` says on a machine that lacks something."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INPUTS = (
    "pyproject.toml",
    "constraints.txt",
    "tools/setup.sh",
    "tests/kafka/ivy.xml",
    "tests/corpus/ivy.xml",
)


@pytest.fixture
def checkout(tmp_path):
    """As much of a checkout as the script reads, without a .venv."""
    for name in INPUTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def java(folder, banner):
    """A JAVA_HOME whose `java -version` prints a banner."""
    program = folder / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    return folder / "jdk"


def set_up(checkout, **environment):
    return subprocess.run(  # noqa: S603 - our own script
        [str(checkout / "tools" / "setup.sh")],
        check=False,
        text=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], **{k: str(v) for k, v in environment.items()}},
    )


def test_missing_java_is_reported_in_one_sentence(checkout):
    run = set_up(checkout, JAVA_HOME="/nowhere")
    assert run.returncode == 1
    assert run.stderr.startswith("Spark needs Java 17 or newer and none was found")
    assert run.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize(
    ("banner", "major"),
    [('openjdk version "11.0.2" 2019-01-15', "11"), ('java version "1.8.0_391"', "1")],
)
def test_old_java_is_reported_with_its_version(checkout, banner, major):
    run = set_up(checkout, JAVA_HOME=java(checkout, banner))
    assert run.returncode == 1
    assert f"is version {major}: install one" in run.stderr


@pytest.mark.parametrize("banner", ['openjdk version "17.0.1" 2021', 'openjdk version "21" 2023'])
def test_missing_python_is_reported_in_one_sentence(checkout, banner):
    run = set_up(checkout, JAVA_HOME=java(checkout, banner), PYTHON="/nowhere/python")
    assert run.returncode == 1
    assert run.stderr.startswith("Python 3.10 to 3.13 is needed and none was found")
    assert run.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_nothing_is_done_twice(checkout):
    """A stamp of the inputs says that everything is there."""
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    python.chmod(0o755)
    texts = b"".join((checkout / name).read_bytes() for name in INPUTS)
    stamp = subprocess.run(["cksum"], input=texts, check=True, capture_output=True).stdout  # noqa: S607
    (checkout / ".venv" / ".ready").write_bytes(stamp.strip())
    run = set_up(checkout, JAVA_HOME=java(checkout, 'openjdk version "17.0.1" 2021'))
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
