"""Parsed files of deploy/, and the parameters of `spark-mt serve` that they give."""

from __future__ import annotations

import json
import re
from configparser import ConfigParser
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dbt.adapters.spark_mt.cli.main import commands
from dbt.adapters.spark_mt.cli.options import TOKEN_VARIABLE
from dbt.adapters.spark_mt.manager import serve as serving
from dbt.adapters.spark_mt.manager.serve import ServeOptions

if TYPE_CHECKING:
    import click

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
SPARK_STOPS_WITHIN_S = 20
"""For the last writes of the manager and the end of Spark, which have no bound of their own."""
ENVIRONMENT = {
    TOKEN_VARIABLE,
    *(
        str(param.envvar)
        for command in commands.commands.values()
        for param in command.params
        if param.envvar
    ),
}
"""The variables that stand for options of the command line."""


def parameters(command: str, words: list[str]) -> dict[str, Any]:
    """The parameters of a command of `spark-mt`, which refuses options that it does not have."""
    found: click.Command = commands.commands[command]
    return found.make_context(command, list(words)).params


def served(words: list[str]) -> dict[str, Any]:
    """The parameters of `spark-mt serve`, whose files need not exist here."""
    files = {each for each in words if each.startswith("/")}
    given = parameters("serve", [__file__ if each in files else each for each in words])
    return {**given, "words": words}


def token_file(words: list[str]) -> str:
    """The path of the token: the last one counts."""
    return [value for key, value in pairwise(words) if key == "--token-file"][-1]


def split_options(words: list[str]) -> list[str]:
    """Words in which no option is written as `--key=value`."""
    return [part for word in words for part in word.split("=", 1 if word[:2] == "--" else 0)]


class _TimesToStop:
    """Stands for everything that a manager closes; adds up the times that it is given."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def stop(self, within_s: float = 0.0) -> bool:
        self.seconds += within_s
        return True


def seconds_to_stop(given: dict[str, Any]) -> float:
    """How long a manager with these parameters may take from SIGTERM to its end."""
    within = given["stop_within_seconds"]
    options = ServeOptions(Path("/nowhere"), Path("/nowhere"), stop_within_seconds=within)
    closed: Any = _TimesToStop()
    server = serving._Server(options, "")
    server._file = None
    server._running = server._http = server._spark = closed
    assert server.stop()
    return float(closed.seconds) + SPARK_STOPS_WITHIN_S


@dataclass(frozen=True)
class Dockerfile:
    """A file of an image.

    Args:
        instructions: Every instruction with its text, whose lines are joined.
    """

    instructions: tuple[tuple[str, str], ...]

    @classmethod
    def parsed(cls, text: str) -> Dockerfile:
        """Read a file; comments are left out."""
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines()
        pairs = (line.partition(" ") for line in joined)
        return cls(tuple((name, rest.strip()) for name, _, rest in pairs))

    def all(self, name: str) -> list[str]:
        """The texts of the instructions with a name."""
        return [text for each, text in self.instructions if each == name]

    def one(self, name: str) -> str:
        """The text of an instruction that occurs once."""
        (text,) = self.all(name)
        return text

    @property
    def entrypoint(self) -> list[str]:
        """The words of the process."""
        return [str(word) for word in json.loads(self.one("ENTRYPOINT"))]

    @property
    def port(self) -> int:
        """The port of the image."""
        return int(self.one("EXPOSE"))

    @property
    def token_file(self) -> str:
        """Where the manager reads the token."""
        return token_file(self.entrypoint)

    @property
    def volume(self) -> str:
        """The directory that is made for a volume."""
        (folders,) = re.findall(r"install --directory --owner=\w+ ([^&]*)", self.all("RUN")[0])
        (volume,) = set(folders.split()) - {self.one("WORKDIR")}
        return str(volume)

    def served(self, *more: str) -> dict[str, Any]:
        """The parameters of the manager, with further words after those of the image."""
        assert self.entrypoint[:2] == ["spark-mt", "serve"]
        return served([*self.entrypoint[2:], *split_options(list(more))])


def parsed_unit(text: str) -> ConfigParser:
    """A unit of systemd; a key that occurs twice is an error."""
    unit = ConfigParser(interpolation=None, delimiters=("=",))
    unit.optionxform = str  # type: ignore[assignment,method-assign] - as its documentation says
    unit.read_string(text)
    return unit


DOCKERFILE = Dockerfile.parsed((DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
UNIT_FILE = DEPLOY / "spark-mt.service"
UNIT = parsed_unit(UNIT_FILE.read_text(encoding="utf-8"))
MANIFESTS: dict[str, dict[str, Any]] = {
    manifest["kind"]: manifest
    for manifest in (
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    )
}
"""The manifests by their kinds, of which there is one each."""
