"""Spark settings of a dbt profile.

A profile without Jinja is read without loading dbt.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_mt.definition.errors import MaterializedTableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbt.adapters.spark_mt.cli.options import SparkChoice


ADAPTER = "spark_mt"
_PROJECT = "dbt_project.yml"
_PROFILES = "profiles.yml"


class ProfileError(MaterializedTableError):
    """The dbt profile that the command line was to use cannot be used."""

    condition = "MATERIALIZED_TABLE_PROFILE"
    text = "The dbt profile cannot be used: {problem}."
    remedy = (
        "Correct it, name another one with --profiles-dir, --profile and --target, or run the "
        "command outside of the project and give Spark's confs with --conf. Nothing was done."
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


def place_of(choice: SparkChoice) -> Place:
    """Return what the profile of the project says, with the command line's confs over it.

    Raises:
        ProfileError: There is a profile, and it cannot be used.
        UsageError: A conf of the command line is none.
    """
    confs = choice.confs
    project = _project_dir(choice.project_dir)
    output = _output(choice, project)
    home = project or Path.cwd()
    if output is None:
        return Place(home, confs)
    place = _place(home, output)
    return replace(place, confs={**place.confs, **confs})


def _place(home: Path, output: Mapping[str, Any]) -> Place:
    requested = output.get("server_side_parameters") or {}
    confs = {str(key): _conf_value(value) for key, value in requested.items()}
    return Place(
        home,
        confs,
        method=str(output.get("method") or "auto"),
        catalog=output.get("catalog") or output.get("database"),
        schema=output.get("schema"),
        server={key: output[key] for key in ("host", "port", "token", "use_ssl") if key in output},
        origin=str(output["origin"]),
    )


def _conf_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _project_dir(requested: Path | None) -> Path | None:
    """The folder of dbt_project.yml: the one that was named, else here or the nearest above."""
    if requested is not None:
        return requested.absolute()
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / _PROJECT).is_file()), None)


def _output(choice: SparkChoice, project: Path | None) -> dict[str, Any] | None:
    """The chosen target of the profile, rendered; None where there is none for this adapter."""
    name = choice.profile or _profile_name(project)
    path = _profiles_file(choice.profiles_dir, project)
    if name is None or path is None:
        if choice.profile or choice.target or choice.profiles_dir:
            raise ProfileError(problem=_missing(name, choice, project))
        return None
    profile = _yaml(path).get(name)
    if not isinstance(profile, dict):
        raise ProfileError(problem=f"{path} has no profile {name}")
    target = choice.target or str(_rendered(profile.get("target", "default"), path))
    output = (profile.get("outputs") or {}).get(target)
    if not isinstance(output, dict):
        raise ProfileError(problem=f"the profile {name} in {path} has no target {target}")
    rendered: dict[str, Any] = _rendered(output, path)
    origin = f"target {target} of profile {name} in {path}"
    if rendered.get("type") == ADAPTER:
        return {**rendered, "origin": origin}
    if choice.profile or choice.target:
        problem = f"{origin} is of type {rendered.get('type')}, not {ADAPTER}"
        raise ProfileError(problem=problem)
    return None


def _missing(name: str | None, choice: SparkChoice, project: Path | None) -> str:
    if name is None:
        return f"there is no {_PROJECT} with a `profile` in {project or Path.cwd()} or above"
    return f"there is no {_PROFILES} in {choice.profiles_dir or 'the project or ~/.dbt'}"


def _profile_name(project: Path | None) -> str | None:
    if project is None or not (project / _PROJECT).is_file():
        return None
    name = _yaml(project / _PROJECT).get("profile")
    return None if name is None else str(_rendered(name, project / _PROJECT))


def _profiles_file(requested: Path | None, project: Path | None) -> Path | None:
    """As dbt looks for it: the folder that was named; else the project, else ~/.dbt."""
    folders = [requested] if requested else [*([project] if project else []), Path.cwd()]
    folders += [] if requested else [Path.home() / ".dbt"]
    found = (folder / _PROFILES for folder in folders)
    return next((path for path in found if path.is_file()), None)


def _yaml(path: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - only where there is a file to read

    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ProfileError(problem=f"{path} cannot be read: {error}") from error
    if not isinstance(read, dict):
        raise ProfileError(problem=f"{path} holds no mapping")
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
        raise ProfileError(problem=f"{path} cannot be rendered: {error}") from error


def _has_jinja(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_jinja, value.values()))
    if isinstance(value, list):
        return any(map(_has_jinja, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)
