"""Options that several commands of `spark-mt` share, and the profile and manager that they name.

Each group of options is one value. A profile without Jinja is read without loading dbt.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbt.adapters.spark_mt.client import discovery
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.definition.errors import (
    ManagerRefusedError,
    ManagerUnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dbt.adapters.spark_mt.client.rest import ManagerClient

    Command = Callable[..., None]
    Option = Callable[[Command], Command]


TOKEN_VARIABLE = "SPARK_MT_TOKEN"  # noqa: S105 - the name of a variable
ADAPTER = "spark_mt"
_PROJECT = "dbt_project.yml"
_PROFILES = "profiles.yml"
_PROBE_S = 3.0
_OTHERS = 0o007
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


token_file_option = click.option(
    "--token-file",
    type=_FILE,
    help=f"File with the manager's token; else the environment variable {TOKEN_VARIABLE}.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def with_options(*options: Option) -> Option:
    """Give a command several options, in the order in which the help shows them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def grouped(name: str, kind: type, *options: Option) -> Option:
    """Give a command several options as the argument `name`.

    Its type is a dataclass, `kind`, whose fields are named as the options' parameters.
    """
    taken = tuple(each.name for each in fields(kind))

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(**given: object) -> None:
            own = {each: given.pop(each) for each in taken}
            command(**given, **{name: kind(**own)})

        return with_options(*options)(called)

    return decorate


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """Which Spark a command uses; each conf is `key=value` and wins over the profile's."""

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


