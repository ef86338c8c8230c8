"""Unit of systemd in deploy/: its keys, the command that it starts, its directories and times."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import PurePosixPath

import pytest

from tests.unit.deploy.files import ENVIRONMENT, UNIT, UNIT_FILE, seconds_to_stop, served

ANALYZE = shutil.which("systemd-analyze") or ""
TARGETS = ("sysinit", "basic", "shutdown", "network-online", "multi-user")
OLDEST = 250
"""The first version with `%d`, the directory of credentials."""
SERVICE = UNIT["Service"]
TEXT = UNIT_FILE.read_text(encoding="utf-8")


def version() -> int:
    """The version of systemd on this machine; 0 without one."""
    if not ANALYZE:
        return 0
    run = subprocess.run([ANALYZE, "--version"], check=True, capture_output=True, text=True)  # noqa: S603
    return int(re.findall(r"systemd (\d+)", run.stdout)[0])


@pytest.fixture
def verified(tmp_path):
    """Verify a unit in a root directory that has its program and the targets of every system."""
    units = tmp_path / "etc" / "systemd" / "system"
    units.mkdir(parents=True)
    for target in TARGETS:
        (units / f"{target}.target").write_text("[Unit]\nDescription=A target\n", encoding="utf-8")
    program = tmp_path / shlex.split(SERVICE["ExecStart"])[0].lstrip("/")
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)

    def verify(text: str) -> str:
        unit = units / UNIT_FILE.name
        unit.write_text(text, encoding="utf-8")
        arguments = ["verify", "--man=no", f"--root={tmp_path}", str(unit)]
        run = subprocess.run(  # noqa: S603 - of this system
            [ANALYZE, *arguments], check=False, capture_output=True, text=True, timeout=60
        )
        return f"{run.returncode} {run.stdout}{run.stderr}".strip()

    return verify


needs_systemd = pytest.mark.skipif(version() < OLDEST, reason=f"needs systemd {OLDEST} or newer")


@needs_systemd
def test_systemd_accepts_the_unit(verified):
    assert verified(TEXT) == "0"


@needs_systemd
@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("TimeoutStopSec=", "TimeoutStopSeconds=", "Unknown key"),
        ("KillMode=mixed", "KillMode=mixt", "Failed to parse"),
        ("%d/token", "%Q/token", "Failed to resolve unit specifiers"),
        ("/spark-mt serve", "/spark-manager serve", "not executable"),
    ],
)
def test_systemd_refuses_mistakes(verified, right, wrong, problem):
    assert right in TEXT
    assert problem in verified(TEXT.replace(right, wrong))


@pytest.fixture
def given():
    """The parameters of the manager that the unit starts."""
    program, command, *words = shlex.split(SERVICE["ExecStart"].replace("%d/", "/credentials/"))
    assert (PurePosixPath(program).name, command) == ("spark-mt", "serve")
    return served(words)


def test_the_unit_starts_a_manager_with_the_credential(given):
    name, _, _ = SERVICE["LoadCredential"].partition(":")
    assert f"/credentials/{name}" in given["words"]
    assert given["token_file"]


def test_the_manager_has_the_time_to_stop(given):
    """It ends after SIGTERM, which is systemd's own signal, and only the manager gets it."""
    assert int(SERVICE["TimeoutStopSec"]) >= seconds_to_stop(given)
    assert "KillSignal" not in SERVICE
    assert SERVICE["KillMode"] == "mixed"


def test_paths_that_the_manager_writes_are_writable():
    """The project, below which are warehouse, metastore and logs; and jars below HOME."""
    assert SERVICE["ProtectSystem"] == "strict"
    writable = SERVICE["ReadWritePaths"].split()
    home = dict(each.split("=") for each in SERVICE["Environment"].split())["HOME"]
    assert {SERVICE["WorkingDirectory"], home} <= set(writable)


def test_variables_exist():
    names = {each.partition("=")[0] for each in SERVICE["Environment"].split()}
    assert names <= {*ENVIRONMENT, "HOME"}
