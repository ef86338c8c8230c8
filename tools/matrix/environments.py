"""Environments of lanes: an interpreter, packages, the wheel, and a copy of the tests."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.spark_mt.spark.launch.jvm import java_version
from tools.matrix.lanes import NOT_NEEDED, TOOLS, Resolution

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools.matrix.lanes import Lane

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".work" / "matrix"
_SUITE = WORK / "suite"
_PINS = ROOT / "constraints.txt"
_NAME = re.compile(r"[\w.-]+")
_JAVAS = (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines"))
_NOT_INHERITED = ("PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME")


class AbsentError(Exception):
    """This machine has not what a lane needs: an interpreter, or a Java."""


class BrokenError(Exception):
    """A command failed that makes an environment; the text is its output."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment of a lane, in which the wheel is installed.

    Args:
        python: Its interpreter.
        variables: The environment of the processes of its tests.
    """

    python: Path
    variables: Mapping[str, str]

    def pytest(self, tests: Sequence[str], report: Path) -> int:
        """Run tests of the copy with the installed wheel; return pytest's exit code."""
        options = ("-q", "-m", "not conformance", f"--junitxml={report}", "-p", "no:cacheprovider")
        command = (str(self.python), "-m", "pytest", *options, *tests)
        return subprocess.run(  # noqa: S603 - our own command
            command, cwd=_SUITE, env=self.variables, check=False
        ).returncode

    def ask(self, code: str) -> str:
        """Return what a piece of Python prints in this environment."""
        return _run((str(self.python), "-I", "-c", code), self.variables)


class Environments:
    """What makes the environments of lanes, each of which is kept for the next time."""

    def __init__(self) -> None:
        self._uv = Path(sys.executable).with_name("uv")
        self._wheel: Path | None = None

    def prepare(self) -> None:
        """Build the wheel and copy the tests, once for all lanes."""
        WORK.mkdir(parents=True, exist_ok=True)
        dist = WORK / "dist"
        shutil.rmtree(dist, ignore_errors=True)
        _run((str(self._uv), "build", "--quiet", "--wheel", "--out-dir", str(dist), str(ROOT)))
        (self._wheel,) = dist.glob("*.whl")
        shutil.rmtree(_SUITE, ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__")
        for folder in "tests", "docs", "tools":  # tests run the lines of pages, and import tools
            shutil.copytree(ROOT / folder, _SUITE / folder, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", _SUITE)  # pytest's options

    def of(self, lane: Lane, variables: Mapping[str, str]) -> Environment:
        """Make the environment of a lane, or bring the one that there is up to date.

        Args:
            lane: The lane.
            variables: More variables for its tests.

        Raises:
            AbsentError: There is no such interpreter or no such Java.
            BrokenError: Its packages cannot be installed.
        """
        interpreter = _interpreter(lane.python)
        java = {} if lane.java is None else {"JAVA_HOME": str(_java_home(lane.java))}
        folder = WORK / lane.name
        python = folder / "bin" / "python"
        inputs = self._inputs(lane, interpreter)
        stamp = folder / ".ready"
        if not (stamp.exists() and stamp.read_text(encoding="utf-8") == inputs):
            shutil.rmtree(folder, ignore_errors=True)
            self._install(lane, interpreter, folder)
            stamp.write_text(inputs, encoding="utf-8")
        assert self._wheel is not None, "prepare() comes first"  # noqa: S101
        self._pip(python, "--no-deps", "--reinstall", str(self._wheel))
        inherited = {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}
        path = {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        return Environment(python, {**inherited, **path, **java, **variables})

    def _inputs(self, lane: Lane, interpreter: str) -> str:
        """Return a fingerprint of what an environment is made of."""
        requirements = (ROOT / "pyproject.toml").read_bytes().partition(b"[project.scripts]")[0]
        texts = (repr(lane), interpreter, repr(TOOLS))
        pins = _PINS.read_bytes() if lane.resolution is Resolution.PINNED else b""
        return hashlib.sha256(b"\0".join((requirements, pins, *map(str.encode, texts)))).hexdigest()

    def _install(self, lane: Lane, interpreter: str, folder: Path) -> None:
        _run((str(self._uv), "venv", "--quiet", "--python", interpreter, str(folder)))
        python = folder / "bin" / "python"
        overrides = WORK / "overrides.txt"
        never = (f'{name} ; sys_platform == "none"\n' for name in NOT_NEEDED)
        overrides.write_text("".join(never), encoding="utf-8")
        options = ["--override", str(overrides)]
        named = {"dbt-core": lane.dbt, "pyspark": lane.pyspark}
        if lane.resolution is Resolution.PINNED:
            pins = folder / "constraints.txt"
            pins.write_text("".join(_pins_without(named)), encoding="utf-8")
            options += ["--constraint", str(pins)]
        elif lane.resolution is Resolution.LOWEST:
            options += ["--resolution", "lowest-direct"]
        # A release outside pyproject's ranges is named in the overrides, which win.
        if lane.excluded is not None:
            with overrides.open("a", encoding="utf-8") as file:
                file.writelines(f"{name}=={version}\n" for name, version in named.items())
        of_us = ("-r", str(ROOT / "pyproject.toml"), "--extra", "serve")
        self._pip(python, *options, *of_us, *(f"{n}=={v}" for n, v in named.items()))
        kept = folder / "installed.txt"
        frozen = _run((str(self._uv), "pip", "freeze", "--quiet", "--python", str(python)))
        kept.write_text(frozen, encoding="utf-8")
        self._pip(python, "--override", str(overrides), "--constraint", str(kept), *TOOLS)

    def _pip(self, python: Path, *arguments: str) -> None:
        _run((str(self._uv), "pip", "install", "--quiet", "--python", str(python), *arguments))


def _pins_without(names: Mapping[str, str]) -> Iterator[str]:
    for line in _PINS.read_text(encoding="utf-8").splitlines(keepends=True):
        found = _NAME.match(line)
        if found is not None and found[0].lower() not in names:
            yield line


def _interpreter(version: str) -> str:
    """Return the path of an interpreter, of the path or of pyenv.

    Raises:
        AbsentError: There is none.
    """
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    of_pyenv = sorted((root / "versions").glob(f"{version}.*/bin/python{version}"), reverse=True)
    on_path = shutil.which(f"python{version}")
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in (*([on_path] if on_path else []), *map(str, of_pyenv)):
        # the launcher of pyenv is on the path of every version, and fails for all but one
        done = subprocess.run(  # noqa: S603 - an interpreter
            (candidate, "-I", "-c", code), capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    raise AbsentError(f"no Python {version} on the path or in pyenv")  # noqa: EM102, TRY003


def _java_home(version: str) -> Path:
    """Return the folder of a Java of this major version.

    Raises:
        AbsentError: There is none.
    """
    homes = [home for folder in _JAVAS if folder.exists() for home in sorted(folder.iterdir())]
    for home in (*homes, *(each / "Contents" / "Home" for each in homes)):
        java = home / "bin" / "java"
        if java.exists() and java_version(java).startswith(version):
            return home
    raise AbsentError(f"no Java {version} in {' or '.join(map(str, _JAVAS))}")  # noqa: EM102, TRY003


def _run(command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(  # noqa: S603 - our own commands
        command, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BrokenError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")  # noqa: EM102, TRY003
    return done.stdout
