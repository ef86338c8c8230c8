"""Options that several commands of `spark-mt` share, each group as one value."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    Command = Callable[..., None]
    Option = Callable[[Command], Command]


TOKEN_VARIABLE = "SPARK_MT_TOKEN"  # noqa: S105 - the name of a variable
_OTHERS = 0o007
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def grouped(name: str, kind: type, *options: Option) -> Option:
    """Give a command several options as one argument.

    Args:
        name: The argument.
        kind: A dataclass whose fields are named as the options' parameters.
        options: The options, in the order in which the help shows them.
    """
    taken = tuple(field.name for field in fields(kind))

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(**given: object) -> None:
            own = {each: given.pop(each) for each in taken}
            command(**given, **{name: kind(**own)})

        decorated: Command = called
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """Which Spark a command uses.

    Args:
        conf: `key=value` each; they win over the profile's.
        warehouse: The folder of managed tables.
    """

    project_dir: Path | None = None
    profiles_dir: Path | None = None
    profile: str | None = None
    target: str | None = None
    conf: tuple[str, ...] = ()
    warehouse: Path | None = None

    @property
    def confs(self) -> dict[str, str]:
        """The Spark confs of the command line.

        Raises:
            UsageError: One is not of the form `key=value`.
        """
        found = {}
        for text in self.conf:
            key, separator, value = text.partition("=")
            if not separator or not key.strip():
                raise click.BadParameter(f"{text!r} is not key=value", param_hint="--conf")  # noqa: EM102, TRY003 - click's error class takes a text
            found[key.strip()] = value.strip()
        if self.warehouse is not None:
            found["spark.sql.warehouse.dir"] = str(self.warehouse.absolute())
        return found


@dataclass(frozen=True, slots=True)
class ManagerChoice:
    """Which manager a command asks, and how it shows that it may."""

    url: str | None = None
    token_file: Path | None = None

    @property
    def token(self) -> str:
        """The token of the file or of the environment; empty without one."""
        return token_of(self.token_file)


def token_of(file: Path | None) -> str:
    """Return the token of a file, else of the environment; empty without one.

    Says so where every user of the machine can read the file.

    Raises:
        UsageError: The file is empty.
    """
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    if os.name == "posix" and file.stat().st_mode & _OTHERS:
        click.echo(f"Every user of this machine can use {file}: chmod 600 {file}", err=True)
    token = file.read_text(encoding="utf-8").strip()
    if not token:
        raise click.BadParameter(f"{file} is empty", param_hint="--token-file")  # noqa: EM102, TRY003 - click's error class takes a text
    return token


token_file_option = click.option(
    "--token-file",
    type=_FILE,
    help=f"File with the manager's token; else the environment variable {TOKEN_VARIABLE}.",
)

spark_options = grouped(
    "spark",
    SparkChoice,
    click.option("--project-dir", type=_FOLDER, help="The dbt project; default: here or above."),
    click.option(
        "--profiles-dir", type=_FOLDER, envvar="DBT_PROFILES_DIR", help="Where profiles.yml is."
    ),
    click.option("--profile", envvar="DBT_PROFILE", help="Another profile than the project's."),
    click.option("--target", "-t", envvar="DBT_TARGET", help="Another target than the profile's."),
    click.option(
        "--conf",
        "-c",
        multiple=True,
        metavar="KEY=VALUE",
        help="A Spark conf; wins over the profile's. May be given several times.",
    ),
    click.option(
        "--warehouse",
        type=click.Path(file_okay=False, path_type=Path),
        help="The folder of managed tables; default: spark-warehouse in the project.",
    ),
)

manager_options = grouped(
    "manager",
    ManagerChoice,
    click.option("--url", help="The manager to ask; default: the one of the same warehouse."),
    token_file_option,
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@dataclass(frozen=True, slots=True)
class RefreshChoice:
    """What to refresh, and how.

    Args:
        names: Of tables.
        every: Whether all tables of the catalog that are ACTIVATED.
        scheduled: The scheduled time of a run that a scheduler starts.
        force: Whether to compute rows even if no source has moved.
        once: Whether to do it in this process, whoever else could.
        wait: Whether to wait for the manager's refreshes.
    """

    names: tuple[str, ...] = ()
    every: bool = False
    scheduled: datetime | None = None
    force: bool = False
    once: bool = False
    wait: bool = True

    @property
    def is_here(self) -> bool:
        """Whether it must be done in this process."""
        return self.once or self.force

    def check(self, url: str | None) -> None:
        """Check the choices against each other.

        Args:
            url: Of the manager that is to be asked.

        Raises:
            UsageError: They do not go together.
        """
        problem = ""
        if bool(self.names) == self.every:
            problem = "name tables, or give --all"
        elif self.scheduled is not None and (self.force or self.every):
            problem = "--scheduled goes with names, and not with --force"
        elif self.is_here and (url is not None or not self.wait):
            problem = (
                "--once and --force refresh in this process; --url and --no-wait ask a manager"
            )
        if problem:
            raise click.UsageError(problem)