def token_of(file: Path | None) -> str:
    """Return the token of a file, else of the environment; empty without one.

    Says so where every user of the machine can read the file.

    Raises:
        UsageError: The file is empty, is not text, or cannot be read.
    """
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    if os.name == "posix" and file.stat().st_mode & _OTHERS:
        click.echo(f"Every user of this machine can use {file}: chmod 600 {file}", err=True)
    try:
        token = file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        problem = f"{file} is not text in UTF-8, such as a token is"
        raise click.BadParameter(problem, param_hint="--token-file") from error
    except OSError as error:
        problem = f"{file} cannot be read: {error.strerror}"
        raise click.BadParameter(problem, param_hint="--token-file") from error
    if not token:
        raise click.BadParameter(f"{file} is empty", param_hint="--token-file")  # noqa: EM102, TRY003 - click's error class takes a text
    return token


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
        help="A Spark conf; wins over the profile's. May be given several times. Every user of the "
        "machine can read it here: secrets belong into the profile.",
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command finds its tables.

    Args:
        home: The folder of warehouse and metastore, unless the confs say otherwise.
        confs: Of Spark.
        method: As in a profile: `auto`, `session` or `connect`.
        catalog: Where names without a catalog are looked up; None for Spark's own choice.
        schema: Where names without a schema are looked up; None for Spark's own choice.
        server: `host`, `port`, `token` and `use_ssl` of a profile with `method: connect`.
        origin: Where the confs come from, for people.
    """

    home: Path
    confs: Mapping[str, str] = field(default_factory=dict)
    method: str = "auto"
    catalog: str | None = None
    schema: str | None = None
    server: Mapping[str, Any] = field(default_factory=dict, repr=False)
    origin: str = "the command line"

    @property
    def log_folder(self) -> Path:
        """Where logs are written: where dbt writes them."""
        return Path(os.environ.get("DBT_LOG_PATH", self.home / "logs")).absolute()


def place_of(choice: SparkChoice) -> Place:
    """Return what the profile of the project says, with the command line's confs over it.

    Raises:
        MaterializedTableError: There is a profile, and it cannot be used.
        UsageError: A conf of the command line is none.
    """
    confs = choice.confs
    here = Path.cwd()
    if choice.project_dir is not None:
        project: Path | None = choice.project_dir.absolute()
    else:
        above = (here, *here.parents)
        project = next((each for each in above if (each / _PROJECT).is_file()), None)
    output = _output(choice, project)
    home = project or here
    if output is None:
        return Place(home, confs)
    requested = output.get("server_side_parameters") or {}
    of_profile = {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in requested.items()
    }
    return Place(
        home,
        {**of_profile, **confs},
        method=str(output.get("method") or "auto"),
        catalog=output.get("catalog") or output.get("database"),
        schema=output.get("schema"),
        server={key: output[key] for key in ("host", "port", "token", "use_ssl") if key in output},
        origin=str(output["origin"]),
    )


def _output(choice: SparkChoice, project: Path | None) -> dict[str, Any] | None:
    """The chosen target of the profile, rendered; None where there is none for this adapter."""
    name = choice.profile or _profile_name(project)
    path = _profiles_file(choice.profiles_dir, project)
    if name is None or path is None:
        if choice.profile or choice.target or choice.profiles_dir:
            problem = f"there is no {_PROFILES} in {choice.profiles_dir or 'the project or ~/.dbt'}"
            if name is None:
                where = project or Path.cwd()
                problem = f"there is no {_PROJECT} with a `profile` in {where} or above"
            raise conditions.PROFILE(problem=problem)
        return None
    profile = _yaml(path).get(name)
    if not isinstance(profile, dict):
        raise conditions.PROFILE(problem=f"{path} has no profile {name}")
    target = choice.target or str(_rendered(profile.get("target", "default"), path))
    output = (profile.get("outputs") or {}).get(target)
    if not isinstance(output, dict):
        raise conditions.PROFILE(problem=f"the profile {name} in {path} has no target {target}")
    rendered: dict[str, Any] = _rendered(output, path)
    origin = f"target {target} of profile {name} in {path}"
    if rendered.get("type") == ADAPTER:
        return {**rendered, "origin": origin}
    if choice.profile or choice.target:
        problem = f"{origin} is of type {rendered.get('type')}, not {ADAPTER}"
        raise conditions.PROFILE(problem=problem)
    return None


def _profile_name(project: Path | None) -> str | None:
    if project is None or not (project / _PROJECT).is_file():
        return None
    name = _yaml(project / _PROJECT).get("profile")
    return None if name is None else str(_rendered(name, project / _PROJECT))


def _profiles_file(requested: Path | None, project: Path | None) -> Path | None:
    """As dbt looks for it: the folder that was named; else the project, else ~/.dbt."""
    folders: list[Path | None] = [requested]
    if requested is None:
        folders = [project, Path.cwd(), Path.home() / ".dbt"]
    found = (folder / _PROFILES for folder in folders if folder is not None)
    return next((path for path in found if path.is_file()), None)


def _yaml(path: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - only where there is a file to read

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise conditions.PROFILE(problem=f"{path} cannot be read: {error}") from error
    if not isinstance(read, dict):
        raise conditions.PROFILE(problem=f"{path} holds no mapping")
    return read


def _rendered(value: Any, path: Path) -> Any:  # noqa: ANN401 - YAML
    """A value of a profile with its Jinja rendered, by dbt itself where there is any."""
    if not _has_jinja(value):
        return value
    from dbt.config.renderer import ProfileRenderer  # noqa: PLC0415 - loads dbt
    from dbt_common.context import set_invocation_context  # noqa: PLC0415 - loads dbt
    from dbt_common.exceptions import DbtBaseException  # noqa: PLC0415 - loads dbt

    set_invocation_context(os.environ)
    try:
        return ProfileRenderer({}).render_data({"value": value})["value"]
    except DbtBaseException as error:
        raise conditions.PROFILE(problem=f"{path} cannot be rendered: {error}") from error


def _has_jinja(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_jinja, value.values()))
    if isinstance(value, list):
        return any(map(_has_jinja, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def manager_of(manager: ManagerChoice, spark: SparkChoice) -> ManagerClient | None:
    """Return the manager that was named, else a living one of the same warehouse, else None."""
    from dbt.adapters.spark_mt.client import rest  # noqa: PLC0415 - keeps --help fast

    if manager.url is not None:
        return rest.ManagerClient(manager.url, token_of(manager.token_file))
    found = _discovered(place_of(spark))
    if isinstance(found, discovery.NotFound) or not found.rest_url:
        return None
    token = token_of(manager.token_file) or found.rest_token
    client = rest.ManagerClient(found.rest_url, token)
    try:
        with suppress(ManagerRefusedError):  # a refusal is an answer
            replace(client, timeout_s=_PROBE_S).about()
    except ManagerUnreachableError:
        return None
    return client


def token_of_manager(spark: SparkChoice) -> str:
    """Return what the manager of the same warehouse asks for; empty if for nothing.

    Raises:
        MaterializedTableError: There is none whose file this user may read.
    """
    found = _discovered(place_of(spark))
    if isinstance(found, discovery.NotFound):
        raise conditions.NO_MANAGER(reason=found.reason)
    return found.rest_token


def _discovered(place: Place) -> discovery.Discovered | discovery.NotFound:
    """Return the manager that holds the embedded metastore of a place, if its process lives."""
    from dbt.adapters.spark_mt.spark.launch.session import embedded_metastore  # noqa: PLC0415 - as above

    metastore = embedded_metastore(place.confs, place.home)
    if metastore is None:
        return discovery.NotFound("there is no embedded metastore, next to which its file would be")
    return discovery.read(discovery.place(metastore))
