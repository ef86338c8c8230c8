"""Dockerfile in deploy/: linter, base image, package, user, commands, port and health check."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dbt.adapters.spark_mt.__version__ import version
from dbt.adapters.spark_mt.manager.http.app import HttpServer, create_app
from dbt.adapters.spark_mt.manager.http.auth import Access, AccessRules
from dbt.adapters.spark_mt.manager.views import Health
from dbt.adapters.spark_mt.spark.launch.listeners import is_loopback
from tests.unit.deploy.files import DEPLOY, DOCKERFILE, ROOT, Dockerfile, parameters
from tests.unit.manager.fake import FakeManager
from tests.unit.manager.http.client import TOKEN

FILE = DEPLOY / "Dockerfile"
HADOLINT = Path(sys.executable).with_name("hadolint")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def linted(path: Path, home: Path) -> str:
    """The return code of the linter and its findings, without a configuration of the user."""
    arguments = ["--no-color", "--failure-threshold", "style"]
    run = subprocess.run(  # noqa: S603 - of this environment
        [str(HADOLINT), *arguments, str(path)],
        check=False,
        capture_output=True,
        text=True,
        cwd=home,
        env={"HOME": str(home)},
    )
    return f"{run.returncode} {run.stdout}{run.stderr}".strip()


@pytest.mark.skipif(sys.platform == "win32", reason="hadolint has no wheel for Windows")
def test_the_linter_accepts_the_file(tmp_path):
    assert linted(FILE, tmp_path) == "0"
    wrong = tmp_path / "Dockerfile"
    text = re.sub(r"^FROM .*$", "FROM python", FILE.read_text("utf-8"), flags=re.MULTILINE)
    wrong.write_text(text, encoding="utf-8")
    assert re.match(r"1 .*\bDL3006\b", linted(wrong, tmp_path))


def test_the_base_image_is_one_version_that_the_package_supports():
    image, _, tag = DOCKERFILE.one("FROM").partition(":")
    (python,) = re.findall(r"^(\d+\.\d+\.\d+)-slim-\w+$", tag)
    (supported,) = re.findall(r'^requires-python = "(.*)"$', PYPROJECT, re.MULTILINE)
    assert image == "python"
    assert python in SpecifierSet(supported)


def test_this_version_of_the_package_is_installed_with_what_a_manager_needs():
    (text,) = re.findall(r"pip install --no-cache-dir '([^']+)'", FILE.read_text("utf-8"))
    requirement = Requirement(text)
    (name,) = re.findall(r'^name = "(.*)"$', PYPROJECT, re.MULTILINE)[:1]
    assert (requirement.name, requirement.extras) == (name, {"serve"})
    assert re.search(r"^serve = \[$", PYPROJECT, re.MULTILINE)
    assert str(requirement.specifier) == f"=={version}"


def test_the_user_of_the_process_is_not_root():
    (uid,) = re.findall(r"useradd --create-home --uid (\d+)", DOCKERFILE.all("RUN")[0])
    assert DOCKERFILE.one("USER") == uid
    assert int(uid) > 0


def test_the_user_may_write_where_the_manager_does():
    """In the project, and on a volume."""
    (name,) = re.findall(r"useradd .*?(\w+) && install", DOCKERFILE.all("RUN")[0])
    (owner, folders) = re.findall(
        r"install --directory --owner=(\w+) (.*)$", DOCKERFILE.all("RUN")[0]
    )[0]
    assert owner == name
    assert DOCKERFILE.one("WORKDIR") in folders.split()
    assert DOCKERFILE.one("COPY") == f"--chown={name} . ."


def test_the_process_is_a_manager_that_others_reach_by_a_token():
    """Spark Connect is not served: it would be open to others, too."""
    given = DOCKERFILE.served()
    assert not is_loopback(given["host"])
    assert given["token_file"]
    assert given["connect"] is False
    assert given["log_format"] == "json"
    assert given["port"] == DOCKERFILE.port


def test_the_process_gets_sigterm():
    """It is process 1, not the child of a shell, and the signal is Docker's own."""
    assert DOCKERFILE.entrypoint
    assert DOCKERFILE.all("STOPSIGNAL") == []


def test_the_commands_of_the_build_exist():
    words = shlex.split(DOCKERFILE.all("RUN")[-1])
    assert words[:2] == ["spark-mt", "archive"]
    assert "project_dir" in parameters("archive", words[2 : words.index("&&")])


@pytest.mark.parametrize(
    ("health", "is_healthy"),
    [
        (Health(is_alive=True, is_ready=True), True),
        (Health(is_alive=True, is_ready=False, problems=("Not looked yet.",)), True),
        (Health(is_alive=False, is_ready=False, problems=("Stuck.",)), False),
    ],
)
def test_the_health_check_asks_the_manager(health, is_healthy):
    """Without a token, at the address and the port of the image."""
    manager = FakeManager()
    manager.become(health)
    app = create_app(manager, Access(AccessRules(host=DOCKERFILE.served()["host"], token=TOKEN)))
    server = HttpServer(app, "127.0.0.1", 0)
    server.start()
    try:
        run = subprocess.run(  # noqa: S603 - the command of the image
            checking(DOCKERFILE, server.port), check=False, capture_output=True, timeout=30
        )
    finally:
        server.stop()
    assert (run.returncode == 0) is is_healthy


def checking(image: Dockerfile, port: int) -> list[str]:
    """The command of the health check, at another port."""
    python, *arguments = json.loads(image.one("HEALTHCHECK").partition("CMD ")[2])
    assert python == "python"
    here = [each.replace(f"127.0.0.1:{image.port}/", f"127.0.0.1:{port}/") for each in arguments]
    assert here != arguments
    return [sys.executable, *here]
